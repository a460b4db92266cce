"""Tasks on context-sensitive languages: they take a tape as long as the input."""
