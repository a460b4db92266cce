"""The sections of the page, from the registry of artifacts."""

import base64
import html
from collections.abc import Mapping
from typing import NamedTuple, get_args

from randpos.paper.artifacts import tables
from randpos.paper.base import Section

OPEN = ("Scores",)
"""Sections that are open when the page is opened."""
LINKS = {"Result": "result"}
"""Parts of the page that are not made here: their names and anchors."""
LAST_LINKS = {"Runs": "runs", "What was run": "overview"}


class Picture(NamedTuple):
    """A figure of the page."""

    content: bytes
    """An SVG or PNG file."""
    caption: str = ""


def identifier(section: str) -> str:
    """Returns the anchor of a section.

    >>> identifier("Running times")
    'running-times'
    """
    return section.lower().replace(" ", "-")


def names() -> list[str]:
    """Returns the names of the sections with tables and pictures."""
    return [name for name in get_args(Section) if name != "Curves"]


def navigation() -> str:
    """Returns the links to the sections."""
    links = LINKS | {name: identifier(name) for name in names()} | LAST_LINKS
    return "\n  ".join(f'<a href="#{anchor}">{name}</a>' for name, anchor in links.items())


def sections(figures: Mapping[str, Picture]) -> str:
    """Returns the sections with tables and pictures; the page hides those that are empty.

    Args:
        figures: Pictures by title.
    """
    parts = []
    for name in names():
        anchor = identifier(name)
        content = [
            f'<div class="artifact"><h3>{html.escape(artifact.title)}</h3>\n'
            f'    <div class="table" data-table="{artifact.name}"></div></div>'
            for artifact in tables().values()
            if artifact.section == name
        ]
        if name == "Analysis" and figures:
            content.append(f'<div class="figures artifact">{_pictures(figures)}</div>')
        inner = "\n    ".join(content)
        state = " open" if name in OPEN else ""
        parts.append(
            f'<section id="{anchor}" class="part" aria-labelledby="h-{anchor}">'
            f'<details{state}><summary><h2 id="h-{anchor}">{name}</h2></summary>\n'
            f'    <div class="artifacts">{inner}</div>\n  </details></section>'
        )
    return "\n  ".join(parts)


def _pictures(figures: Mapping[str, Picture]) -> str:
    """Embeds pictures as data, never as markup: an SVG in an <img> runs no script."""
    parts = []
    for title, (content, caption) in figures.items():
        kind = "image/png" if content.startswith(b"\x89PNG") else "image/svg+xml"
        data = base64.b64encode(content).decode()
        name = html.escape(title)
        image = f'<img alt="{name}" src="data:{kind};base64,{data}">'
        words = f"<strong>{name}.</strong> {html.escape(caption)}".strip()
        parts.append(f"<figure>{image}<figcaption>{words}</figcaption></figure>")
    return "\n".join(parts)
