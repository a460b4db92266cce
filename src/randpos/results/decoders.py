"""Which runs are decoders: those of the experiment `decoder`, and those that add numbers."""

import polars as pl

AUTOREGRESSIVE = pl.col("variant").str.contains("answers=autoregressive")
ADDITION = pl.col("task").str.starts_with("addition")

DECODERS = {"decoder": AUTOREGRESSIVE & ~ADDITION, "addition": AUTOREGRESSIVE & ADDITION}
"""The scored runs of each experiment, by its name."""
