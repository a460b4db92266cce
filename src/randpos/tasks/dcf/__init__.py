"""Tasks on deterministic context-free languages: they take a stack."""
