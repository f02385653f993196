"""Discrete subtypes, and weights for the forms of words and of their neighbours."""

from lveg.families.registry import Kind

KIND = Kind(
    name="forms",
    task="tagger",
    summary="Discrete subtypes, weights for the forms of words and their neighbours, and a network; the most accurate.",
    family="lveg.families.tag_forms.family:TagForms",
    options="lveg.families.tag_forms.options:TagFormsOptions",
    learning="lveg.families.tag_forms.learning:learn",
    is_default=True,
)
