"""Writes the table of results into the README: `python docs/found.py`, as `make results` does."""

import re
from pathlib import Path

from randpos.results import score_runs
from randpos.results.findings import comparisons, verdict_sentence, verdict_table
from randpos.results.selection import budgets
from randpos.store.tables import read_store

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(?<=<!-- found -->\n).*?(?=\n<!-- /found -->)", re.DOTALL)


def found() -> str:
    """Returns randomized minus plain beside the paper's, with the budget `laptop`."""
    scored = score_runs(read_store(ROOT / "results"))
    laptop = next(budget for budget in budgets(scored) if "laptop" in budget.text)
    pairs = comparisons(scored, laptop)
    return f"{verdict_table(pairs)}\n\n{verdict_sentence(pairs)}"


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(BLOCK.sub(lambda _: found(), readme.read_text()))
