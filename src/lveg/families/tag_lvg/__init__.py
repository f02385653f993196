"""A fixed number of discrete subtypes for every tag."""

from lveg.families.registry import Kind

KIND = Kind(
    name="lvg",
    task="tagger",
    summary="The same number of discrete subtypes for every tag; learned by EM or by gradients.",
    family="lveg.families.tag_lvg.family:TagLvg",
    options="lveg.families.tag_lvg.options:TagLvgOptions",
    learning="lveg.families.tag_lvg.learning:learn",
)
