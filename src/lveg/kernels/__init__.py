"""Numba code only: arrays in, arrays out. Nothing here raises, prints, or handles files and words."""
