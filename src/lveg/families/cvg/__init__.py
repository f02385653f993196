"""Vectors of phrases, composed from those of their parts, that choose among the best trees of another grammar."""

from lveg.families.registry import Kind

KIND = Kind(
    name="cvg",
    task="parser",
    summary="Vectors of phrases, composed from those of their parts, on top of another grammar's best trees.",
    family="lveg.families.cvg.family:Cvg",
    options="lveg.families.cvg.options:CvgOptions",
    learning="lveg.families.cvg.learning:learn",
    has_base=True,
)
