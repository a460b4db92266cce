"""Writes the table of results into the README: `python docs/found.py`, as `make results` does."""

import re
from pathlib import Path

from randpos.paper.artifacts import ARTIFACTS
from randpos.results import score_runs
from randpos.results.findings import comparisons, readme_table, verdict_sentence
from randpos.store.tables import read_store

ROOT = Path(__file__).parent.parent
ENCODINGS = ("none", "sincos", "relative", "randomized-sincos", "randomized-relative")
BLOCK = re.compile(r"(?<=<!-- found -->\n).*?(?=\n<!-- /found -->)", re.DOTALL)


def found() -> str:
    """Returns the scores beside the paper's, and the verdicts on randomized against plain."""
    scored = score_runs(read_store(ROOT / "results"))
    table = readme_table(ARTIFACTS["table-means"].make_table(scored), ENCODINGS)
    return f"{table}\n\n{verdict_sentence(comparisons(scored))}"


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(BLOCK.sub(lambda _: found(), readme.read_text()))
