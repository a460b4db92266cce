"""Writes into pages of the site, when it is built, what is kept elsewhere.

The reference of the command line is the help of the commands. The guide to a new encoding, task,
table or figure is part of CONTRIBUTING.md. The playground is made from the trained models in
results/.
"""

import contextlib
import io
import os
import textwrap
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from randpos.cli.commands import COMMANDS
from randpos.cli.main import main
from randpos.results.playground import load_players, make_playground
from randpos.store.folder import Store

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "CONTRIBUTING.md"
WIDTH = 80
"""Letters in a line of help: as many as the column of the site has room for."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts the help of every command, and the guide to extensions, where a page asks for it."""
    for place, write in PLACES.items():
        if place in markdown:
            markdown = markdown.replace(place, write())
    return markdown


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Adds the playground as a page of its own, `play.html`."""
    page = make_playground(load_players(Store(ROOT / "results")))
    files.append(File.generated(config, "play.html", content=page))
    return files


def commands() -> str:
    """Returns a section for each command."""
    return "\n\n".join(section(name) for name in COMMANDS)


def section(name: str) -> str:
    """Returns what `randpos NAME --help` prints, under a heading."""
    os.environ.update(COLUMNS=str(WIDTH), NO_COLOR="1", TERM="dumb")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main([*name.split(), "--help"])
    # Boxes have the width already; what stands before them is not wrapped.
    lines = [line for whole in said.getvalue().splitlines() for line in wrapped(whole)]
    text = "\n".join(lines).strip()
    return f"## randpos {name}\n\n```text\n{text}\n```"


def wrapped(line: str) -> list[str]:
    """Returns a line in as many as it needs."""
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * 4) if len(line) > WIDTH else [line]


def extensions() -> str:
    """Returns the sections of the guide that tell how to add something."""
    text = GUIDE.read_text()
    return text[text.index("## A new encoding") : text.index("## Where the paper")].rstrip()


PLACES = {"<!-- commands -->": commands, "<!-- contributing -->": extensions}
