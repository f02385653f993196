"""Subtypes that are split and merged, as in the Berkeley parser."""

from lveg.families.registry import Kind

KIND = Kind(
    name="split-merge",
    task="parser",
    summary="Discrete subtypes, repeatedly split in two and merged again where the split does not help; learned by EM.",
    family="lveg.families.split_merge.family:SplitMerge",
    options="lveg.families.split_merge.options:SplitMergeOptions",
    is_partner=True,
    learning="lveg.families.split_merge.learning:learn",
)
