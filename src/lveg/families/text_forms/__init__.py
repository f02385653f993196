"""Tokenisers: the default tagger's chain with weights for forms, over characters instead of words."""

from lveg.families.registry import Kind

KIND = Kind(
    name="forms",
    task="tokeniser",
    summary="A chain over characters, with weights for each character, those around it, and their kinds.",
    family="lveg.families.tag_forms.family:TagForms",
    options="lveg.families.text_forms.options:TextFormsOptions",
    learning="lveg.families.tag_forms.learning:learn",
    is_default=True,
)
