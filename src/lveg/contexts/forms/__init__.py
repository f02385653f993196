"""Word forms and neighbouring words."""

from lveg.families.registry import Kind

KIND = Kind(
    name="forms",
    task="tagger-context",
    summary="Weights for the word, its affixes and shape, and neighbouring words.",
    family="lveg.contexts.forms.context:Forms",
)
