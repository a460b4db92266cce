"""Training and evaluation: batches, steps, the loop over chunks, tests at every length."""
