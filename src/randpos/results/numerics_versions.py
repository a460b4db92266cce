"""Which versions of the numerics the runs of a store were made under."""

import json

import polars as pl

from randpos.facts import OWN_MODEL
from randpos.results.selection import count, span

FIRST = 1
"""The version of runs that record none."""


def numerics_sentence(scored: pl.DataFrame) -> str:
    """Counts the complete runs of each version, with the draws of positions they were tested with.

    Models that were trained elsewhere are left out. `bits.py` says how the versions differ.
    """
    elsewhere = pl.col("encoding").str.starts_with(OWN_MODEL)
    done = scored.filter(pl.col("status") == "complete", ~elsewhere)
    version = pl.col("environment").map_elements(_version, pl.String)
    groups = done.group_by(version=version).agg(pl.len(), pl.col("tested_draws").drop_nulls())
    words = []
    for name, runs, draws in sorted(groups.iter_rows(), key=lambda row: (len(row[0]), row[0])):
        words.append(f"{count(runs, 'run')} under version {name} ({span(draws)})")
    about = "Versions of the numerics (draws of positions per tested length)"
    return f"{about}: {', '.join(words) or 'no run'}."


def _version(environment: str) -> str:
    return str(json.loads(environment).get("numerics", FIRST))
