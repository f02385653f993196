"""Families multiplied by contexts: factors that depend on the words around each rule."""

from lveg.families.registry import Kind

KIND = Kind(
    name="contextual",
    task="parser",
    summary="Any family of grammars, multiplied by factors from the words around each rule.",
    family="lveg.families.contextual.family:Contextual",
    options="lveg.families.contextual.options:ContextOptions",
    learning="lveg.families.contextual.learning:learn",
    is_layer=True,
)
