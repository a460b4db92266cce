"""HTML files that hold everything they show: templates, embedded data and a content policy."""

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any


def template(package: str, name: str) -> str:
    """Returns the text of a file in the folder `templates` of a package."""
    return (files(package) / "templates" / name).read_text(encoding="utf-8")


def document(
    style: str,
    scripts: Sequence[str],
    body: str,
    *rules: str,
    title: str,
    description: str,
    version: str = "",
) -> str:
    """Returns a whole HTML file.

    Args:
        style: The style of the page, added to the common one.
        scripts: The text of every `<script>` of the body that runs.
        body: The content of `<body>`.
        rules: More rules of the content policy.
        title: The title of the page.
        description: One sentence for search engines and previews of links.
        version: Of a served page, its version.
    """
    style = template("randpos.results", "base.css") + style
    return Template(template("randpos.results", "document.html")).substitute(
        policy=policy([style], scripts, *rules),
        version=html.escape(version),
        description=html.escape(description),
        title=html.escape(title),
        style=style,
        body=body,
    )


def compact_json(data: Any) -> str:
    """Writes data as JSON without spaces; NaN raises `ValueError`."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def embedded(data: Any) -> str:
    r"""Writes data as JSON that no HTML parser takes for a tag, nor JavaScript for a line's end.

    >>> embedded({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = compact_json(data)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def policy(styles: Sequence[str], scripts: Sequence[str], *extra: str) -> str:
    """Returns a content policy that allows exactly these inline styles and scripts.

    Args:
        styles: The text of every `<style>` of the page.
        scripts: The text of every `<script>` that runs.
        extra: More rules; without any, pictures must be data and the network is forbidden.
    """

    def hashes(texts: Sequence[str]) -> str:
        digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in texts)
        return " ".join(f"'sha256-{digest.decode()}'" for digest in digests)

    rules = [
        "default-src 'none'",
        f"script-src {hashes(scripts)}",
        f"style-src {hashes(styles)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        *(extra or ["connect-src 'none'"]),
    ]
    return "; ".join(rules)
