"""Surface features of anchored rules: words, tags, lengths and shapes around them."""

from lveg.families.registry import Kind

KIND = Kind(
    name="features",
    task="parser-context",
    summary="Weights for words, tags, lengths and shapes at the ends and the split of a phrase.",
    family="lveg.contexts.features.context:Features",
    options="lveg.contexts.features.options:FeatureOptions",
    learning="lveg.contexts.features.learning:start",
    is_default=True,
)
