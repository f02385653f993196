"""The default tagger beside those that one could use instead, trained and scored on the same files, one thread.

    python benchmarks/bench_tagger_peers.py [LANGUAGE or SYSTEM ...]

Systems: lveg; NLTK's TnT (tnt) and averaged perceptron (perceptron); a linear-chain CRF of CRFsuite (crf) with words,
affixes to four letters, shapes and two words either side, 120 iterations; UDPipe's tagger (udpipe), for tags alone; it
takes its time. `pip install 'lveg[peers]'` has the others. Accuracy is that of development tokens and sentences; lveg
chooses its best epoch on them, and UDPipe its best iteration. Times are CPU seconds; those of lveg are without the
compilation of kernels, which happens once. Speeds are of tagging tokens in memory, features included.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from common import data_dir, print_table

from lveg.contexts.forms.properties import shape
from lveg.model_io import load_model, save_model
from lveg.training import train_tagger
from lveg.treebank.conllu import read_tagged

Tagged = list[list[tuple[str, str]]]
Words = Sequence[Sequence[str]]
TagAll = Callable[[Words], list[list[str]]]
LANGUAGES = ("tr", "gl", "nl", "id", "en")
HEADER = ["language", "system", "token", "sentence", "training s", "tokens/s", "model MB"]


def paths_of(language: str) -> tuple[str, str]:
    """The training and development files."""
    folder = data_dir() / "ud-1.4" / language
    return str(folder / "train.conllu.gz"), str(folder / "dev.conllu.gz")


def lveg(language: str, file: str) -> TagAll:
    """Ours, by its defaults."""
    train, dev = paths_of(language)
    save_model(train_tagger(train, dev), file)
    tagger: Any = load_model(file)
    return lambda sentences: [tagging.tags for tagging in tagger.tag_all(sentences)]


def tnt(language: str, file: str) -> TagAll:
    """NLTK's TnT, with its guesser of unknown words left out, as it comes."""
    import pickle

    from nltk.tag.tnt import TnT

    tagger = TnT()
    tagger.train(read_tagged([paths_of(language)[0]], "upos"))
    with open(file, "wb") as stream:
        pickle.dump(tagger, stream)
    return lambda sentences: [[tag for _, tag in tagger.tag(list(words))] for words in sentences]


def perceptron(language: str, file: str) -> TagAll:
    """NLTK's averaged perceptron, five iterations, as it comes."""
    import pickle

    from nltk.tag.perceptron import PerceptronTagger

    tagger = PerceptronTagger(load=False)
    tagger.train(read_tagged([paths_of(language)[0]], "upos"))
    with open(file, "wb") as stream:
        pickle.dump((tagger.model.weights, tagger.tagdict, tagger.classes), stream)
    return lambda sentences: [[tag for _, tag in tagger.tag(list(words))] for words in sentences]


def crf_features(words: Sequence[str]) -> list[list[str]]:
    """The features of each word."""
    lowered = ["", "", *(word.lower() for word in words), "", ""]
    found = []
    for i, word in enumerate(words):
        low = lowered[i + 2]
        features = ["bias", f"w={word}", f"l={low}", f"s={shape(word)}"]
        features += [f"p={low[:length]}" for length in range(1, 5)] + [f"e={low[-length:]}" for length in range(1, 5)]
        features += [f"{place}={lowered[i + 2 + place]}" for place in (-2, -1, 1, 2)]
        found.append(features)
    return found


def crf(language: str, file: str) -> TagAll:
    """CRFsuite by L-BFGS."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for sentence in read_tagged([paths_of(language)[0]], "upos"):
        trainer.append(crf_features([word for word, _ in sentence]), [tag for _, tag in sentence])
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 120, "feature.possible_transitions": True})
    trainer.train(file)
    tagger = pycrfsuite.Tagger()
    tagger.open(file)
    return lambda sentences: [tagger.tag(crf_features(words)) for words in sentences]


def udpipe(language: str, file: str) -> TagAll:
    """UDPipe's tagger, for the one column."""
    from ufal import udpipe as pipe

    def bare(tagged: Tagged) -> Any:
        made = []
        for pairs in tagged:
            sentence = pipe.Sentence()
            for word, tag in pairs:
                sentence.addWord(word).upostag = tag
            made.append(sentence)
        return pipe.Sentences(made)

    train, dev = (bare(read_tagged([path], "upos")) for path in paths_of(language))
    problem = pipe.ProcessingError()
    settings = "models=1;provide_lemma=0;use_lemma=0;provide_xpostag=0;use_xpostag=0;provide_feats=0;use_feats=0"
    data = pipe.Trainer.train("morphodita_parsito", train, dev, "none", settings, "none", problem)
    if problem.occurred():
        sys.exit(problem.message)
    with open(file, "wb") as stream:
        stream.write(data)
    model = pipe.Model.load(file)

    def tag_all(sentences: Words) -> list[list[str]]:
        found = []
        for words in sentences:
            sentence = pipe.Sentence()
            for word in words:
                sentence.addWord(word)
            model.tag(sentence, pipe.Model.DEFAULT)
            found.append([sentence.words[i].upostag for i in range(1, sentence.words.size())])
        return found

    return tag_all


SYSTEMS: dict[str, Callable[[str, str], TagAll]] = {
    "lveg": lveg, "crf": crf, "perceptron": perceptron, "tnt": tnt, "udpipe": udpipe,
}  # fmt: skip


def row(language: str, system: str) -> list[object]:
    """Train, score and time one system."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model")
        begun = time.process_time()
        tag_all = SYSTEMS[system](language, file)
        training = time.process_time() - begun
        size = os.path.getsize(file) / 1e6
        gold = read_tagged([paths_of(language)[1]], "upos")
        words = [[word for word, _ in sentence] for sentence in gold]
        tag_all(words[:10])
        begun = time.process_time()
        found = tag_all(words)
        seconds = time.process_time() - begun
    right = [
        [tag == given for (_, tag), given in zip(*pair, strict=True)] for pair in zip(gold, found, strict=True)
    ]  # fmt: skip
    tokens = sum(map(len, right))
    token, sentence = sum(map(sum, right)) / tokens, sum(map(all, right)) / len(right)
    accuracies = f"{100 * token:.2f}", f"{100 * sentence:.2f}"
    return [language, system, *accuracies, f"{training:.0f}", f"{tokens / seconds:,.0f}", f"{size:.1f}"]


def main() -> None:
    """Measure what the command line names, or everything; a row is shown as soon as it is there."""
    named = sys.argv[1:]
    systems = [name for name in named if name in SYSTEMS] or list(SYSTEMS)
    if "lveg" in systems:
        with tempfile.TemporaryDirectory() as folder:
            lveg("tr", os.path.join(folder, "model"))  # compiles
    rows = []
    for language in [name for name in named if name in LANGUAGES] or LANGUAGES:
        for system in systems:
            rows.append(row(language, system))
            print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    print_table(HEADER, rows)


if __name__ == "__main__":
    main()
