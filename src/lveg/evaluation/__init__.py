"""Scores of brackets (EVALB) and tags, and how sure they are; counts first, scores from counts."""
