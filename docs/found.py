"""Writes the table of results into the README: `python docs/found.py`, as `make results` does."""

import re
from pathlib import Path

from randpos.results.findings import beside, verdicts
from randpos.results.tables.make import make_table
from randpos.store.tables import read_store

ROOT = Path(__file__).parent.parent
ENCODINGS = ("none", "sincos", "relative", "randomized-sincos", "randomized-relative")
BLOCK = re.compile(r"(?<=<!-- found -->\n).*?(?=\n<!-- /found -->)", re.DOTALL)


def found() -> str:
    """Returns how the randomized encodings fared against the plain ones, and their scores."""
    records = read_store(ROOT / "results")
    told, _ = verdicts(make_table(records, "comparison"))
    return f"{beside(make_table(records, 'table-means'), ENCODINGS)}\n\n{told}"


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(BLOCK.sub(lambda _: found(), readme.read_text()))
