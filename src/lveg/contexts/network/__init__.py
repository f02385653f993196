"""A network over the vectors of the words around an anchored rule, for parsers."""

from lveg.families.registry import Kind

KIND = Kind(
    name="network",
    task="parser-context",
    summary="A hidden layer over vectors of the words around the start, the split and the end of a phrase.",
    family="lveg.contexts.network.context:Network",
    options="lveg.contexts.network.options:NetworkOptions",
    learning="lveg.contexts.network.learning:start",
    is_default=True,
)
