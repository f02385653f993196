"""Annotating corpora: many files in parts, resumable at any moment."""
