"""`lveg info`: describe a model file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lveg.cli.options import STANDARD, ModelFile, check_outputs


def info(
    model: ModelFile,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    config: Annotated[
        bool,
        typer.Option("--config", help="Print a config file that, with the same data, trains the same model again."),
    ] = False,
) -> None:
    """Describe a model: its size, how it was trained, and its scores on development data."""
    import msgspec

    from lveg.errors import UsageError
    from lveg.model_io import describe_model, load_model
    from lveg.options import to_toml

    check_outputs([STANDARD], [model])
    facts = describe_model(load_model(str(model)))
    if config:
        if not isinstance(facts.get("config"), dict):
            raise UsageError(f"{model}: was combined from other models, not trained; print their configs instead")
        typer.echo(to_toml(facts["config"]), nl=False)
        return
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
            for number, item in enumerate(value, start=1):
                if any(isinstance(fact, dict | list) for fact in item.values()):
                    typer.echo(f"{indent}  {number}:")
                    _show(item, indent + "    ")
                else:
                    texts = (f"{key.replace('_', ' ')} {fact}" for key, fact in item.items())
                    typer.echo(f"{indent}  {', '.join(texts)}")
        else:
            is_count = isinstance(value, int) and not isinstance(value, bool)
            typer.echo(f"{label}: {f'{value:,}' if is_count else value}")
