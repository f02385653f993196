"""Gaussian mixtures over the subtype vectors of the symbols of a rule."""

from lveg.families.registry import Kind

KIND = Kind(
    name="gm",
    task="parser",
    summary="Vectors as subtypes, and a mixture of Gaussians over them for every rule; learned by gradients.",
    family="lveg.families.gm.family:Gm",
    options="lveg.families.gm.options:GmOptions",
    learning="lveg.families.gm.learning:learn",
    is_default=True,
)
