"""A fixed number of discrete subtypes for every symbol."""

from lveg.families.registry import Kind

KIND = Kind(
    name="lvg",
    task="parser",
    summary="The same number of discrete subtypes for every symbol; learned by EM or by gradients.",
    family="lveg.families.lvg.family:Lvg",
    options="lveg.families.lvg.options:LvgOptions",
    learning="lveg.families.lvg.learning:learn",
)
