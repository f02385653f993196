"""A network over the vectors of a word and its neighbours, for taggers."""

from lveg.families.registry import Kind

KIND = Kind(
    name="network",
    task="tagger-context",
    summary="A hidden layer over vectors of a word and its neighbours.",
    family="lveg.contexts.tag_network.context:TagNetwork",
)
