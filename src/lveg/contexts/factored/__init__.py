"""Another context over the attributes of tags, for large tag sets."""

from lveg.families.registry import Kind

KIND = Kind(
    name="factored",
    task="tagger-context",
    summary="Another context over the attributes of tags, for large tag sets.",
    family="lveg.contexts.factored.context:Factored",
)
