"""The sections of the page, from the registry of artifacts."""

import base64
import html
from collections.abc import Mapping
from typing import get_args

from randpos.paper.artifacts import Section, tables

CURVES = """<p>The best run of each encoding, over the seeds and rates that all encodings of a
      task have. Training saw the shaded lengths; the dotted line is the accuracy of guessing.
      Solid lines are randomized, dashed ones plain.</p>
    <div id="curve-choice"></div>
    <div id="panels" class="panels"></div>"""


def identifier(section: str) -> str:
    """Returns the anchor of a section.

    >>> identifier("Running times")
    'running-times'
    """
    return section.lower().replace(" ", "-")


def navigation() -> str:
    """Returns the links to the sections."""
    names = ["Overview", *get_args(Section), "Runs"]
    return "\n  ".join(f'<a href="#{identifier(name)}">{name}</a>' for name in names)


def sections(figures: Mapping[str, bytes]) -> str:
    """Returns the sections with tables, curves and pictures.

    Args:
        figures: Pictures by title, each the content of an SVG or PNG file.
    """
    parts = []
    for name in get_args(Section):
        anchor = identifier(name)
        content = [
            f"<h3>{html.escape(artifact.title)}</h3>\n"
            f'    <div class="table" data-table="{artifact.name}"></div>'
            for artifact in tables().values()
            if artifact.section == name
        ]
        if name == "Curves":
            content.append(CURVES)
        if name == "Analysis":
            content.append(f'<div class="figures">{_pictures(figures)}</div>')
        inner = "\n    ".join([f'<h2 id="h-{anchor}">{name}</h2>', *content])
        parts.append(
            f'<section id="{anchor}" aria-labelledby="h-{anchor}">\n    {inner}\n  </section>'
        )
    return "\n  ".join(parts)


def _pictures(figures: Mapping[str, bytes]) -> str:
    """Embeds pictures as data, never as markup: an SVG in an <img> runs no script."""
    parts = []
    for title, content in figures.items():
        kind = "image/png" if content.startswith(b"\x89PNG") else "image/svg+xml"
        data = base64.b64encode(content).decode()
        name = html.escape(title)
        image = f'<img alt="{name}" src="data:{kind};base64,{data}" loading="lazy">'
        parts.append(f"<figure>{image}<figcaption>{name}</figcaption></figure>")
    return "\n".join(parts) or "<p>No analysis figures were made for this report.</p>"
