"""Grammar families, one folder each: what a node of a forest or a word of a chain stores, and how it is combined.

A folder's `__init__` says what the family is (`KIND`), `options` what it takes, `family` holds its parameters and
inference, `learning` how it is learned. `registry` finds them, those of other packages too.
"""
