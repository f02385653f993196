"""Several parsers of one treebank that decide together."""

from lveg.families.registry import Kind

KIND = Kind(
    name="product",
    task="parser",
    summary="Several parsers of one treebank that decide together; made by `lveg combine`.",
    family="lveg.families.product.family:Product",
)
