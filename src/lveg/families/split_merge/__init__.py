"""Subtypes that are split where that helps: the grammars of the Berkeley parser."""

from lveg.families.registry import Kind

KIND = Kind(
    name="split-merge",
    task="parser",
    summary="Discrete subtypes, split in two again and again and merged where that does not help; learned by EM.",
    family="lveg.families.split_merge.family:SplitMerge",
    options="lveg.families.split_merge.options:SplitMergeOptions",
    is_partner=True,
    learning="lveg.families.split_merge.learning:learn",
)
