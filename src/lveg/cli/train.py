"""`lveg train parser`, `tagger` and `tokeniser`: commands built from the options of the chosen model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from lveg.cli.options import Quiet, SkipBad, Threads, check_outputs, cluster_workers, thread_count
from lveg.errors import UsageError
from lveg.families.registry import (
    NO_CONTEXT,
    bases_of,
    default_kind,
    described,
    find_trainable,
    layer_kinds,
    layers,
    trainable,
    trainable_contexts,
)
from lveg.learning.options import FORESTS, LEARNING, MINUTES
from lveg.options import Described, describe, read_config
from lveg.task_options import ParserOptions, TaggerOptions, TokeniserOptions

if TYPE_CHECKING:
    from lveg.families.registry import Kind
    from lveg.model_io import Loaded

TASKS = {"parser": ParserOptions, "tagger": TaggerOptions, "tokeniser": TokeniserOptions}
_CONLLU = "CoNLL-U: files, directories, .gz."
_DATA = {"parser": "Bracketed trees: files, directories, .gz.", "tagger": _CONLLU, "tokeniser": _CONLLU}
_HELP = {
    "parser": """Train a constituency parser on bracketed trees.

    Without --model you get the most accurate single grammar, with all
    contexts. Function labels, traces and X-over-X unaries are removed first, as
    usual; options keep them. With --dev the parser is scored as by EVALB, and the
    best epoch or cycle is kept. Without --dev a tenth of the trees is held out to
    find the best number of epochs or cycles; then all trees are used for training.

        lveg train parser wsj/train.mrg --dev wsj/dev.mrg --out my.model
    """,
    "tagger": """Train a part-of-speech tagger on CoNLL-U files.

    With --dev the tagger is scored, and the best epoch is kept. Without --dev a tenth
    of the sentences is held out to find the best number of epochs; then all sentences
    are used for training.

        lveg train tagger en-train.conllu --dev en-dev.conllu --out en.model
    """,
    "tokeniser": """Train a tokeniser, which finds sentences and tokens in running text.

    It learns from CoNLL-U where white space is missing between tokens (`# text`,
    `SpaceAfter=No`), where sentences end, and which words multiword tokens stand for.
    With --dev it is scored by the rules of CoNLL 2018.

        lveg train tokeniser en-train.conllu --dev en-dev.conllu --out en.tokeniser
        lveg tag en.model --raw --tokeniser en.tokeniser news.txt
    """,
}
_MORE = """
    These are the options of --model {name}; name another model or a context to
    see its own.
    During training the state is kept in MODEL.checkpoint until the model is
    written: after every epoch, and every few minutes within one. The same command
    with --resume continues from there and gives the same model.
    """


def make_app(arguments: Sequence[str], is_complete: bool = True) -> typer.Typer:
    """The group of training commands, with the options of the models that the arguments name.

    is_complete: whether the command line is complete; if it is still being typed, nothing is refused yet.
    """
    app = typer.Typer(help="Train a parser, a tagger or a tokeniser on your treebank.", no_args_is_help=True)
    for task in TASKS:
        own = arguments[1:] if arguments[:1] == [task] else []
        try:
            kinds = _kinds(task, own)
            if is_complete:
                _check_flags(task, kinds, own)
        except UsageError:
            if is_complete:
                raise
            kinds = _kinds(task, [])
        app.command(task)(_command(task, kinds))
    return app


def _kinds(task: str, arguments: Sequence[str]) -> list[Kind]:
    """The family named by the arguments or their config file, its base, and its contexts."""
    config = _value(arguments, "--config")
    values = {} if config is None else read_config(config)
    names: list[str | None] = []
    for name in ("model", "context", "base"):
        given, found = _value(arguments, f"--{name}"), values.get(name)
        names.append(given if given is not None or found is None else str(found))
    flags = [argument.partition("=")[0] for argument in arguments if argument.startswith("--")]
    options = {flag[2:].replace("-", "_") for flag in flags} | set(values)
    try:
        kind = default_kind(task) if names[0] is None else find_trainable(task, names[0])
        return [kind, *bases_of(task, kind, names[2]), *layers(task, names[1], names[0], options)]
    except UsageError as error:
        if _value(arguments, "--model") is None and config is not None:
            raise UsageError(f"{config}: {error}") from None
        raise


def _check_flags(task: str, kinds: Sequence[Kind], arguments: Sequence[str]) -> None:
    """Refuse an option of another family or context, with an error that names it."""
    own = {item.flag for item in _described(task, kinds)}
    for argument in arguments:
        flag = argument.partition("=")[0].replace("--no-", "--", 1)
        if flag.startswith("--") and flag not in own:
            others = [other.name for other in trainable(task).values() if _has(other, flag)]
            if others:
                name = kinds[0].name
                raise UsageError(f"{flag} is an option of --model {' or '.join(others)}, not of --model {name}")
            for context in trainable_contexts(task).values():
                if _has(context, flag):
                    raise UsageError(f"{flag} needs --context {context.name}")
            if any(_has(other, flag) for other in layer_kinds(task)):
                raise UsageError(f"{flag} needs --context")


def _has(kind: Kind, flag: str) -> bool:
    return any(item.flag == flag for item in describe(kind.load_options()))


def _value(arguments: Sequence[str], flag: str) -> str | None:
    """The value of a flag, if given."""
    for index, argument in enumerate(arguments):
        if argument.startswith(f"{flag}="):
            return argument.partition("=")[2]
        if argument == flag and index + 1 < len(arguments):
            return arguments[index + 1]
    return None


def _described(task: str, kinds: Sequence[Kind]) -> list[Described]:
    """The options of a family and its contexts, its own groups first, then those of the task."""
    own = described(kinds)
    groups = list(dict.fromkeys(item.option.group for item in own))
    own.sort(key=lambda item: (item.option.group in (LEARNING, FORESTS), groups.index(item.option.group)))
    return [*own, *describe(TASKS[task])]


def _command(task: str, kinds: Sequence[Kind]) -> Callable[..., None]:
    """The command that trains a model of this family and its contexts."""

    def command(**given: Any) -> None:
        _train(task, kinds, given)

    option = typer.Option
    model_help = f"The kind of {task}, see above. \\[default: {default_kind(task).name}]"
    dev_help = "Development data to evaluate the model on; may be repeated."
    config_help = "Read options from this file, as written by `lveg info MODEL --config`; flags take precedence."
    minutes_help = "Save the state after this many minutes, as well as after every epoch."
    log_help = "Append training events to this file, as JSON lines."
    cluster_help = (
        "Train on the workers of a Dask scheduler, such as tcp://host:8786, or on N processes of this machine: "
        "local:N. The model is the same as without. Needs lveg\\[cluster]."
    )
    parameters = [
        _parameter("train", list[Path], typer.Argument(..., metavar="TRAIN...", help=_DATA[task])),
        _parameter("out", Path, option(..., "--out", metavar="MODEL", help="The model file to write.")),
        _parameter("dev", list[Path] | None, option(None, "--dev", metavar="FILE", help=dev_help)),
        _parameter("model", Literal[tuple(trainable(task))] | None, option(None, "--model", help=model_help)),
        _parameter("config", Path | None, option(None, "--config", metavar="FILE.toml", help=config_help)),
        _parameter("resume", bool, option(False, "--resume", help="Continue an interrupted run from its checkpoint.")),
        _parameter("checkpoint_minutes", float, option(MINUTES, "--checkpoint-minutes", min=0.0, help=minutes_help)),
        _parameter("log", Path | None, option(None, "--log", metavar="FILE.jsonl", help=log_help)),
        _parameter("skip_bad", SkipBad, False),
        _parameter("threads", Threads, None),
        _parameter("cluster", str | None, option(None, "--cluster", metavar="ADDRESS|local:N", help=cluster_help)),
        _parameter("quiet", Quiet, False),
        *(_parameter(item.name, *_typed(item)) for item in _described(task, kinds)),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {item.name: item.annotation for item in parameters}
    models = "\n\n".join(f"    {other.name}: {other.summary}" for other in trainable(task).values())
    more = inspect.cleandoc(_MORE.format(name=kinds[0].name))
    contexts = "\n\n".join(f"    {other.name}: {other.summary}" for other in trainable_contexts(task).values())
    lists = f"Models:\n\n{models}\n\n" + (f"Contexts:\n\n{contexts}\n\n" if contexts else "")
    command.__doc__ = f"{inspect.cleandoc(_HELP[task])}\n\n{lists}{more}"
    return command


def _parameter(name: str, hint: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=hint)


def _typed(item: Described) -> tuple[Any, Any]:
    """The type of an option and the Typer option; the default is None, so that config files can set the value."""
    option = item.option
    hint: Any = (Literal[option.choices] if option.choices else item.type) | None
    flag = f"{item.flag}/--no-{item.flag[2:]}" if item.type is bool else item.flag
    return hint, typer.Option(
        None, flag, help=option.help + _limits(item), metavar=option.metavar, rich_help_panel=option.group
    )  # fmt: skip


def _limits(item: Described) -> str:
    """The default and bounds of an option, as shown in the help."""
    least, most = item.option.least, item.option.most
    facts = [] if item.default is None or item.default is False else [f"default: {item.default}"]
    if least is not None and most is not None:
        facts.append(f"{least:g} to {most:g}")
    elif least:
        facts.append(f"at least {least:g}")
    return f" \\[{'; '.join(facts)}]" if facts else ""


def _config_options(task: str, kinds: Sequence[Kind], path: str) -> dict[str, Any]:
    """The options in a config file, checked; errors name the file."""
    known = {item.name: item for item in _described(task, kinds)}
    values = read_config(path)
    values.pop("model", None)
    for name, value in values.items():
        if name not in known:
            raise UsageError(f"{path}: {name!r} is not an option of a {task} of model {kinds[0].name}")
        try:
            known[name].check(value)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None
    return values


def _train(task: str, kinds: Sequence[Kind], given: dict[str, Any]) -> None:
    """Check the files, train, save, and report."""
    from lveg.cli.console import announce_faults, compilation_notice, console_report
    from lveg.files import remove_partial
    from lveg.learning.checkpoint import Checkpoint, Timer
    from lveg.model_io import save_model
    from lveg.training import Setting, train_parser, train_tagger, train_tokeniser
    from lveg.treebank.source import Faults

    train, dev, out = given.pop("train"), given.pop("dev") or [], given.pop("out")
    cluster = given.pop("cluster")
    log, config = given.pop("log"), given.pop("config")
    resume, minutes = given.pop("resume"), given.pop("checkpoint_minutes")
    threads, quiet, faults = given.pop("threads"), given.pop("quiet"), Faults(given.pop("skip_bad"))
    options = {} if config is None else _config_options(task, kinds, str(config))
    options |= {name: value for name, value in given.items() if value is not None}
    files = [Path(options[item.name]) for item in _described(task, kinds) if item.is_file and item.name in options]
    checkpoint = Checkpoint(f"{out}.checkpoint", resume, timer=Timer(minutes))
    check_outputs([out, log, *map(Path, checkpoint.paths)], [*train, *dev, config, *files])
    for path in dev:
        if str(path) != "-" and not path.exists():
            raise UsageError(f"{path}: cannot be opened: No such file or directory")
    options["model"] = kinds[0].name
    if task == "parser":
        options["context"] = ",".join(kind.name for kind in kinds if kind.task != task) or NO_CONTEXT
    with (
        compilation_notice(quiet),
        console_report(None if log is None else str(log), quiet) as report,
        cluster_workers(cluster, report) as workers,
    ):

        def keep(name: str, model: Loaded) -> None:
            save_model(model, f"{out}.{name}")

        setting = Setting(thread_count(threads), report, faults, checkpoint, keep, workers)
        learn: dict[str, Callable[..., Loaded]] = {
            "parser": train_parser, "tagger": train_tagger, "tokeniser": train_tokeniser,
        }  # fmt: skip
        model = learn[task]([str(path) for path in train], [str(path) for path in dev], setting=setting, **options)
    save_model(model, str(out))
    checkpoint.remove()
    remove_partial(str(out))
    if not quiet and out.is_file():
        typer.echo(f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB)", err=True)
    announce_faults(faults.messages)
