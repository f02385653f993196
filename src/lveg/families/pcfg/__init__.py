"""The treebank grammar itself: one probability per rule."""

from lveg.families.registry import Kind

KIND = Kind(
    name="pcfg",
    task="parser",
    summary="The treebank's own grammar: one probability per rule.",
    family="lveg.families.pcfg.family:Pcfg",
    options="lveg.families.pcfg.learning:PcfgOptions",
    learning="lveg.families.pcfg.learning:learn",
    is_treebank=True,
)
