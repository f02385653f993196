"""The version, in one place and without imports."""

__version__ = "0.1.0"
