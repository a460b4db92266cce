"""Writes into pages of the site, when it is built, what is kept elsewhere.

The reference of the command line is the help of the commands. The guide to a new encoding, task,
table or figure is part of CONTRIBUTING.md. The playground is made from the trained models in
results/. The notebooks become pages, and the caption of a figure stands below it.
"""

import contextlib
import io
import json
import os
import re
import subprocess
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
NOTEBOOKS = ROOT / "notebooks"
FIGURE = re.compile(r"^!\[[^\]]*\]\(((?:\.\./)*figures/[\w/-]+)\.png\)$", flags=re.MULTILINE)
"""A line that is a figure."""
WIDTH = 80
"""Letters in a line of help: as many as the column of the site has room for."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Links the repository that this is a clone of."""
    config.repo_url = config.repo_url or repository()
    return config


def repository() -> str:
    """Returns the address of the clone's origin for a browser; empty if it has none."""
    line = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    origin = subprocess.run(line, capture_output=True, text=True, check=False).stdout.strip()
    return browsable(origin)


def browsable(address: str) -> str:
    """Turns the address of a repository into one for a browser; empty if it is not on the web.

    >>> browsable("git@host.org:me/randpos.git"), browsable("/a/folder")
    ('https://host.org/me/randpos', '')
    """
    address = re.sub(r"^(?:ssh://)?git@([^:/]+)[:/]", r"https://\1/", address)
    return address.removesuffix(".git") if address.startswith("https://") else ""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts the help of commands, the guide to extensions and captions where a page has them."""
    for place, write in PLACES.items():
        if place in markdown:
            markdown = markdown.replace(place, write())
    return FIGURE.sub(with_caption, markdown)


def with_caption(figure: re.Match[str]) -> str:
    """Returns a figure with the text beside its file below it, if there is one."""
    place = figure[1].replace("../", "")
    text = ROOT / "docs" / f"{place}.txt"
    return f"{figure[0]}\n\n*{text.read_text().strip()}*" if text.is_file() else figure[0]


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Adds the notebooks, and the playground as a page of its own, `play.html`."""
    page = make_playground(load_players(Store(ROOT / "results")))
    files.append(File.generated(config, "play.html", content=page))
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        text = notebook_page(path.name, path.read_text())
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
    return files


def notebook_page(name: str, text: str) -> str:
    """Returns a notebook as Markdown, with a line on where it is below its title."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    title, _, rest = parts[0].partition("\n")
    note = f"*The notebook `notebooks/{name}` of the repository, without outputs.*"
    return "\n\n".join([title, note, rest.strip(), *parts[1:]])


def commands() -> str:
    """Returns a section for each command."""
    return "\n\n".join(section(name) for name in COMMANDS)


def section(name: str) -> str:
    """Returns what `randpos NAME --help` prints, under a heading."""
    os.environ.update(COLUMNS=str(WIDTH), NO_COLOR="1", TERM="dumb")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main([*name.split(), "--help"])
    return f"## randpos {name}\n\n```text\n{said.getvalue().strip()}\n```"


def extensions() -> str:
    """Returns the sections of the guide that tell how to add something."""
    text = GUIDE.read_text()
    return text[text.index("## A new encoding") : text.index("## Where the paper")].rstrip()


PLACES = {"<!-- commands -->": commands, "<!-- contributing -->": extensions}
