"""`lveg train parser` and `lveg train tagger`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lveg.cli.options import (
    Column,
    EmptyElements,
    KeepFunctions,
    KeepTraces,
    LogFile,
    MaxLength,
    Quiet,
    Seed,
    SkipBad,
    Threads,
    Threshold,
    Unknown,
    UnknownOption,
    check_outputs,
    cleaning_of,
    thread_count,
)

if TYPE_CHECKING:
    from lveg.learning.train import ParserOptions, TaggerOptions
    from lveg.model import Model

app = typer.Typer(help="Train a parser or a tagger on your treebank.", no_args_is_help=True)

Dev = Annotated[
    list[Path] | None,
    typer.Option("--dev", metavar="FILE", help="Held-out data to score the model on; may be repeated."),
]
Out = Annotated[Path, typer.Option("--out", metavar="MODEL", help="The model file to write.")]


class ParserModel(StrEnum):
    """Kinds of parser."""

    pcfg = "pcfg"
    lvg = "lvg"
    split_merge = "split-merge"
    multi_scale = "multi-scale"
    gm = "gm"


class Covariance(StrEnum):
    """Shapes of Gaussians."""

    spherical = "spherical"
    diagonal = "diagonal"


class TaggerModel(StrEnum):
    """Kinds of tagger."""

    forms = "forms"
    hmm = "hmm"
    lvg = "lvg"
    gm = "gm"


class Objectives(StrEnum):
    """What grammars with a fixed number of discrete subtypes are learned for."""

    generative = "generative"
    discriminative = "discriminative"


class Direction(StrEnum):
    """Where phrases with more than two children are cut."""

    right = "right"
    left = "left"
    head = "head"


@app.command("parser")
def train_parser_command(
    train: Annotated[list[Path], typer.Argument(metavar="TRAIN...", help="Bracketed trees: files, directories, .gz.")],
    out: Out,
    dev: Dev = None,
    model: Annotated[
        ParserModel,
        typer.Option(
            help="pcfg: the treebank's own grammar. lvg: subtypes of each symbol, learned. split-merge: subtypes split "
            "where that helps. multi-scale: rules that tell apart only the subtypes that matter to them. gm: Gaussian "
            "mixtures over latent vectors, learned."
        ),
    ] = ParserModel.pcfg,
    unknown: UnknownOption = Unknown.auto,
    unknown_threshold: Threshold = 2,
    smooth: Annotated[
        int,
        typer.Option(min=0, help="Words seen at most this often share tags with their class; 0 for none."),
    ] = 10,
    binarise: Annotated[
        Direction,
        typer.Option(help="Cut long phrases from the right, the left, or outward from a learned head."),
    ] = Direction.right,
    horizontal: Annotated[int, typer.Option(min=0, help="Sibling labels that a part of a phrase remembers.")] = 0,
    vertical: Annotated[int, typer.Option(min=1, help="1: a label alone; 2: with its parent's; and so on.")] = 1,
    cycles: Annotated[
        int | None,
        typer.Option(
            min=1, max=8, help="split-merge, multi-scale: how often subtypes are split; 4, or 3, if not given."
        ),
    ] = None,
    keep_cycles: Annotated[
        bool,
        typer.Option("--keep-cycles", help="split-merge: write the parser of every cycle too, as MODEL.cycle1 ..."),
    ] = False,
    subtypes: Annotated[int, typer.Option(min=1, help="lvg: subtypes of a symbol.")] = 8,
    objective: Annotated[
        Objectives,
        typer.Option(help="lvg: the likelihood of trees, by EM, or of trees given words, by gradients."),
    ] = Objectives.generative,
    covariance: Annotated[
        Covariance, typer.Option(help="gm: one variance a Gaussian, or one a dimension.")
    ] = Covariance.spherical,
    components: Annotated[int, typer.Option(min=1, help="gm: Gaussians a rule.")] = 4,
    by_frequency: Annotated[
        bool, typer.Option("--by-frequency", help="gm: a rule seen c times has 1 + log2 c, at most --components.")
    ] = False,
    split: Annotated[
        bool, typer.Option("--split", help="gm: begin with one component a rule, and split all until --components.")
    ] = False,
    sparsity: Annotated[
        float, typer.Option(min=0.0, help="gm: how strongly a rule's weight is drawn into few components.")
    ] = 0.0,
    dim: Annotated[int, typer.Option(min=1, help="gm: dimensions of a subtype.")] = 3,
    spread: Annotated[
        float, typer.Option(min=0.0, help="gm: means start at random within this of 0; the paper's start is 0.05.")
    ] = 0.5,
    alpha: Annotated[
        float | None,
        typer.Option(min=1e-9, help="gm: components start at this times P(rule), the paper's at 8; by default evenly."),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1, help="All by gradients: passes over the data; 15, 20 of multi-scale, 50 of EM, if not given."
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            min=1e-9, help="By gradients: Adam's step, less 5 % each epoch; 0.02, or 0.04 of multi-scale, if not given."
        ),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="By gradients: how strongly parameters are held to their start; 2, or 1 of multi-scale, if not given.",
        ),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="By gradients: sentences an update.")] = 64,
    p_min: Annotated[
        float, typer.Option(min=1e-12, max=0.1, help="By gradients: training forests leave out what is less probable.")
    ] = 1e-4,
    k_best: Annotated[
        int, typer.Option(min=0, help="gm: train on this many best trees of the treebank grammar; 0: on --p-min.")
    ] = 0,
    k_min: Annotated[
        int | None, typer.Option(min=1, help="gm: component pruning, as in the paper; needs --k-max.")
    ] = None,
    k_max: Annotated[int | None, typer.Option(min=1, help="gm: most components a score keeps.")] = None,
    theta: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="gm: of c components k-min + c^theta are kept, at most k-max.")
    ] = 0.35,
    k_hard: Annotated[
        int | None, typer.Option(min=1, help="gm: component pruning to exactly this many; instead of the three.")
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            min=0, help="lvg, gm: epochs without a better dev F1 before it ends; 0: all. 5, or 10 of EM, if not given."
        ),
    ] = None,
    memory: Annotated[
        float, typer.Option(min=0.0, metavar="GIB", help="By gradients: training forests beyond this are kept on disk.")
    ] = 4.0,
    resume: Annotated[
        bool, typer.Option("--resume", help="All but pcfg: go on where a run that was interrupted stopped.")
    ] = False,
    max_length: MaxLength = None,
    keep_functions: KeepFunctions = False,
    keep_traces: KeepTraces = False,
    keep_unaries: Annotated[bool, typer.Option(help="Keep X over X as two phrases.")] = False,
    empty: EmptyElements = None,
    skip_bad: SkipBad = False,
    seed: Seed = 0,
    threads: Threads = None,
    log: LogFile = None,
    quiet: Quiet = False,
) -> None:
    """Train a constituency parser on bracketed trees.

    Function tags, traces and X-over-X unaries are removed first, as the field
    does; options keep them. With --dev the parser is scored as EVALB does, and
    of a learned grammar the best epoch, or cycle, is kept. The options marked lvg,
    split-merge and so on are for those models. Gradients are of sentences of up to 50
    words, or --max-length. While a grammar is learned its state is kept in
    MODEL.checkpoint until the model is written; the same command with --resume
    goes on from there.

        lveg train parser wsj/train.mrg --dev wsj/dev.mrg --out my.model
    """
    from lveg.errors import UsageError
    from lveg.grammar.binarise import Binarisation
    from lveg.grammar.lexicon import LexiconOptions
    from lveg.learning.checkpoint import Checkpoint
    from lveg.learning.descent import Descent
    from lveg.learning.gm import GmOptions
    from lveg.learning.lvg import BY_EM, LvgOptions
    from lveg.learning.multi_scale import MultiScaleOptions
    from lveg.learning.split_merge import SplitMergeOptions
    from lveg.learning.train import ParserOptions, train_parser
    from lveg.model_io import save_model

    if k_hard is not None:
        if k_min is not None or k_max is not None:
            raise UsageError("--k-hard stands alone: leave --k-min and --k-max out")
        k_min = k_max = k_hard
    if (k_min is None) != (k_max is None) or (k_min or 0) > (k_max or 0):
        raise UsageError("component pruning needs both --k-min and --k-max, the first not above the second")
    if keep_cycles and model is not ParserModel.split_merge:
        raise UsageError("--keep-cycles is for --model split-merge")
    is_em = model is ParserModel.lvg and objective is Objectives.generative
    usual = BY_EM if is_em else MultiScaleOptions().descent if model is ParserModel.multi_scale else Descent()
    descent = Descent(
        epochs=epochs or usual.epochs,
        learning_rate=learning_rate or usual.learning_rate,
        l2=usual.l2 if l2 is None else l2,
        batch=batch,
        patience=usual.patience if patience is None else patience,
    )
    gm = GmOptions(
        components=components,
        by_frequency=by_frequency,
        split=split,
        sparsity=sparsity,
        dim=dim,
        covariance=covariance.value,
        p_min=p_min,
        alpha=alpha,
        spread=spread,
        max_length=max_length or GmOptions.max_length,
        memory=int(memory * 2**30),
        k_best=k_best,
        k_min=k_min or 0,
        k_max=k_max or 0,
        theta=theta,
        descent=descent,
    )
    lvg = LvgOptions(
        subtypes,
        objective.value,
        p_min=p_min,
        max_length=max_length or LvgOptions.max_length,
        memory=int(memory * 2**30),
        descent=descent,
    )
    multi_scale = MultiScaleOptions(
        cycles or 3, p_min=p_min, max_length=lvg.max_length, memory=lvg.memory, descent=descent
    )
    options = ParserOptions(
        model=model.value,
        lexicon=LexiconOptions(unknown.value, unknown_threshold, smooth),
        cleaning=cleaning_of(keep_functions, keep_traces, empty, keep_unaries),
        binarisation=Binarisation(binarise.value, horizontal, vertical),
        max_length=max_length,
        seed=seed,
        gm=gm if model is ParserModel.gm else None,
        lvg=lvg if model is ParserModel.lvg else None,
        split_merge=SplitMergeOptions(cycles or 4) if model is ParserModel.split_merge else None,
        multi_scale=multi_scale if model is ParserModel.multi_scale else None,
    )
    checkpoint = None if model is ParserModel.pcfg else Checkpoint(f"{out}.checkpoint", resume)
    keep = (lambda name, parser: save_model(parser, f"{out}.{name}")) if keep_cycles else None
    learn = partial(train_parser, checkpoint=checkpoint, keep=keep)
    _train(learn, train, dev, options, out, skip_bad, threads, log, quiet)
    if checkpoint is not None:
        checkpoint.remove()


@app.command("tagger")
def train_tagger_command(
    train: Annotated[list[Path], typer.Argument(metavar="TRAIN...", help="CoNLL-U: files, directories, .gz.")],
    out: Out,
    dev: Dev = None,
    model: Annotated[
        TaggerModel,
        typer.Option(
            help="forms: subtypes of each tag, and weights for the forms of words and their neighbours; the most "
            "accurate. The others know a word by itself alone: hmm: a hidden Markov model. lvg: subtypes of each tag, "
            "learned. gm: Gaussian mixtures over latent vectors, learned."
        ),
    ] = TaggerModel.forms,
    column: Annotated[Column, typer.Option(help="The column that holds the tags to learn.")] = Column.upos,
    unknown: UnknownOption = Unknown.auto,
    unknown_threshold: Threshold = 2,
    smooth: Annotated[
        int,
        typer.Option(min=0, help="Words seen at most this often share tags with their class; 0 for none."),
    ] = 0,
    subtypes: Annotated[
        int | None, typer.Option(min=1, help="forms, lvg: subtypes of a tag; 2 and 16 if not given.")
    ] = None,
    objective: Annotated[
        Objectives,
        typer.Option(help="lvg: the likelihood of words and tags, by EM, or of tags given words, by gradients."),
    ] = Objectives.generative,
    covariance: Annotated[
        Covariance, typer.Option(help="gm: one variance a Gaussian, or one a dimension.")
    ] = Covariance.spherical,
    components: Annotated[int, typer.Option(min=1, help="gm: Gaussians a rule.")] = 4,
    dim: Annotated[int, typer.Option(min=1, help="gm: dimensions of a subtype.")] = 3,
    spread: Annotated[
        float, typer.Option(min=0.0, help="gm: means start at random within this of 0; the paper's start is 0.05.")
    ] = 0.5,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Passes over the data; 8 for forms, 20 for others, or 50 of EM, if not given."),
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(min=1e-9, help="By gradients: Adam's step; 0.02 if not given.")
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="By gradients: how strongly parameters are held to their start; 0.2 for forms, 0.3 for lvg, 1 for gm, "
            "if not given.",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(min=1, help="By gradients: sentences an update; 64 for forms, 128 for others, if not given."),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Epochs without a better dev token accuracy before learning ends; 0: all. 3 for forms, 5 for others, "
            "10 of EM, if not given.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Not hmm: go on where a run that was interrupted stopped.")
    ] = False,
    max_length: MaxLength = None,
    skip_bad: SkipBad = False,
    seed: Seed = 0,
    threads: Threads = None,
    log: LogFile = None,
    quiet: Quiet = False,
) -> None:
    """Train a part-of-speech tagger on CoNLL-U files.

    With --dev the tagger is scored, and of a learned one the best epoch is kept.
    Options marked with models are for those. After every epoch the state is kept
    in MODEL.checkpoint until the model is written; the same command with --resume
    goes on from there.

        lveg train tagger en-train.conllu --dev en-dev.conllu --out en.model
    """
    from lveg.grammar.lexicon import LexiconOptions
    from lveg.learning.checkpoint import Checkpoint
    from lveg.learning.tags import BY_FORMS, BY_GRADIENT, TagFormsOptions, TagGmOptions, TagLvgOptions
    from lveg.learning.train import TaggerOptions, train_tagger

    lvg = (TagLvgOptions if objective is Objectives.generative else TagLvgOptions.by_gradient)(subtypes or 16)
    given: dict[str, Any] = {
        "epochs": epochs,
        "learning_rate": learning_rate,
        "l2": l2,
        "batch": batch,
        "patience": patience,
    }
    usual = {TaggerModel.forms: BY_FORMS, TaggerModel.lvg: lvg.descent}.get(model, BY_GRADIENT)
    descent = replace(usual, **{name: value for name, value in given.items() if value is not None})
    options = TaggerOptions(
        model=model.value,
        lexicon=LexiconOptions(unknown.value, unknown_threshold, smooth),
        column=column.value,
        max_length=max_length,
        seed=seed,
        forms=TagFormsOptions(subtypes or 2, descent=descent) if model is TaggerModel.forms else None,
        lvg=replace(lvg, descent=descent) if model is TaggerModel.lvg else None,
        gm=TagGmOptions(components, dim, covariance.value, spread, descent) if model is TaggerModel.gm else None,
    )
    checkpoint = None if model is TaggerModel.hmm else Checkpoint(f"{out}.checkpoint", resume)
    learn = train_tagger if checkpoint is None else partial(train_tagger, checkpoint=checkpoint)
    _train(learn, train, dev, options, out, skip_bad, threads, log, quiet)
    if checkpoint is not None:
        checkpoint.remove()


def _check_there(paths: list[Path]) -> None:
    """Refuse, before training, held-out data that is not there."""
    from lveg.errors import UsageError

    for path in paths:
        if str(path) != "-" and not path.exists():
            raise UsageError(f"{path}: cannot be opened: No such file or directory")


def _train(
    learn: Callable[..., Model],
    train: list[Path],
    dev: list[Path] | None,
    options: ParserOptions | TaggerOptions,
    out: Path,
    skip_bad: bool,
    threads: int | None,
    log: Path | None,
    quiet: bool,
) -> None:
    """Check the files, learn, save, and tell."""
    from lveg.cli.console import announce_faults, console_report
    from lveg.model_io import save_model
    from lveg.treebank.source import Faults

    faults = Faults(skip_bad)
    check_outputs([out, log], [*train, *(dev or [])])
    _check_there(dev or [])
    with console_report(None if log is None else str(log), quiet) as report:
        model = learn(
            [str(p) for p in train], [str(p) for p in dev or []], options, thread_count(threads), faults, report
        )
    save_model(model, str(out))
    _announce(out, quiet)
    announce_faults(faults.messages)


def _announce(out: Path, quiet: bool) -> None:
    if not quiet and out.is_file():
        typer.echo(f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB)", err=True)
