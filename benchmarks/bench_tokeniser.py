"""Learned tokenisers beside UDPipe's, trained and scored on the same files and the same text, one thread.

    python benchmarks/bench_tokeniser.py [LANGUAGE or SYSTEM ...]

Systems: lveg, with default options; udpipe, the tokeniser of UDPipe by its own trainer and its default options; rules,
Penn's conventions, for English. `pip install 'lveg[peers]'` has UDPipe. Both learned ones choose their best epoch on
the development sentences that they are scored on. The text of a treebank is that of its sentences, joined by spaces. Of
these treebanks, only that of English says where tokens are written together; the others have a space after every token,
so that nearly all tokens are found, and sentences and multiword tokens (Turkish) make the difference. Times are CPU
seconds; those of lveg include reading and exclude the compilation of kernels.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

from common import data_dir, print_table

from lveg.evaluation.tokens import score_tokens
from lveg.model_io import save_model
from lveg.text.ptb import PtbTokeniser
from lveg.text.tokens import TokenSentence, text_of
from lveg.training import train_tokeniser
from lveg.treebank.raw import read_tokens, to_conllu

Split = Callable[[str], Sequence[TokenSentence]]
LANGUAGES = ("tr", "gl", "nl", "id", "en")
HEADER = ["language", "system", "tokens", "words", "sentences", "training s", "characters/s", "model MB"]


def paths_of(language: str) -> tuple[str, str]:
    """The training and development files."""
    folder = data_dir() / "ud-1.4" / language
    return str(folder / "train.conllu.gz"), str(folder / "dev.conllu.gz")


def lveg(language: str, file: str) -> Split:
    """Ours, by its defaults."""
    tokeniser = train_tokeniser(*paths_of(language))
    save_model(tokeniser, file)
    return lambda text: list(tokeniser.sentences(text))


def rules(language: str, file: str) -> Split:
    """Penn's conventions."""
    if language != "en":
        sys.exit("rules are for English")
    open(file, "wb").close()
    return lambda text: list(PtbTokeniser({"(", ")"}).sentences(text))


def udpipe(language: str, file: str) -> Split:
    """UDPipe's tokeniser."""
    from ufal import udpipe as pipe

    def sentences(path: str) -> pipe.Sentences:
        reader, problem, found = pipe.InputFormat.newConlluInputFormat(), pipe.ProcessingError(), []
        reader.setText("".join(str(to_conllu(one, n)) for n, one in enumerate(read_tokens(path), start=1)))
        while reader.nextSentence(one := pipe.Sentence(), problem):
            found.append(one)
        if problem.occurred():
            sys.exit(problem.message)
        return pipe.Sentences(found)

    problem = pipe.ProcessingError()
    train, dev = map(sentences, paths_of(language))
    data = pipe.Trainer.train("morphodita_parsito", train, dev, "", "none", "none", problem)
    if problem.occurred():
        sys.exit(problem.message)
    with open(file, "wb") as stream:
        stream.write(data)
    return udpipe_model(file)


def udpipe_model(file: str) -> Split:
    """The tokeniser in a model file of UDPipe."""
    from ufal import udpipe as pipe

    model = pipe.Model.load(file)

    def split(text: str) -> Sequence[TokenSentence]:
        whole = pipe.Pipeline(model, "tokenize", pipe.Pipeline.NONE, pipe.Pipeline.NONE, "conllu")
        with tempfile.NamedTemporaryFile("w", suffix=".conllu", encoding="utf-8") as stream:
            stream.write(whole.process(text, pipe.ProcessingError()))
            stream.flush()
            return read_tokens(stream.name)

    return split


SYSTEMS: dict[str, Callable[[str, str], Split]] = {"lveg": lveg, "udpipe": udpipe, "rules": rules}


def row(language: str, system: str) -> list[object]:
    """Train, score and time one system."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model")
        begun = time.process_time()
        split = SYSTEMS[system](language, file)
        training = time.process_time() - begun
        size = os.path.getsize(file) / 1e6
        gold = read_tokens(paths_of(language)[1])
        text = text_of(gold)
        split(text[:1000])
        begun = time.process_time()
        found = split(text)
        seconds = time.process_time() - begun
    scores = [f"{counts.f1:.2f}" for counts in score_tokens(gold, found).rows().values()]
    return [language, system, *scores, f"{training:.0f}", f"{len(text) / seconds:,.0f}", f"{size:.1f}"]


def main() -> None:
    """Measure what the command line names, or everything; a row is shown as soon as it is there."""
    named = sys.argv[1:]
    systems = [name for name in named if name in SYSTEMS] or list(SYSTEMS)
    try:
        import ufal.udpipe  # noqa: F401
    except ImportError:
        print("skipped udpipe: it is not installed; pip install ufal.udpipe", file=sys.stderr)
        systems = [name for name in systems if name != "udpipe"]
    rows = []
    for language in [name for name in named if name in LANGUAGES] or LANGUAGES:
        for system in systems:
            if system != "rules" or language == "en":
                rows.append(row(language, system))
                print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    print_table(HEADER, rows)


if __name__ == "__main__":
    main()
