"""Model files written by an attacker: correct digests, contents that would mislead the kernels or take forever.

Each test here is a file that was once accepted, or a place where only reading the code showed what a file could do.
tests/long/fuzz.py tries millions of random ones.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden.make import HERE, SENTENCES
from small import packed

import lveg.families.gm.family as gm_module
import lveg.families.shared.family as shared_module
import lveg.grammar.grammar as grammar_module
from lveg._version import __version__
from lveg.chart.tag_chain import tag_chain
from lveg.container import unpack
from lveg.errors import GrammarError, ModelError
from lveg.families.gm.family import plan
from lveg.kernels.gm_plan import number_blocks
from lveg.model import Parser, combine
from lveg.model_io import load_model, model_bytes, model_of
from lveg.text.expansions import Expansions
from lveg.training import train_parser, train_tagger
from lveg.trees import Tree

GOLDEN = HERE / __version__


def parts_of(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(header, arrays) of a golden model."""
    text, arrays = unpack((GOLDEN / f"{name}.model").read_bytes())
    return json.loads(text), dict(arrays)


def refused(header: dict[str, Any], arrays: dict[str, Any]) -> str:
    """The error that a file of these parts gets."""
    with pytest.raises(ModelError) as caught:
        model_of(packed(json.dumps(header), arrays), "x")
    return str(caught.value)


def test_a_rule_that_occurs_twice() -> None:
    header, arrays = parts_of("tagger-factored")  # as many tags as there are, but not all different: out of bounds
    for name in ("rule_lhs", "rule_left", "rule_right", "count", "weight"):
        arrays[name] = np.append(arrays[name], arrays[name][-1:])
    arrays["weight"][-2:] /= 2
    assert "a rule occurs twice" in refused(header, arrays)


def test_symbols_that_no_rule_has() -> None:
    header, arrays = parts_of("parser-lvg")  # each could have thousands of subtypes, without a single weight
    header["symbols"].insert(0, ["phrase", "A", [], [], ""])
    header["n_nonterminals"] += 1
    lexical = header["n_binary"] + header["n_unary"] + header["n_root"]
    for name, end in (("rule_lhs", None), ("rule_left", lexical), ("rule_right", None)):
        arrays[name] = arrays[name].copy()
        arrays[name][:end] += arrays[name][:end] >= 0
    arrays["family.subtypes"] = np.insert(arrays["family.subtypes"], 0, 4096)
    assert "in no rule" in refused(header, arrays)


@pytest.mark.parametrize("label", ["", "A B", "(", "N\n", "\t"])
def test_labels_that_cannot_be_written(label: str) -> None:
    header, arrays = parts_of("parser-pcfg")
    header["symbols"][-1][1] = label
    assert "cannot be written" in refused(header, arrays)
    header, arrays = parts_of("parser-pcfg")
    header["paths"][0] = [label]
    assert "cannot be written" in refused(header, arrays)
    if label not in ("A B", "("):
        header, arrays = parts_of("tagger-hmm")
        header["symbols"][-1][1] = label
        assert "cannot be written" in refused(header, arrays)


def test_labels_that_cannot_be_written_are_not_learned() -> None:
    with pytest.raises(GrammarError, match="cannot be written"):
        train_parser([Tree("S", [Tree("N P", [Tree("X", (), "a"), Tree("X", (), "b")])])] * 2, model="pcfg")
    with pytest.raises(GrammarError, match="cannot be written"):
        train_tagger([[("a", "X\tY")]] * 2, model="hmm")


def test_keys_of_features_whose_differences_overflow() -> None:
    header, arrays = parts_of("parser-features")
    keys = arrays["family.1.key"].copy()
    keys[:2] = 2, -(2**31) + 1
    assert "not in order" in refused(header, arrays | {"family.1.key": keys})


def test_vectors_without_dimensions() -> None:
    header, arrays = parts_of("parser-gm")
    empty = {name: np.zeros((0, arrays[name].shape[1])) for name in ("family.mean", "family.log_std")}
    assert "no dimensions" in refused(header, arrays | empty)
    header, arrays = parts_of("parser-shared")
    for axis in (0, 1):  # no components, no dimensions
        size = arrays["family.lhs_mean"].shape[axis]
        changed = {
            name: np.delete(array, range(size), axis=array.shape.index(size))
            for name, array in arrays.items()
            if name.startswith("family.") and size in array.shape
        }
        assert "is damaged" in refused(header, arrays | changed)


def test_sizes_whose_products_overflow() -> None:
    header, arrays = parts_of("parser-cvg")
    for dim in (2**62, 2**63 - 1, 2**32):
        header["facts"]["dim"] = dim
        for size in range(200):  # with 64-bit arithmetic, one of these is the size
            assert "parameters where" in refused(header, arrays | {"family.value": np.zeros(size, np.float16)})


def test_a_pruner_with_other_tags_than_its_chain() -> None:
    header, arrays = parts_of("tagger-gaussian")
    assert header["facts"]["least"] > 0.0
    header["facts"]["parts"][-1]["facts"]["is_lexical"] = True
    assert "a pruner that lets words have the same tags" in refused(header, arrays)


def test_emissions_under_a_lexicon() -> None:
    header, arrays = parts_of("tagger-factored")
    header["facts"]["parts"][0] = {"name": "hmm", "facts": {}}
    for name in list(arrays):
        if name.startswith("family.0."):
            del arrays[name]
    assert "lets every word have every tag" in refused(header, arrays)


def test_too_many_parts() -> None:
    header, arrays = parts_of("parser-pcfg")
    header["family"] = "product"
    header["facts"] = {"parts": [{"name": "pcfg", "facts": {}}] * 65}
    assert "65 parts" in refused(header, arrays)
    parser = load_model(GOLDEN / "parser-pcfg.model")
    assert isinstance(parser, Parser)
    with pytest.raises(GrammarError, match="65 parts"):
        combine([parser] * 65)


def test_vectors_on_top_of_vectors() -> None:
    header, arrays = parts_of("parser-cvg")  # each level would take several times as long as the one below
    inner = {"name": "contextual", "facts": {"least": 0.0, "parts": [{"name": "pcfg", "facts": {}}] * 2}}
    inner["facts"]["parts"][1] = {"name": "features", "facts": {}}  # type: ignore[index]
    header["facts"]["parts"] = [inner]
    more = {"family.0.1.key": np.zeros(0, np.int32), "family.0.1.steps": np.zeros(0, np.int8)}
    assert "built on another family" in refused(header, arrays | more)


def test_a_pattern_that_takes_forever() -> None:
    header, arrays = parts_of("parser-pcfg")
    header["cleaning"]["empty_elements"] = "(a+)+$"
    assert "could take forever to match" in refused(header, arrays)


def test_a_multiword_token_of_any_length() -> None:
    long = "x" * 300_000  # with all of its endings, it would take 45 GB
    expansions = Expansions({long: ("x", "y"), "del": ("de", "el")})
    assert expansions.words(long) == ("x", "y")
    assert expansions.words("Del") == ("De", "el")
    assert expansions.words("q" * 300_000) == ("q" * 300_000,)
    assert sum(map(len, expansions.rules)) < 400_000


def test_more_components_than_fit() -> None:
    parser = load_model(GOLDEN / "parser-gm.model")
    assert isinstance(parser, Parser)
    forest = parser.coarse.parses(SENTENCES[0].split(), 0.0).forest
    assert forest is not None
    ptr = np.arange(parser.grammar.n_rules + 1, dtype=np.int32) * np.int32(60_000)
    *_, slots, rules, begins = number_blocks(plan(forest), ptr)
    assert (len(slots), len(rules), begins.tolist()) == (0, 0, [-1])


# Files of less than a megabyte with tables that are not linear in it.


def one_word_trees(count: int) -> list[Tree]:
    """Trees of one word each, all with other tags."""
    return [Tree("S", [Tree(f"T{number}", (), f"w{number}")]) for number in range(count)] * 2


def test_tables_of_symbols_and_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = one_word_trees(2050)
    with pytest.raises(GrammarError, match="2,051 symbols, 2,050 of them tags"):
        train_parser(trees, model="pcfg")
    with monkeypatch.context() as patch:
        patch.setattr(grammar_module, "MOST_ENTRIES", 2**30)
        data = model_bytes(train_parser(trees, model="pcfg"))
    with pytest.raises(ModelError, match="tables of them would be too large"):
        model_of(data, "x")


def test_many_symbols_need_no_table_of_their_pairs() -> None:
    pair = Tree("A", (), "a"), Tree("B", (), "b")
    trees = [Tree("S", [Tree(f"P{number}", pair), Tree("B", (), "c")]) for number in range(9999)]
    parser = train_parser(trees, model="pcfg")
    tracemalloc.start()
    chain = tag_chain(parser.grammar, parser.weight)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert chain.ends.shape == (3, parser.grammar.n_nonterminals)
    assert peak < 50 * 2**20


def test_a_unary_chain_of_any_length() -> None:
    header, arrays = parts_of("parser-pcfg")
    header["paths"][0] = ["A"] * (2**22 // len(header["paths"]) + 1)
    assert "a unary chain of" in refused(header, arrays)


def test_a_root_over_a_part_of_a_phrase() -> None:
    header, arrays = parts_of("parser-pcfg")
    arrays["rule_left"] = arrays["rule_left"].copy()
    part = next(number for number, symbol in enumerate(header["symbols"]) if symbol[0] == "part")
    arrays["rule_left"][header["n_binary"] + header["n_unary"]] = part
    assert "a part of a phrase is a whole tree" in refused(header, arrays)


def test_a_tag_with_any_number_of_attributes() -> None:
    header, arrays = parts_of("tagger-factored")
    header["symbols"][-1][1] += "|x" * 300
    assert "attributes; there may be at most 256" in refused(header, arrays)


def test_pruners_of_pruners() -> None:
    header, arrays = parts_of("tagger-gaussian")  # each level would have tables of its own
    header["facts"]["parts"][-1]["facts"]["least"] = 0.1
    assert "its pruner is not a chain with contexts" in refused(header, arrays)
    header, arrays = parts_of("tagger-gaussian")
    header["facts"]["parts"][0] = {"name": "forms", "facts": header["facts"]["parts"][-1]["facts"]}
    assert "a family whose tags can have factors" in refused(header, arrays)


def test_too_many_parts_of_parts() -> None:
    header, arrays = parts_of("parser-pcfg")
    inner = {"parts": [{"name": "pcfg", "facts": {}}] * 10, "least": 0.0}
    header["family"], header["facts"] = "product", {"parts": [{"name": "contextual", "facts": inner}] * 60}
    assert "more than 512 parts" in refused(header, arrays)


def test_tables_of_shared_components(monkeypatch: pytest.MonkeyPatch) -> None:
    header, arrays = parts_of("parser-shared")
    monkeypatch.setattr(shared_module, "MOST_OVERLAPS", 10)
    assert "are too many for its rules" in refused(header, arrays)


def test_more_overlaps_of_components_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gm_module, "MOST_OVERLAPS", 10)
    parser = load_model(GOLDEN / "parser-gm.model")
    assert isinstance(parser, Parser)
    assert parser.parse(SENTENCES[0]).fallback == "pcfg"
    assert len(parser.sample(SENTENCES[0], 2)) == 2


AUDIT = """
import sys
from lveg.errors import ModelError
from lveg.model_io import load_model

golden, files = int(sys.argv[1]), sys.argv[2:]
for path in files[:golden]:  # families are imported, and compiled kernels are read from the cache of the package
    load_model(path)
HARMLESS = ("builtins.id", "object.__getattr__", "object.__setattr__", "sys._getframe", "mmap.__new__", "gc.")
seen, is_watched = [], False

def hook(event, arguments):
    if is_watched and not event.startswith(HARMLESS):
        seen.append((event, str(arguments[:1])[:80]))

sys.addaudithook(hook)
n_loaded = 0
for path in files:
    modules = set(sys.modules)
    is_watched = True
    try:
        load_model(path)
        n_loaded += 1
    except ModelError:
        pass
    is_watched = False
    assert seen == [("open", str((path,))[:80])] and set(sys.modules) == modules, (path, seen)
    seen.clear()
print(n_loaded)
"""


def test_loading_opens_only_the_file_itself_and_starts_nothing(tmp_path: Path) -> None:
    from long.fuzz import data_of
    from long.fuzz_targets import model_target

    files = [str(file) for file in GOLDEN.glob("*.model")]
    golden = len(files)
    target = model_target()
    for number in range(150):
        path = tmp_path / str(number)
        path.write_bytes(data_of(target, 14, number))
        files.append(str(path))
    for name, text in (("path", "/etc/passwd"), ("code", "__import__('os').system('true')"), ("dots", "../../x")):
        header, arrays = parts_of("parser-network")
        header["info"] = {"config": {"vectors": text, "start": text}, "decoder": text}
        header["fingerprint"] = header["version"] = text
        (tmp_path / name).write_bytes(packed(json.dumps(header), arrays))
        files.append(str(tmp_path / name))
    done = subprocess.run([sys.executable, "-c", AUDIT, str(golden), *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1000:]
    assert int(done.stdout) >= golden + 3
