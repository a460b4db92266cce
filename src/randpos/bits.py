"""The version of the numbers that training and evaluation give at given settings."""

VERSION = 8
"""1: randpos 0.1. 2: separate random streams; several draws of positions per tested length.
3: other compiler options, and a loop over the equal layers in tests: rounding differs.
4: the number of padded sizes follows the length of the run, LayerNorm has a derivative of its own:
rounding differs.
5: a step is three programs instead of a part of one: rounding differs with geometric attention.
6: larger pieces of a batch, and relative forms W_r R(δ) where it is small: rounding differs.
7: smaller pieces of a batch in tests: rounding differs where an example has one answer.
8: other orders of the products of attention, head by head in long tests, and more padded sizes in
large tests: rounding differs."""
