"""Training and evaluation: batches, steps, the loop over chunks, tests at every length."""

BACKGROUND = "randpos-background"
"""The name of threads that an interrupted command does not wait for."""
