"""Tasks on regular languages: a finite automaton solves them."""
