"""Symbols, rules, lexicon and counts of a treebank, as arrays."""
