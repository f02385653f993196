"""Checks of models and treebanks, in words that help."""
