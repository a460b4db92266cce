"""Bad input by the thousand: a sentence and exit code 2, never a traceback, hang or payload."""
