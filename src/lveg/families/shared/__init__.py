"""All symbols are regions of one space, and all rules share their Gaussians over it."""

from lveg.families.registry import Kind

KIND = Kind(
    name="shared",
    task="parser",
    summary="One space of subtype vectors for all symbols, and Gaussians over it that all rules share; by gradients.",
    family="lveg.families.shared.family:Shared",
    options="lveg.families.shared.options:SharedOptions",
    learning="lveg.families.shared.learning:learn",
)
