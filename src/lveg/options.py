"""Options, each described once; the command line, config files, keywords and docs are generated from this.

An options class is a frozen dataclass that inherits from `Options`; its fields are made with `option`. This module
imports nothing slow, so that `--help` is immediate.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, Self, cast

from lveg.errors import UsageError


@dataclass(frozen=True)
class Option:
    """The description of an option, besides its type and default.

    group: the heading it is listed under. least, most: inclusive bounds of numbers. choices: the allowed strings.
    may_change: whether a run that resumes from a checkpoint may have another value. is_recorded: whether the model file
    stores it; options that do not affect the model are not recorded.
    """

    help: str
    group: str = "Options"
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    may_change: bool = False
    is_recorded: bool = True


_KEY = "option"


def option(default: Any, help: str, **facts: Any) -> Any:
    """A field of an options class; `facts` are the fields of `Option`."""
    return field(default=default, metadata={_KEY: Option(help, **facts)})


def with_default(owner: type, name: str, default: Any, **facts: Any) -> Any:
    """The field of another options class with another default; `facts` replace those of its `Option`."""
    (found,) = (item for item in fields(owner) if item.name == name)
    return field(default=default, metadata={_KEY: replace(found.metadata[_KEY], **facts)})


@dataclass(frozen=True)
class Described:
    """A field of an options class: its name, type without None, whether it may be None, default and description."""

    name: str
    type: type
    may_be_none: bool
    default: Any
    option: Option

    @property
    def is_file(self) -> bool:
        """Whether its value is a file to read."""
        return self.option.metavar == "FILE" or self.is_model

    @property
    def is_model(self) -> bool:
        """Whether its value is a model file that training starts from."""
        return self.option.metavar == "MODEL"

    @property
    def flag(self) -> str:
        """Its flag on the command line."""
        return "--" + self.name.replace("_", "-")

    def check(self, value: Any) -> Any:
        """The value, converted to the type of the option; raises UsageError if it is not allowed."""
        if value is None and self.may_be_none:
            return value
        if type(value) is int and abs(value) >= 2**63:
            raise UsageError(f"{self.flag}: expected a number of at most 64 bits")
        if self.type is float and type(value) is int:
            value = float(value)
        if type(value) is not self.type:
            raise UsageError(f"{self.flag} {value!r}: expected {_NAMES[self.type]}")
        if isinstance(value, str) and not _is_unicode(value):
            raise UsageError(f"{self.flag} {value!r}: expected Unicode text")
        if self.option.choices and value not in self.option.choices:
            raise UsageError(f"{self.flag} {value!r}: expected one of {', '.join(self.option.choices)}")
        if self.type in (int, float):
            number = cast(float, value)
            least, most = self.option.least, self.option.most
            if not math.isfinite(number):
                raise UsageError(f"{self.flag} {value!r}: expected a finite number")
            if least is not None and number < least:
                raise UsageError(f"{self.flag} {value!r}: expected at least {least:g}")
            if most is not None and number > most:
                raise UsageError(f"{self.flag} {value!r}: expected at most {most:g}")
        return value


def _is_unicode(text: str) -> bool:
    """Whether the text can be written to a file; command-line arguments that were not UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_NAMES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


@dataclass(frozen=True)
class Options:
    """Base of all options classes: values are checked when an instance is made."""

    def __post_init__(self) -> None:
        for item in describe(type(self)):
            object.__setattr__(self, item.name, item.check(getattr(self, item.name)))

    @classmethod
    def take(cls, given: Mapping[str, Any]) -> Self:
        """An instance from those of the given values that are options of this class."""
        return cls(**{item.name: given[item.name] for item in describe(cls) if item.name in given})

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """A copy with values that suit this number of training sentences; options named in `given` are kept."""
        return self

    def unless_given(self, given: Collection[str], **values: Any) -> Self:
        """A copy with these values; options named in `given` are kept."""
        return replace(self, **{name: value for name, value in values.items() if name not in given})

    def as_base(self, sentences: int, given: Collection[str]) -> Self:
        """Like `for_size`, for a family that contexts are added to."""
        return self.for_size(sentences, given)

    def record(self, for_resume: bool = False) -> dict[str, Any]:
        """Names and values, as stored in a model file or config.

        for_resume: only those that must not change when a run resumes from a checkpoint.
        """
        return {
            item.name: getattr(self, item.name)
            for item in describe(type(self))
            if item.option.is_recorded and not (for_resume and item.option.may_change)
        }


def describe(owner: type) -> tuple[Described, ...]:
    """The options of a class, in order."""
    found = _known.get(owner)
    if found is None:
        hints = typing.get_type_hints(owner)
        found = tuple(_described(item, hints[item.name]) for item in fields(owner) if _KEY in item.metadata)
        _known[owner] = found
    return found


_known: dict[type, tuple[Described, ...]] = {}  # by class: finding type hints takes long


def _described(item: Field[Any], hint: Any) -> Described:
    parts = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    (plain,) = (part for part in parts if part is not types.NoneType)
    assert item.default is not MISSING, item.name
    return Described(item.name, plain, len(parts) > 1, item.default, item.metadata[_KEY])


def to_toml(values: Mapping[str, Any]) -> str:
    """The text of a config file with these values; those that are None are left out."""
    return "".join(f"{name} = {_toml(value)}\n" for name, value in values.items() if value is not None)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # Basic strings of TOML have the same escapes as JSON.
        import json

        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def read_config(path: str) -> dict[str, Any]:
    """The values of a config file in TOML."""
    import tomllib

    try:
        with open(path, "rb") as stream:
            values = tomllib.load(stream)
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # also for numbers with thousands of digits, and invalid bytes
        raise UsageError(f"{path}: is not TOML: {error}") from None
    return values
