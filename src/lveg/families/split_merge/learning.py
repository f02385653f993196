"""Training by splitting and merging subtypes (Petrov, Barrett, Thibaux and Klein 2006)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from lveg.errors import GrammarError
from lveg.families.family import Facts
from lveg.families.lvg.em import EM_COPIES, TreeEm, tree_em
from lveg.families.lvg.family import Lvg, from_pcfg
from lveg.families.split_merge.family import SplitMerge
from lveg.families.split_merge.options import SplitMergeOptions
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.lvg_blocks import double
from lveg.learning.checkpoint import State as Saved
from lveg.learning.data import TreeData
from lveg.learning.epochs import EM_REMEDY, check_rise, failure
from lveg.learning.memory import check_memory
from lveg.learning.run import Run

PHASES = ("split", "merge", "smooth")


def learn(data: TreeData, options: SplitMergeOptions, run: Run) -> tuple[SplitMerge, Facts]:
    """The grammar of the cycle with the best score, or of the last, and a report on each cycle."""
    learner = Learner(tree_em(data, run), options, run)
    first = from_pcfg(data.grammar, data.weight)
    state = best = State(first, np.empty((0, first.shape.n_subtypes), np.int32))
    done, iterations, history = 0, 0, []
    kept = run.load()
    if kept is not None:
        facts, arrays = kept
        done, iterations, history = facts["done"], facts["iterations"], facts["history"]
        state, best = state.restored(arrays), state.restored(arrays, "best_")
        run.report("resumed", {"phases": done, **({"iterations": iterations} if iterations else {})})

    def saved(now: State, done: int, iterations: int) -> Saved:
        facts = {"done": done, "iterations": iterations, "history": history}
        return facts, now.arrays() | best.arrays("best_")

    begun, scores = time.process_time(), [item["score"] for item in history]
    for step in range(done, len(PHASES) * run.rounds(options.cycles)):
        cycle, name = step // len(PHASES) + 1, PHASES[step % len(PHASES)]
        try:
            for number, after in learner.phase(state, cycle, name, iterations):
                state = after
                run.save(partial(saved, state, step, number), is_due=False)
        except GrammarError as error:
            raise failure(error, EM_REMEDY, run, "cycle", cycle) from None
        iterations = 0
        if name == PHASES[-1]:
            spent = {"cpu_seconds": round(time.process_time() - begun, 1)}
            grammar, score, facts = learner.judge(state, cycle)
            scores.append(score)
            history.append(facts | {"score": score})
            if run.keep is not None and options.keep_cycles:
                run.keep(f"cycle{cycle}", grammar)
            run.report("cycle", facts | spent)
            begun = time.process_time()
            if score >= max(scores):
                best = state
        run.save(partial(saved, state, step + 1, 0))
    run.note(1 + max(range(len(scores)), key=lambda index: (scores[index], index)))
    cycles = [{name: fact for name, fact in item.items() if name != "score"} for item in history]
    return learner.finished(best)[0], {"cycles": cycles}


@dataclass(frozen=True)
class State:
    """An intermediate grammar, with the groups of its subtypes at the end of each earlier cycle (see SplitMerge)."""

    model: Lvg
    groups: Ints

    def arrays(self, prefix: str = "") -> dict[str, Any]:
        """The arrays for a checkpoint."""
        arrays = {"subtypes": self.model.shape.subtypes, "weight": self.model.weight, "groups": self.groups}
        return {prefix + name: array for name, array in arrays.items()}

    def restored(self, arrays: dict[str, Any], prefix: str = "") -> State:
        """The state in a checkpoint, for the rules of this one."""
        subtypes, weight, groups = (arrays[prefix + name] for name in ("subtypes", "weight", "groups"))
        return State(Lvg(self.model.shape.with_subtypes(subtypes), weight), groups)


def split(state: State, noise: float, seed: int) -> State:
    """Split every subtype in two, equal up to noise; subtype i becomes 2 i and 2 i + 1.

    The old subtypes become a new level of groups, unless each symbol had only one.
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
    """The state with groups of subtypes as subtypes; members of a group must be in one group at all earlier levels."""
    place = np.repeat(state.model.shape.first[:-1], state.model.shape.subtypes) + group
    is_first = np.diff(place, prepend=-1) != 0
    return State(state.model.project(group, usage), np.ascontiguousarray(state.groups[:, is_first]))


def least_useful(model: Lvg, loss: Floats, share: float) -> Ints:
    """The groups, numbered within the symbol, after merging this share of all pairs, those with the least loss."""
    shape = model.shape
    firsts = np.flatnonzero((np.arange(shape.n_subtypes) - np.repeat(shape.first[:-1], shape.subtypes)) % 2 == 0)
    order = firsts[np.argsort(loss[firsts], kind="stable")]
    joins = np.zeros(shape.n_subtypes, dtype=bool)
    joins[order[: int(share * len(order))] + 1] = True
    number = np.cumsum(~joins) - 1
    group: Ints = (number - np.repeat(number[shape.first[:-1]], shape.subtypes)).astype(np.int32)
    return group


@dataclass(frozen=True)
class Learner:
    """Runs the phases of a cycle."""

    em: TreeEm
    options: SplitMergeOptions
    run: Run

    def phase(self, state: State, cycle: int, name: str, done: int = 0) -> Iterator[tuple[int, State]]:
        """The number of each iteration in a phase of a cycle, and the state after it; cycles count from 1.

        done: the number of iterations that led to `state`, if it is already within the phase.
        """
        options, smoothing = self.options, replace(self.options, smooth_rules=0.0, smooth_words=0.0)
        count = {"split": options.split_iterations, "merge": options.merge_iterations}.get(name)
        if count is None:
            smoothing, count = options, options.smooth_iterations
        if not done:
            state = self.entered(state, cycle, name)
        reached = -np.inf
        for number in range(done + 1, count + 1):
            uses = self.em.expect(state.model)
            check_rise(reached, uses.log_likelihood)
            reached = -np.inf if smoothing is options else uses.log_likelihood  # smoothing lowers it, as it should
            state = replace(state, model=self.em.maximise(state.model.shape, uses, smoothing))
            self.run.report("progress", {"what": f"cycle {cycle}, {name}", "done": number, "total": count})
            yield number, state

    def entered(self, state: State, cycle: int, name: str) -> State:
        """The state at the beginning of a phase: split, merged, or the same."""
        if name == "split":
            shape = state.model.shape
            check_memory(f"cycle {cycle}", shape.with_subtypes(2 * shape.subtypes).size, EM_COPIES)
            seed = int(np.random.default_rng([self.run.seed, cycle]).integers(2**31))
            return split(state, self.options.noise, seed)
        if name == "merge":
            usage = self.em.expect(state.model).subtypes
            loss = self.em.losses(state.model, usage)
            return merge(state, least_useful(state.model, loss, self.options.merged), usage)
        return state

    def finished(self, state: State) -> tuple[SplitMerge, float]:
        """The grammar with its hierarchy, and the log likelihood of the trees."""
        uses = self.em.expect(state.model)
        return SplitMerge(state.model, state.groups, uses.subtypes), uses.log_likelihood

    def judge(self, state: State, cycle: int) -> tuple[SplitMerge, float, Facts]:
        """A cycle's grammar, its score on held-out data or else its number, and a report."""
        grammar, log_likelihood = self.finished(state)
        shape = grammar.finest.shape
        facts: Facts = {"cycle": cycle, "subtypes": shape.n_subtypes, "weights": shape.size}
        facts["log_likelihood"] = round(log_likelihood, 3)
        if self.run.score is None:
            return grammar, float(cycle), facts
        score, more = self.run.score(grammar)
        return grammar, score, facts | more
