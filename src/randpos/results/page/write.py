"""The report page: one HTML file that needs no network."""

import base64
import json
import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from string import Template

from randpos.results.inlining import compact_json, document, embedded, template
from randpos.results.page.charts import library, specs
from randpos.results.page.contents import run_details, summary
from randpos.results.page.sections import Picture, navigation, sections
from randpos.results.scores import score_runs
from randpos.store.files import write_atomic
from randpos.store.tables import StoreTables

STYLES = ("style.css", "tables.css", "charts.css")
SCRIPTS = (
    "dom.js",
    "sections.js",
    "tables.js",
    "overview.js",
    "charts.js",
    "curves.js",
    "runs.js",
    "details.js",
    "live.js",
    "main.js",
)


_template = partial(template, "randpos.results.page")


def write_page(
    records: StoreTables, out: Path, figures: Mapping[str, Picture] | None = None
) -> None:
    """Writes the page.

    Args:
        records: The store.
        out: The file to write, atomically.
        figures: Pictures by title.
    """
    write_atomic(out, make_page(records, figures).encode())


def make_page(
    records: StoreTables, figures: Mapping[str, Picture] | None = None, version: str = ""
) -> str:
    """Returns the page as text; with a `version` it polls its server for newer ones."""
    scored = score_runs(records)
    style = "\n".join(_template(name) for name in STYLES)
    script = "\n".join(_template(name) for name in SCRIPTS)
    packed = zlib.compress(compact_json(run_details(records, scored)).encode(), 9)
    body = Template(_template("page.html")).substitute(
        summary=embedded(summary(records, scored)),
        specs=embedded(json.loads(specs())),
        runs=base64.b64encode(packed).decode(),
        navigation=navigation(),
        sections=sections(figures or {}),
        library=library(),
        script=script,
    )
    return document(
        style,
        [library(), script],
        body,
        f"connect-src '{'self' if version else 'none'}'",
        title="randpos report",
        description="Length generalization of Transformers, beside the numbers of the paper.",
        version=version,
    )
