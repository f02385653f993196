"""`lveg info`: what is in a model file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lveg.cli.options import STANDARD, ModelFile, check_outputs


def info(
    model: ModelFile,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")] = False,
) -> None:
    """Describe a model: its size, how it was trained, and its scores on development data."""
    import msgspec

    from lveg.model_io import describe_model, load_model

    check_outputs([STANDARD], [model])
    facts = describe_model(load_model(str(model)))
    if as_json:
        typer.echo(msgspec.json.encode(facts).decode())
        return
    _show(facts, "")


def _show(facts: dict[str, Any], indent: str) -> None:
    for name, value in facts.items():
        label = f"{indent}{name.replace('_', ' ')}"
        if isinstance(value, dict):
            typer.echo(f"{label}:")
            _show(value, indent + "  ")
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            typer.echo(f"{label}:")
            for item in value:
                shown = (f"{key.replace('_', ' ')} {fact}" for key, fact in item.items())
                typer.echo(f"{indent}  {', '.join(shown)}")
        else:
            is_count = isinstance(value, int) and not isinstance(value, bool)
            typer.echo(f"{label}: {f'{value:,}' if is_count else value}")
