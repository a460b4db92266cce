"""Writes the reference of the command line into its page when the site is built."""

import contextlib
import io
import os
from typing import Any

from randpos.cli import COMMANDS, main

PLACE = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts the help of every command where a page asks for it."""
    if PLACE not in markdown:
        return markdown
    return markdown.replace(PLACE, "\n\n".join(section(name) for name in COMMANDS))


def section(name: str) -> str:
    """Returns what `randpos NAME --help` prints, under a heading."""
    os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main([name, "--help"])
    return f"## randpos {name}\n\n```text\n{said.getvalue().strip()}\n```"
