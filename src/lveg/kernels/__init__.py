"""Numba only: arrays in, arrays out. Nothing here raises, prints, or knows of files and words."""
