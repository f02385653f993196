"""Several parsers of one treebank, combined."""

from lveg.families.registry import Kind

KIND = Kind(
    name="product",
    task="parser",
    summary="Several parsers of one treebank, combined by `lveg combine`.",
    family="lveg.families.product.family:Product",
)
