"""Slow but obviously correct: enumerates every derivation of a short sentence in plain Python.

A toy grammar is a list of rules with weights. Only `subject`, which passes a toy to the code under test, `toy_of`,
which reads one back from its arrays, and the listing of a forest's edges at the end use lveg.
"""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lveg.forest.forest import Forest
from lveg.grammar.grammar import Grammar
from lveg.grammar.lexicon import Lexicon
from lveg.grammar.symbols import Symbol

Anchored = tuple[int, int, int, int]
"""(rule, start, split, end); the split is the end for rules with fewer than two children."""

Bracket = tuple[str, int, int]
"""(label, start, end) of a phrase."""


class Rule(NamedTuple):
    """kind: binary, unary, root or lexical; children: symbols, or the terminal of a lexical rule."""

    kind: str
    lhs: int
    children: tuple[int, ...]
    path: tuple[str, ...]
    weight: float


class Toy(NamedTuple):
    """Symbols are (kind, label, parents), nonterminals before tags; terminals are words, then the unknown one."""

    symbols: list[tuple[str, str, tuple[str, ...]]]
    n_nonterminals: int
    words: list[str]
    rules: list[Rule]


class Derivation(NamedTuple):
    """One derivation: its weight, its anchored rules with parents first, and its tree in brackets."""

    weight: float
    rules: tuple[Anchored, ...]
    tree: str


def derivations(toy: Toy, terminals: Sequence[int]) -> list[Derivation]:
    """Every derivation of the sentence; a symbol over a span takes at most one unary rule."""
    n = len(terminals)
    by_kind: dict[str, list[tuple[int, Rule]]] = defaultdict(list)
    for number, rule in enumerate(toy.rules):
        by_kind[rule.kind].append((number, rule))
    memo: dict[tuple[int, int, int, bool], list[tuple[float, tuple[Anchored, ...], str]]] = {}

    def label(symbol: int, inside: str) -> str:
        kind, name, _ = toy.symbols[symbol]
        return inside if kind == "part" else f"({name} {inside})"

    def over(symbol: int, start: int, end: int, after_unary: bool) -> list[tuple[float, tuple[Anchored, ...], str]]:
        key = symbol, start, end, after_unary
        if key in memo:
            return memo[key]
        found: list[tuple[float, tuple[Anchored, ...], str]] = []
        if symbol >= toy.n_nonterminals:
            for number, rule in by_kind["lexical"]:
                if end == start + 1 and rule.lhs == symbol and rule.children[0] == terminals[start]:
                    name = f"({toy.symbols[symbol][1]} {(*toy.words, '?')[terminals[start]]})"
                    found.append((rule.weight, ((number, start, end, end),), name))
        elif after_unary:
            found += over(symbol, start, end, False)
            for number, rule in by_kind["unary"]:
                if rule.lhs != symbol:
                    continue
                for weight, rules, text in over(rule.children[0], start, end, False):
                    for inner in reversed(rule.path):
                        text = f"({inner} {text})"
                    anchored = (number, start, end, end)
                    found.append((rule.weight * weight, (anchored, *rules), label(symbol, text)))
        else:
            for (number, rule), split in itertools.product(by_kind["binary"], range(start + 1, end)):
                if rule.lhs != symbol:
                    continue
                lefts = over(rule.children[0], start, split, True)
                rights = over(rule.children[1], split, end, True) if lefts else []
                for left, right in itertools.product(lefts, rights):
                    rules = ((number, start, split, end), *left[1], *right[1])
                    text = label(symbol, f"{left[2]} {right[2]}")
                    found.append((rule.weight * left[0] * right[0], rules, text))
        memo[key] = found
        return found

    return [
        Derivation(rule.weight * weight, ((number, 0, n, n), *rules), f"(TOP {text})")
        for number, rule in by_kind["root"]
        for weight, rules, text in over(rule.children[0], 0, n, True)
    ]


def count_derivations(toy: Toy, terminals: Sequence[int]) -> int:
    """The number of derivations, without listing them."""
    n = len(terminals)
    plain: dict[tuple[int, int, int], int] = defaultdict(int)
    full: dict[tuple[int, int, int], int] = defaultdict(int)
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            end = start + width
            for rule in toy.rules:
                if rule.kind == "lexical" and width == 1 and rule.children[0] == terminals[start]:
                    plain[rule.lhs, start, end] += 1
                elif rule.kind == "binary":
                    left, right = rule.children
                    plain[rule.lhs, start, end] += sum(
                        full[left, start, split] * full[right, split, end] for split in range(start + 1, end)
                    )
            for symbol in range(len(toy.symbols)):
                full[symbol, start, end] = plain[symbol, start, end]
            for rule in toy.rules:
                if rule.kind == "unary":
                    full[rule.lhs, start, end] += plain[rule.children[0], start, end]
    return sum(full[rule.children[0], 0, n] for rule in toy.rules if rule.kind == "root")


def total(found: Sequence[Derivation]) -> float:
    """The summed weight."""
    return math.fsum(derivation.weight for derivation in found)


def rule_posteriors(found: Sequence[Derivation]) -> dict[Anchored, float]:
    """P(anchored rule | sentence)."""
    share: dict[Anchored, float] = defaultdict(float)
    for derivation in found:
        for anchored in derivation.rules:
            share[anchored] += derivation.weight
    z = total(found)
    return {anchored: weight / z for anchored, weight in share.items()}


def node_posteriors(toy: Toy, found: Sequence[Derivation]) -> dict[tuple[int, int, int, int], float]:
    """P((symbol, start, end, level) | sentence); level 0 is before the unary step, 1 the symbol with or without one.

    ROOT is symbol -1.
    """
    share: dict[tuple[int, int, int, int], float] = defaultdict(float)
    for derivation in found:
        nodes = set()
        below_unary = set()
        for number, start, _, end in derivation.rules:
            rule = toy.rules[number]
            if rule.kind == "unary":
                below_unary.add((rule.children[0], start, end))
                nodes.add((rule.lhs, start, end, 1))
        for number, start, _, end in derivation.rules:
            rule = toy.rules[number]
            if rule.kind != "unary":
                nodes.add((rule.lhs, start, end, 0))
                if (rule.lhs, start, end) not in below_unary:
                    nodes.add((rule.lhs, start, end, 1))
        for node in nodes:
            share[node] += derivation.weight
    z = total(found)
    return {node: weight / z for node, weight in share.items()}


def brackets(toy: Toy, derivation: Derivation) -> list[Bracket]:
    """The phrases of the tree, as often as they occur."""
    found = []
    for number, start, _, end in derivation.rules:
        rule = toy.rules[number]
        if rule.kind in ("binary", "unary") and toy.symbols[rule.lhs][0] == "phrase":
            found += [(label, start, end) for label in (toy.symbols[rule.lhs][1], *rule.path)]
    return found


def tags(toy: Toy, derivation: Derivation) -> tuple[int, ...]:
    """The tag symbol of each word."""
    lexical = [anchored for anchored in derivation.rules if toy.rules[anchored[0]].kind == "lexical"]
    return tuple(toy.rules[number].lhs for number, _, _, _ in sorted(lexical, key=lambda anchored: anchored[1]))


def bracket_posteriors(toy: Toy, found: Sequence[Derivation]) -> dict[Bracket, float]:
    """P(the tree has this phrase at least once | sentence)."""
    share: dict[Bracket, float] = defaultdict(float)
    for derivation in found:
        for bracket in set(brackets(toy, derivation)):
            share[bracket] += derivation.weight
    z = total(found)
    return {bracket: weight / z for bracket, weight in share.items()}


def tag_shares(toy: Toy, found: Sequence[Derivation]) -> dict[tuple[int, int], float]:
    """P(word has tag | sentence), by (word, tag symbol)."""
    share: dict[tuple[int, int], float] = defaultdict(float)
    for derivation in found:
        for word, tag in enumerate(tags(toy, derivation)):
            share[word, tag] += derivation.weight
    z = total(found)
    return {key: weight / z for key, weight in share.items()}


def tree_mass(toy: Toy, max_words: int) -> float:
    """The summed weight of all trees over all sentences of at most max_words words."""
    plain: dict[tuple[int, int], float] = defaultdict(float)
    full: dict[tuple[int, int], float] = defaultdict(float)
    for size in range(1, max_words + 1):
        for rule in toy.rules:
            if rule.kind == "lexical" and size == 1:
                plain[rule.lhs, 1] += rule.weight
            elif rule.kind == "binary":
                left, right = rule.children
                plain[rule.lhs, size] += rule.weight * sum(
                    full[left, part] * full[right, size - part] for part in range(1, size)
                )
        for symbol in range(len(toy.symbols)):
            full[symbol, size] = plain[symbol, size]
        for rule in toy.rules:
            if rule.kind == "unary":
                full[rule.lhs, size] += rule.weight * plain[rule.children[0], size]
    roots = [rule for rule in toy.rules if rule.kind == "root"]
    return sum(rule.weight * full[rule.children[0], size] for rule in roots for size in range(1, max_words + 1))


def log_inside(toy: Toy, terminals: Sequence[int]) -> float:
    """log Z by CKY with log-sum-exp; for sentences too long to enumerate."""
    n = len(terminals)
    from_start = np.full((len(toy.symbols), n + 1, n + 1), -np.inf)  # [symbol, start, end]
    to_end = np.full((len(toy.symbols), n + 1, n + 1), -np.inf)  # [symbol, end, start]
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            end = start + width
            plain = np.full(len(toy.symbols), -np.inf)
            for rule in toy.rules:
                score = -np.inf
                if rule.kind == "lexical" and width == 1 and rule.children[0] == terminals[start]:
                    score = 0.0
                elif rule.kind == "binary" and width > 1:
                    left, right = rule.children
                    terms = from_start[left, start, start + 1 : end] + to_end[right, end, start + 1 : end]
                    best = terms.max()
                    score = best + np.log(np.exp(terms - best).sum()) if best > -np.inf else best
                if score > -np.inf:
                    plain[rule.lhs] = np.logaddexp(plain[rule.lhs], score + math.log(rule.weight))
            full = plain.copy()
            for rule in toy.rules:
                if rule.kind == "unary":
                    full[rule.lhs] = np.logaddexp(full[rule.lhs], plain[rule.children[0]] + math.log(rule.weight))
            from_start[:, start, end] = full
            to_end[:, end, start] = full
    scores = [math.log(rule.weight) + from_start[rule.children[0], 0, n] for rule in toy.rules if rule.kind == "root"]
    return float(np.logaddexp.reduce(scores))


def random_toy(dice: random.Random, tied: bool = False) -> Toy:
    """A small grammar with missing rules, parts, labels shared by symbols and tags, and unary cycles."""
    n_nonterminals, n_tags, n_words = dice.randint(2, 4), dice.randint(2, 3), dice.randint(1, 3)
    symbols: list[tuple[str, str, tuple[str, ...]]] = []
    for number in range(n_nonterminals):
        if number and dice.random() < 0.25 and ("part", "A", ()) not in symbols:
            symbols.append(("part", "A", ()))
        elif number and dice.random() < 0.3:
            symbols.append(("phrase", "A", ("ABCD"[number],)))
        else:
            symbols.append(("phrase", "ABCD"[number], ()))
    symbols += [("tag", label, ()) for label in dice.sample(["t", "u", "v", "A", "B"], n_tags)]
    everything = range(len(symbols))
    whole = [symbol for symbol in everything if symbols[symbol][0] != "part"]
    phrases = [symbol for symbol in whole if symbols[symbol][0] == "phrase"]

    def weight() -> float:
        return dice.choice([0.125, 0.25, 0.5]) if tied else dice.uniform(0.01, 1.0)

    density, unary_density = dice.uniform(0.1, 0.45), dice.uniform(0.0, 0.5)
    binary, unary, root, lexical = [], [], [], []
    for lhs in range(n_nonterminals):
        for children in itertools.product(everything, everything):
            if dice.random() < density:
                binary.append(Rule("binary", lhs, children, (), weight()))
    for lhs, child in itertools.product(phrases, whole):
        for path in ((), ("A",), ("B", "P")):
            if dice.random() < unary_density * (0.5 if path else 1.0) and (path or lhs != child):
                unary.append(Rule("unary", lhs, (child,), path, weight()))
    for symbol in whole:
        if dice.random() < 0.6:
            root.append(Rule("root", -1, (symbol,), (), weight()))
    for tag, word in itertools.product(range(n_nonterminals, len(symbols)), range(n_words + 1)):
        if dice.random() < 0.7:
            lexical.append(Rule("lexical", tag, (word,), (), weight()))
    return Toy(symbols, n_nonterminals, ["a", "b", "c"][:n_words], binary + unary + root + lexical)


class Case(NamedTuple):
    """A toy grammar, a sentence as terminals and as words, and its derivations."""

    toy: Toy
    terminals: list[int]
    words: list[str]
    found: list[Derivation]


def is_kept(
    case: Case, rules: dict[Any, float], nodes: dict[Any, float], anchored: Anchored, p_node: float, p_edge: float
) -> bool:
    """Whether an anchored rule and the node it belongs to have these posteriors; a word's rule is its tag's node."""
    rule = case.toy.rules[anchored[0]]
    head = rule.lhs, anchored[1], anchored[3], int(rule.kind == "unary")
    has_edge = rule.kind == "lexical" or rules[anchored] >= p_edge
    return has_edge and (rule.kind == "root" or nodes[head] >= p_node)


LONG = Toy(
    [("phrase", "A", ()), ("phrase", "B", ()), ("tag", "t", ()), ("tag", "u", ())],
    2,
    ["a", "b"],
    [
        Rule("binary", 0, (0, 1), (), 0.3),
        Rule("binary", 0, (1, 0), (), 0.2),
        Rule("binary", 0, (2, 0), (), 0.05),
        Rule("binary", 1, (0, 0), (), 0.25),
        Rule("binary", 1, (0, 3), (), 0.02),
        Rule("unary", 0, (1,), (), 0.1),
        Rule("unary", 0, (2,), (), 0.4),
        Rule("unary", 1, (0,), (), 0.15),
        Rule("unary", 1, (3,), (), 0.001),
        Rule("root", -1, (0,), (), 0.7),
        Rule("root", -1, (1,), (), 0.3),
        Rule("lexical", 2, (0,), (), 1e-4),
        Rule("lexical", 2, (1,), (), 1e-7),
        Rule("lexical", 3, (0,), (), 1e-5),
    ],
)
"""A grammar for long sentences."""


def random_cases(
    count: int, seed: int, most: int = 400, least: int = 1, tied: bool = False, max_words: int = 5
) -> Iterator[Case]:
    """Toys with sentences that have between `least` and `most` derivations."""
    dice = random.Random(seed)
    made = 0
    while made < count:
        toy = random_toy(dice, tied)
        terminals = [dice.randrange(len(toy.words) + 1) for _ in range(dice.randint(1, max_words))]
        if least <= count_derivations(toy, terminals) <= most:
            made += 1
            words = [(*toy.words, "?")[terminal] for terminal in terminals]
            yield Case(toy, terminals, words, derivations(toy, terminals))


def subject(toy: Toy) -> tuple[Grammar, np.ndarray]:
    """The toy as a Grammar and weights; rules keep their numbers."""
    kinds = [rule.kind for rule in toy.rules]

    def column(values: Sequence[int]) -> Any:
        return np.array(values, dtype=np.int32)

    weight = np.array([rule.weight for rule in toy.rules], dtype=np.float64)
    grammar = Grammar(
        symbols=tuple(Symbol(kind, label, parents) for kind, label, parents in toy.symbols),
        n_nonterminals=toy.n_nonterminals,
        rule_lhs=column([rule.lhs for rule in toy.rules]),
        rule_left=column([rule.children[0] for rule in toy.rules]),
        rule_right=column([rule.children[1] if rule.kind == "binary" else -1 for rule in toy.rules]),
        n_binary=kinds.count("binary"),
        n_unary=kinds.count("unary"),
        n_root=kinds.count("root"),
        paths=tuple(rule.path for rule in toy.rules if rule.kind == "unary"),
        count=weight.copy(),
        lexicon=Lexicon("single", tuple(toy.words), ("UNK",)),
        fingerprint="toy",
    )
    return grammar, weight


def toy_of(grammar: Grammar, weight: np.ndarray) -> Toy:
    """The toy with the rules of a grammar."""
    kinds = ["binary"] * grammar.n_binary + ["unary"] * grammar.n_unary + ["root"] * grammar.n_root
    kinds += ["lexical"] * (len(weight) - len(kinds))
    rules = []
    for number, kind in enumerate(kinds):
        left, right = int(grammar.rule_left[number]), int(grammar.rule_right[number])
        children = (left, right) if kind == "binary" else (left,)
        path = grammar.paths[number - grammar.n_binary] if kind == "unary" else ()
        rules.append(Rule(kind, int(grammar.rule_lhs[number]), children, path, float(weight[number])))
    symbols = [(symbol.kind, symbol.label, symbol.parents) for symbol in grammar.symbols]
    return Toy(symbols, grammar.n_nonterminals, list(grammar.lexicon.words), rules)


def edge_lists(forest: Forest) -> list[tuple[int, ...]]:
    """Every derivation of a forest, as its edges with parents first and left before right."""
    below: list[list[tuple[int, ...]]] = []
    for node in range(len(forest.node_symbol)):
        found = []
        for edge in range(forest.edge_ptr[node], forest.edge_ptr[node + 1]):
            left, right = forest.edge_left[edge], forest.edge_right[edge]
            lefts = below[left] if left >= 0 else [()]
            rights = below[right] if right >= 0 else [()]
            found += [(edge, *one, *other) for one, other in itertools.product(lefts, rights)]
        below.append(found)
    return below[-1] if below else []


def anchored_of(forest: Forest, edges: Sequence[int]) -> tuple[Anchored, ...]:
    """The anchored rules of a list of edges, in the order of the edges."""
    found = []
    for edge in edges:
        rule = int(forest.edge_rule[edge])
        if rule >= 0:
            node = bisect.bisect_right(forest.edge_ptr, edge) - 1
            end = split = int(forest.node_end[node])
            if forest.edge_right[edge] >= 0:
                split = int(forest.node_end[forest.edge_left[edge]])
            found.append((rule, int(forest.node_start[node]), split, end))
    return tuple(found)


def central_difference(
    function: Callable[[np.ndarray], float], value: np.ndarray, place: int, step: float = 1e-4
) -> float:
    """The derivative with respect to one parameter, with an error of order step⁴."""

    def moved(by: float) -> float:
        other = value.copy()
        other[place] += by
        return function(other)

    return (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step)
