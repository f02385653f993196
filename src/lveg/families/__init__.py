"""Grammar families, one folder each: what a node of a forest or a word of a chain stores, and how it is combined.

A folder's `__init__` describes the family (`KIND`), `options` has its options, `family` its parameters and inference,
`learning` its training. `registry` finds families, including those of other packages.
"""
