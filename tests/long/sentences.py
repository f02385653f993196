"""Hostile sentences: whatever their words are, each gets a well-formed answer that our own readers read back.

    python tests/long/sentences.py --count 100000
    python tests/long/sentences.py --first 5000 --count 5000

Sentences have 1 to 1,000 tokens of random Unicode, control characters, brackets, one word again and again, words that
no treebank has, or a mixture. Time grows with the cube of the length, so one in fifty has any length from 1 to 1,000,
and the others have up to 44 words. Sentence number i of a seed is always the same, so runs of other ranges add up.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

from lveg.chart.chart import exact_size, likely_size  # noqa: E402
from lveg.chart.coarse import MAX_BYTES  # noqa: E402
from lveg.errors import LvegError  # noqa: E402
from lveg.model import Parser, Tagger  # noqa: E402
from lveg.model_io import load_model  # noqa: E402
from lveg.output import parse_brackets, parse_json, tags_conllu, tags_json, tags_tsv  # noqa: E402
from lveg.treebank.conllu import read_conllu  # noqa: E402
from lveg.treebank.penn import parse_tree  # noqa: E402
from lveg.treebank.text import Input  # noqa: E402
from lveg.trees import escape_word  # noqa: E402

GOLDEN = TESTS / "golden" / "0.1.0"
KNOWN = ["the", "The", "dog", ".", "saw", "in", "a", "Cairo", "(", ")", "-LRB-", "12"]
AWKWARD = [
    "(", ")", "((", "()", "(S", "[", "{", "\\", "/", '"', "'", "`", "#", "# x", "1\t2", "a b", "a\nb", "\r", "\0", "_",
    "\x1b[31m", "\x7f", "\u0085", "\u2028", "\u2029", "\ufeff", "\u200b", "\u202e", "\ud7ff", "\uffff", "\U0010ffff",
    "e\u0301", "-", "--", "=", "|", "<", "&", "%", "$", "\u00df", "\u0130", "\ufb01", "-NONE-", "*0*", "TOP", "1-2",
    "0.1", "NaN",
]  # fmt: skip


def any_word(random: Random) -> str:
    """A word of random characters of any kind but surrogates."""
    characters = []
    for _ in range(random.choice((1, 1, 2, 3, 8, 40))):
        code = random.choice((random.randrange(0x80), random.randrange(0x3000), random.randrange(0x110000)))
        characters.append(chr(code) if not 0xD800 <= code < 0xE000 else "x")
    return "".join(characters)


def words_of(random: Random, longest: int = 1000) -> list[str]:
    """The words of a hostile sentence."""
    size = min(random.choice((1, 2, 5, 10, 20, 40)) + random.randrange(5), longest)
    if random.random() < 0.02:
        size = random.randrange(1, longest + 1)
    kinds = {
        "unicode": lambda: any_word(random),
        "awkward": lambda: random.choice(AWKWARD),
        "known": lambda: random.choice(KNOWN),
        "unknown": lambda: f"zq{random.randrange(10**6)}x",
        "long": lambda: random.choice("ax(\u5b57") * random.choice((100, 5000)),
    }
    kind = random.choice([*kinds, "same", "mixed"])
    if kind == "same":
        return [random.choice([*KNOWN, *AWKWARD, any_word(random)])] * size
    return [kinds[random.choice(list(kinds)) if kind == "mixed" else kind]() for _ in range(size)]


def check_parse(parser: Parser, words: list[str]) -> str:
    """Parse a sentence, and check that what is written is read back; returns the fallback."""
    parse = parser.parse(words, count=2, marginals=True)
    escaped = [escape_word(word) for word in words]
    assert parse.words == escaped
    for one in parse.trees:
        assert parse_tree(str(one.tree)) == one.tree
        assert one.tree.words() == escaped
    assert parse_brackets(parse).count("\n") == 1
    assert json.loads(parse_json(Input(words), parse))["words"] == words
    assert all(0.0 <= share <= 1.0 + 1e-6 for share in parse.constituents.values())
    return parse.fallback or "none"


def check_tags(tagger: Tagger, words: list[str], file: Path) -> str:
    """Tag a sentence, and check that what is written is read back; returns the fallback."""
    tagging = tagger.tag(words, posteriors=True)
    assert tagging.words == words
    assert len(tagging.tags) == len(words)
    assert all(-1e-9 <= share <= 1.0 + 1e-6 for share in tagging.confidence)
    file.write_text(tags_conllu(Input(words), tagging, "upos"), encoding="utf-8", newline="\n")
    (sentence,) = read_conllu(file)
    assert sentence.words() == [word.translate({9: "_", 10: "_", 13: "_"}) for word in words]
    assert sentence.column("upos") == tagging.tags
    assert json.loads(tags_json(Input(words), tagging))["words"] == words
    assert tags_tsv(tagging).count("\n") == len(words) + 1
    return tagging.fallback or "none"


def peak() -> int:
    """The largest memory of this process so far, in bytes (Linux)."""
    status = Path("/proc/self/status")
    return int(re.findall(r"VmHWM:\s*(\d+)", status.read_text())[0]) * 1024 if status.exists() else 0


def most_bytes(parser: Parser, n: int) -> int:
    """What a sentence of n words may take (docs/guide/security.md), for a parser with at most 32 nonterminals."""
    rules = parser.coarse.rules
    chart = max(8 * likely_size(rules, n, rules.n_nonterminals), min(8 * exact_size(rules, n), MAX_BYTES))
    return chart + chart // 2 + 2**26


def check(
    count: int, seed: int, parser: str, tagger: str, longest: int = 1000, first: int = 0, seconds: float = math.inf
) -> dict[str, object]:
    """Ask a golden parser and a golden tagger hostile sentences; returns what happened.

    first: the number of the first sentence. seconds: of CPU time, after which no more are asked.
    """
    one, other = load_model(GOLDEN / f"{parser}.model"), load_model(GOLDEN / f"{tagger}.model")
    assert isinstance(one, Parser)
    assert isinstance(other, Tagger)
    seen, lengths, slowest = Counter[str](), Counter[str](), (0.0, 0)
    check_parse(one, KNOWN)  # loads the kernels
    start, start_peak, done, largest = time.process_time(), peak(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            begun = time.process_time()
            if begun - start > seconds:
                break
            words, done = words_of(Random(f"{seed}-{number}"), longest), done + 1
            largest = max(largest, len(words))
            lengths[f"up to {-(-len(words) // 200) * 200 if len(words) > 44 else 44}"] += 1
            try:
                seen[f"parser: {check_parse(one, words)}"] += 1
                seen[f"tagger: {check_tags(other, words, Path(folder) / 'x.conllu')}"] += 1
            except LvegError as error:
                seen[f"refused: {error}"] += 1
            except Exception as error:
                error.add_note(f"sentence {number} of seed {seed}: {words[:20]!r}")
                raise
            slowest = max(slowest, (time.process_time() - begun, len(words)))
    return {
        "sentences": done, "first": first, "seen": dict(seen), "lengths": dict(sorted(lengths.items())),
        "slowest_seconds_words": slowest, "cpu_seconds": time.process_time() - start, "bytes": peak() - start_peak,
        "most_bytes": most_bytes(one, largest),
    }  # fmt: skip


def main() -> None:
    """Run as the arguments say."""
    parser = argparse.ArgumentParser(description="Ask small models hostile sentences.")
    parser.add_argument("--first", type=int, default=0, help="number of the first sentence")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="of CPU time, after which no more are asked")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parser", default="parser-features")
    parser.add_argument("--tagger", default="tagger-forms")
    given = parser.parse_args()
    begun = time.time()
    found = check(
        given.count, given.seed, given.parser, given.tagger, first=given.first, seconds=given.seconds
    )  # fmt: skip
    print(json.dumps(found | {"wall_seconds": round(time.time() - begun)}, indent=1))


if __name__ == "__main__":
    main()
