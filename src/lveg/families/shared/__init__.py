"""Grammars in one subtype space: symbols are regions of it, and all rules share the same Gaussians."""

from lveg.families.registry import Kind

KIND = Kind(
    name="shared",
    task="parser",
    summary="One space of subtype vectors for all symbols, with Gaussians that all rules share; trained by gradients.",
    family="lveg.families.shared.family:Shared",
    options="lveg.families.shared.options:SharedOptions",
    learning="lveg.families.shared.learning:learn",
)
