"""Sweeps: grids of runs, and the processes or clusters that do what is missing of them."""
