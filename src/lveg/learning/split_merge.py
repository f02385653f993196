"""Split and merge: subtypes learned where they help (Petrov, Barrett, Thibaux and Klein 2006)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from lveg.errors import UsageError
from lveg.families.lvg import Lvg, from_pcfg
from lveg.families.split_lvg import SplitLvg
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.lvg_blocks import double
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.tree_em import Smoothing, TreeEm
from lveg.report import Report, dev_facts, silent


@dataclass(frozen=True)
class SplitMergeOptions:
    """How subtypes are learned; docs/decisions/0007 tells where the defaults come from.

    cycles: how often all subtypes are split in two. iterations: of EM after a split, after the merge of the `merged`
    share of all pairs that are of least use, and with smoothing. noise: how far the halves of a split differ at first.
    rules, words, lent: the smoothing, see `Smoothing`; `lent` is always there, the others in the last iterations of a
    cycle.
    """

    cycles: int = 4
    iterations: tuple[int, int, int] = (20, 6, 4)
    merged: float = 0.5
    noise: float = 0.3
    rules: float = 0.03
    words: float = 0.2
    lent: float = 2.0

    def __post_init__(self) -> None:
        shares = (self.merged, self.noise, self.rules, self.words)
        if self.cycles < 1 or min(self.iterations) < 1 or not all(0.0 <= share < 1.0 for share in shares):
            raise UsageError("cycles and iterations start at 1; merged, noise and smoothing are shares below 1")


@dataclass(frozen=True)
class State:
    """A grammar on the way, with the groups of its subtypes at the end of each cycle before (see SplitLvg)."""

    model: Lvg
    groups: Ints

    def arrays(self, prefix: str = "") -> dict[str, Any]:
        """What a checkpoint must hold."""
        arrays = {"subtypes": self.model.shape.subtypes, "weight": self.model.weight, "groups": self.groups}
        return {prefix + name: array for name, array in arrays.items()}

    def restored(self, arrays: dict[str, Any], prefix: str = "") -> State:
        """The state in a checkpoint, for the rules of this one."""
        subtypes, weight, groups = (arrays[prefix + name] for name in ("subtypes", "weight", "groups"))
        return State(Lvg(self.model.shape.with_subtypes(subtypes), weight), groups)


def split(state: State, noise: float, seed: int) -> State:
    """Every subtype in two, alike but for some noise; subtype i becomes 2 i and 2 i + 1.

    What the subtypes were is a new level of groups, unless each symbol had but one.
    """
    old = state.model.shape
    new = old.with_subtypes(2 * old.subtypes)
    dice = np.random.default_rng(seed).uniform(-1.0, 1.0, new.size)
    weight = np.empty(new.size)
    double(old.blocks, new.blocks, state.model.weight, dice, noise, weight)
    own = (np.arange(old.n_subtypes) - np.repeat(old.first[:-1], old.subtypes)).astype(np.int32)
    levels = state.groups if (old.subtypes == 1).all() else np.concatenate([state.groups, own[None]])
    return State(Lvg(new, weight), np.repeat(levels, 2, axis=1))


def merge(state: State, group: Ints, usage: Floats) -> State:
    """The state with groups of subtypes as subtypes; members of a group must be so at all levels before."""
    place = np.repeat(state.model.shape.first[:-1], state.model.shape.subtypes) + group
    is_first = np.diff(place, prepend=-1) != 0
    return State(state.model.project(group, usage), np.ascontiguousarray(state.groups[:, is_first]))


def least_useful(model: Lvg, loss: Floats, share: float) -> Ints:
    """The groups, by number within the symbol, after that share of all pairs, those of least loss, are merged."""
    shape = model.shape
    firsts = np.flatnonzero((np.arange(shape.n_subtypes) - np.repeat(shape.first[:-1], shape.subtypes)) % 2 == 0)
    order = firsts[np.argsort(loss[firsts], kind="stable")]
    joins = np.zeros(shape.n_subtypes, dtype=bool)
    joins[order[: int(share * len(order))] + 1] = True
    number = np.cumsum(~joins) - 1
    group: Ints = (number - np.repeat(number[shape.first[:-1]], shape.subtypes)).astype(np.int32)
    return group


PHASES = ("split", "merge", "smooth")


@dataclass(frozen=True)
class SplitMerge:
    """What the phases of a cycle need."""

    em: TreeEm
    options: SplitMergeOptions
    seed: int = 0
    report: Report = silent

    def phase(self, state: State, cycle: int, name: str) -> State:
        """The state after a phase of a cycle, which counts from 1."""
        options = self.options
        smoothing = Smoothing(lent=options.lent)
        if name == "split":
            state = split(state, options.noise, int(np.random.default_rng([self.seed, cycle]).integers(2**31)))
        elif name == "merge":
            usage = self.em.expect(state.model).subtypes
            loss = self.em.losses(state.model, usage)
            state = merge(state, least_useful(state.model, loss, options.merged), usage)
        else:
            smoothing = Smoothing(options.rules, options.words, options.lent)
        count = options.iterations[PHASES.index(name)]
        model = state.model
        for number in range(1, count + 1):
            model = self.em.maximise(model.shape, self.em.expect(model), smoothing)
            self.report("progress", {"what": f"cycle {cycle}, {name}", "done": number, "total": count})
        return replace(state, model=model)

    def learn(
        self,
        weight: Floats,
        score: Callable[[SplitLvg], dict[str, Any]] | None = None,
        checkpoint: Checkpoint | None = None,
        keep: Callable[[int, SplitLvg], None] | None = None,
    ) -> tuple[SplitLvg, list[dict[str, Any]]]:
        """The grammar of the cycle with the best development F1, or of the last, and what there is to say of each.

        weight: rule probabilities of the treebank grammar. keep: gets the number and grammar of every cycle.
        """
        first = from_pcfg(self.em.grammar, weight)
        state = best = State(first, np.empty((0, first.shape.n_subtypes), np.int32))
        done, history = 0, []
        if checkpoint is not None:
            settings = asdict(self.options)
            del settings["cycles"]
            checkpoint = checkpoint.keyed(seed=self.seed, options=settings, grammar=self.em.grammar.fingerprint)
            kept = checkpoint.load()
            if kept is not None:
                facts, arrays = kept
                done, history = facts["done"], facts["history"]
                state, best = state.restored(arrays), state.restored(arrays, "best_")
                self.report("resumed", {"phases": done})
        begun = time.process_time()
        for step in range(done, len(PHASES) * self.options.cycles):
            cycle, name = step // len(PHASES) + 1, PHASES[step % len(PHASES)]
            state = self.phase(state, cycle, name)
            if name == PHASES[-1]:
                spent = {"cpu_seconds": round(time.process_time() - begun, 1)}
                grammar, log_likelihood = self.finished(state)
                history.append({"cycle": cycle, **self._judge(grammar, log_likelihood, score)})
                if keep is not None:
                    keep(cycle, grammar)
                self.report("cycle", history[-1] | spent)
                begun = time.process_time()
                if history[-1].get("dev_f1", cycle) >= max(item.get("dev_f1", 0.0) for item in history):
                    best = state
            if checkpoint is not None:
                checkpoint.save({"done": step + 1, "history": history}, state.arrays() | best.arrays("best_"))
        return self.finished(best)[0], history

    def finished(self, state: State) -> tuple[SplitLvg, float]:
        """The grammar with its hierarchy, and the log likelihood of the trees."""
        uses = self.em.expect(state.model)
        return SplitLvg(state.model, state.groups, uses.subtypes), uses.log_likelihood

    def _judge(
        self, grammar: SplitLvg, log_likelihood: float, score: Callable[[SplitLvg], dict[str, Any]] | None
    ) -> dict[str, Any]:
        """The size and likelihood of a cycle's grammar, and its scores on development data."""
        shape = grammar.finest.shape
        facts: dict[str, Any] = {"subtypes": shape.n_subtypes, "weights": shape.size}
        facts["log_likelihood"] = round(log_likelihood, 3)
        if score is not None:
            facts |= dev_facts(score(grammar))[1]
        return facts
