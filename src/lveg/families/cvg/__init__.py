"""Compositional phrase vectors that rerank the best trees of another grammar."""

from lveg.families.registry import Kind

KIND = Kind(
    name="cvg",
    task="parser",
    summary="Phrase vectors, composed from those of their parts, rerank the best trees of another grammar.",
    family="lveg.families.cvg.family:Cvg",
    options="lveg.families.cvg.options:CvgOptions",
    learning="lveg.families.cvg.learning:learn",
    has_base=True,
)
