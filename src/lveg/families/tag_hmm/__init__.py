"""A hidden Markov model estimated from the treebank."""

from lveg.families.registry import Kind

KIND = Kind(
    name="hmm",
    task="tagger",
    summary="A hidden Markov model estimated from the treebank.",
    family="lveg.families.tag_hmm.family:Hmm",
    options="lveg.families.tag_hmm.learning:HmmOptions",
    learning="lveg.families.tag_hmm.learning:learn",
    is_treebank=True,
)
