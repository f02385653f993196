"""The forms of words and of their neighbours."""

from lveg.families.registry import Kind

KIND = Kind(
    name="forms",
    task="tagger-context",
    summary="Weights for the word, its affixes and shape, and its neighbours.",
    family="lveg.contexts.forms.context:Forms",
)
