"""The command line: one file per group of commands, and what they show in a terminal."""

from randpos.cli import startup as startup  # before the libraries, which take seconds to import
