"""Scores of brackets (EVALB) and tags, and their significance; counts first, scores from counts."""
