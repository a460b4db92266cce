"""The paper as data: its published numbers, and its statements computed again from them."""

from randpos.paper.published import claim, claims, published, published_value, tables
from randpos.paper.statements import PLAIN, RANDOMIZED, STATEMENTS, gains, statements

__all__ = [
    "PLAIN",
    "RANDOMIZED",
    "STATEMENTS",
    "claim",
    "claims",
    "gains",
    "published",
    "published_value",
    "statements",
    "tables",
]
