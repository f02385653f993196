"""Write the reference pages, options.md, commands.md and api.md, from the code: `python docs/make_reference.py`."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import typer

import lveg
from lveg.cli import make_app
from lveg.families.registry import layer_kinds, trainable, trainable_contexts
from lveg.options import Described, describe
from lveg.task_options import ParserOptions, TaggerOptions, TokeniserOptions

HERE = Path(__file__).parent
LONG = 40
"""Longer default values, and functions, are not shown."""

MADE = "This page is generated from the code by `python docs/make_reference.py`."


def table(rows: list[Described]) -> str:
    """The options as a Markdown table."""
    lines = ["| option | default | what it does |", "|---|---|---|"]
    for item in rows:
        option = item.option
        allowed = f" One of {', '.join(option.choices)}." if option.choices else ""
        bounds = [f"at least {option.least:g}"] if option.least is not None else []
        bounds += [f"at most {option.most:g}"] if option.most is not None else []
        default = "" if item.default is None else str(item.default).lower() if item.type is bool else str(item.default)
        limits = f" ({', '.join(bounds)})" if bounds else ""
        lines.append(f"| `{item.flag}` | {default} | {option.help.replace('|', chr(92) + '|')}{allowed}{limits} |")
    return "\n".join(lines)


def options_page() -> str:
    """The options of `lveg train`."""
    parts = [
        "# Training options",
        f"{MADE} Every option is a flag\n"
        "of `lveg train`, a key of a config file (`--config FILE.toml`, with `_` for `-`) and a keyword of\n"
        "`lveg.train_parser`, `lveg.train_tagger` or `lveg.train_tokeniser`. `lveg info MODEL --config`\n"
        "prints a config that, with the same data, trains the same model again.",
    ]
    for task, form in (("parser", ParserOptions), ("tagger", TaggerOptions), ("tokeniser", TokeniserOptions)):
        parts += [f"## lveg train {task}", table(list(describe(form)))]
        for kind in trainable(task).values():
            parts += [f"### --model {kind.name}", kind.summary]
            own = list(describe(kind.load_options()))
            parts += [table(own)] if own else ["It has no options of its own."]
        for kind in layer_kinds(task):
            parts += ["### with any --context", table(list(describe(kind.load_options())))]
        for kind in trainable_contexts(task).values():
            parts += [f"### --context {kind.name}", kind.summary, table(list(describe(kind.load_options())))]
    return "\n\n".join(parts) + "\n"


def commands_page() -> str:
    """All commands with their arguments and options."""
    parts = ["# Commands", f"{MADE} `lveg COMMAND --help` shows the same."]
    parts += command_parts("lveg", typer.main.get_command(make_app([])))
    return "\n\n".join(parts) + "\n"


def command_parts(name: str, command: Any) -> list[str]:
    """The sections of a command, or of the commands in a group."""
    if isinstance(command, typer.core.TyperGroup):
        return [part for sub, inner in command.commands.items() for part in command_parts(f"{name} {sub}", inner)]
    parts = [f"## {name}", inspect.cleandoc(command.help or "")]
    if name.startswith("lveg train"):
        parts.append("Its options are on a [page of their own](options.md).")
    else:
        parts.append(parameter_table(command.params))
    return parts


def parameter_table(parameters: list[Any]) -> str:
    """Arguments and options as a Markdown table."""
    lines = ["| | default | what it does |", "|---|---|---|"]
    for parameter in parameters:
        is_option = isinstance(parameter, typer.core.TyperOption)
        names = ", ".join(f"`{name}`" for name in parameter.opts) if is_option else f"`{parameter.human_readable_name}`"
        default = parameter.default
        shown = "" if default in (None, False, ()) or callable(default) else f"{getattr(default, 'value', default)}"
        text = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
        choices = getattr(parameter.type, "choices", ())
        allowed = f" One of {', '.join(str(getattr(one, 'value', one)) for one in choices)}." if choices else ""
        lines.append(f"| {names} | {shown} | {text}{allowed} |")
    return "\n".join(lines)


def api_page() -> str:
    """The public names of the package."""
    parts = ["# Python API", MADE, "Everything here is in the package `lveg` itself."]
    for name in lveg.__all__:
        found = getattr(lveg, name)
        if name.startswith("__"):
            continue
        parts += [f"## {name}", described(name, found)]
        if inspect.isclass(found):
            for method, value in public_members(found):
                parts += [f"### {name}.{method}", described(method, value)]
    return "\n\n".join(parts) + "\n"


def public_members(owner: type) -> list[tuple[str, Any]]:
    """Documented methods and properties of a class, in the order of their definition."""
    return [
        (name, value)
        for name, value in vars(owner).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, property | classmethod | staticmethod))
    ]


class Bare(str):
    """The text of an annotation, shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


def plain(one: inspect.Parameter) -> inspect.Parameter:
    """A parameter with a bare annotation, and `...` for a default value that does not read well."""
    if one.default is not one.empty and (callable(one.default) or len(repr(one.default)) > LONG):
        one = one.replace(default=Bare("..."))
    return one if one.annotation is one.empty else one.replace(annotation=Bare(one.annotation))


def described(name: str, item: Any) -> str:
    """Signature and documentation."""
    function = item.fget if isinstance(item, property) else getattr(item, "__func__", item)
    text = inspect.cleandoc(function.__doc__ or "")
    if isinstance(item, property) or (inspect.isclass(item) and issubclass(item, Exception)):
        return text
    signature = inspect.signature(function)
    shown = [plain(one) for one in signature.parameters.values() if one.name not in ("self", "cls")]
    result = signature.return_annotation
    signature = signature.replace(
        parameters=shown, return_annotation=signature.empty if result in (None, "None") else Bare(result)
    )
    return f"```python\n{name}{signature}\n```\n\n{text}"


PAGES = {"options.md": options_page, "commands.md": commands_page, "api.md": api_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
