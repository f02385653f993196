"""Gaussian mixtures over the subtype vectors of tags."""

from lveg.families.registry import Kind

KIND = Kind(
    name="gm",
    task="tagger",
    summary="Vectors as subtypes of tags, and a mixture of Gaussians over them for every rule; learned by gradients.",
    family="lveg.families.tag_gm.family:TagGm",
    options="lveg.families.tag_gm.options:TagGmOptions",
    learning="lveg.families.tag_gm.learning:learn",
)
