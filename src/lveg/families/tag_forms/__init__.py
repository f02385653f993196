"""Taggers with discrete subtypes, and weights for word forms and those of neighbouring words."""

from lveg.families.registry import Kind

KIND = Kind(
    name="forms",
    task="tagger",
    summary="Discrete subtypes, weights for word forms and neighbouring words, and a network; the most accurate.",
    family="lveg.families.tag_forms.family:TagForms",
    options="lveg.families.tag_forms.options:TagFormsOptions",
    learning="lveg.families.tag_forms.learning:learn",
    is_default=True,
)
