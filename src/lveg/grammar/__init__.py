"""Symbols, rules, lexicon and counts: what a treebank says, as arrays."""
