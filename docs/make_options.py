"""Write docs/options.md, the reference for training options: `python docs/make_options.py`."""

from __future__ import annotations

from pathlib import Path

from lveg.families.registry import layer_kinds, trainable, trainable_contexts
from lveg.options import Described, describe
from lveg.task_options import ParserOptions, TaggerOptions, TokeniserOptions

PAGE = Path(__file__).with_name("options.md")


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


def page() -> str:
    """The text of the page."""
    parts = [
        "# Training options",
        "This page is generated from the code by `python docs/make_options.py`. Every option is a flag\n"
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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
