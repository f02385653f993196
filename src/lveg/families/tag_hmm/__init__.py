"""The hidden Markov model of the treebank itself."""

from lveg.families.registry import Kind

KIND = Kind(
    name="hmm",
    task="tagger",
    summary="The treebank's own hidden Markov model.",
    family="lveg.families.tag_hmm.family:Hmm",
    options="lveg.families.tag_hmm.learning:HmmOptions",
    learning="lveg.families.tag_hmm.learning:learn",
    is_treebank=True,
)
