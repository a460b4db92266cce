"""The run store: folders, locks, checkpoints, accuracies, and a whole store as tables."""
