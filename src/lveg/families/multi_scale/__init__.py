"""Rules that distinguish only those subtypes that matter to them."""

from lveg.families.registry import Kind

KIND = Kind(
    name="multi-scale",
    task="parser",
    summary="Discrete subtypes; each rule distinguishes only those that matter to it; learned by gradients.",
    family="lveg.families.multi_scale.family:MultiScale",
    options="lveg.families.multi_scale.options:MultiScaleOptions",
    learning="lveg.families.multi_scale.learning:learn",
)
