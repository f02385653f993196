"""Which part of the package may import which; families named only in their folders; short commands."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import lveg
from lveg.families.registry import kinds

SOURCE = Path(lveg.__file__).parent

ANYWHERE = {"_version", "errors", "options", "report", "progress", "parallel", "trees", "compact"}
"""What every part may import, except kernels and these themselves."""

LAYERS = {
    "kernels": "",
    "_version": "",
    "errors": "",
    "options": "errors",
    "report": "",
    "progress": "report",
    "parallel": "",
    "trees": "drawing errors",
    "compact": "trees",
    "files": "",
    "container": "files",
    "drawing": "",
    "plotting": "",
    "text": "",
    "treebank": "files text",
    "grammar": "kernels",
    "forest": "grammar kernels",
    "chart": "forest grammar kernels",
    "task_options": "grammar",
    "learning": "chart forest grammar kernels container files",
    "cluster": "learning grammar",
    "families.registry": "families contexts",
    "families.family": "grammar",
    "families.insight": "grammar",
    "families.nested": "families.registry families.family grammar",
    "families.forest": "families.family families.insight forest grammar kernels",
    "families.chain": "families.family families.insight learning grammar kernels",
    "contexts": "families.registry families.family families.chain families.nested learning forest grammar kernels text",
    "families": "families.registry families.family families.insight families.nested families.forest families.chain "
    "contexts learning chart forest grammar kernels",
    "decoding": "families.forest families.chain forest grammar kernels",
    "model": "families.registry families.forest families.chain families decoding chart forest grammar text",
    "text.learned": "model text",
    "model_io": "model text text.learned task_options families.registry families.family families.forest "
    "families.chain container grammar",
    "evaluation": "model model_io annotate decoding treebank chart grammar drawing text",
    "annotate": "model chart forest treebank",
    "output": "model decoding forest treebank drawing",
    "corpus": "annotate output model model_io decoding treebank text text.learned files learning",
    "recipe": "model model_io families.registry families.forest task_options grammar",
    "training": "recipe model text text.learned evaluation families.registry families.forest families.chain learning "
    "task_options treebank chart grammar",
    "checking": "model model_io text text.learned container treebank chart grammar",
    "inspection": "drawing model model_io families.insight grammar",
    "serve": "model model_io output forest grammar kernels text",
    "adapters": "model model_io training evaluation treebank grammar",
    "cli": "*",
    "__main__": "cli",
    "": "",
}
"""What each part may import besides itself and ANYWHERE. A module belongs to the part with the longest name."""


@cache
def modules() -> dict[str, ast.Module]:
    """The modules of the package, parsed, by their names below `lveg`."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[name.removesuffix("__init__").removesuffix(".")] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports_of(name: str) -> set[str]:
    """The modules of the package that a module imports, inside functions too, but not only for type checkers."""
    return {target for node in runtime_nodes(modules()[name]) for target in targets_of(node) if target != name}


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes except those under `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for other in node.orelse:
                yield from runtime_nodes(other)
        else:
            yield node
            yield from runtime_nodes(node)


def targets_of(node: ast.AST) -> Iterator[str]:
    """The modules of the package that an import statement names."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.partition(".")[0] == "lveg":
                yield alias.name.removeprefix("lveg").removeprefix(".")
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        if node.module is not None and node.module.partition(".")[0] == "lveg":
            home = node.module.removeprefix("lveg").removeprefix(".")
            for alias in node.names:
                inner = f"{home}.{alias.name}".removeprefix(".")
                yield inner if inner in modules() else home


def part_of(module: str) -> str | None:
    """The part that a module belongs to, None if it is not in the table."""
    while module not in LAYERS and "." in module:
        module = module.rpartition(".")[0]
    return module if module in LAYERS else None


@pytest.mark.parametrize("name", list(modules()))
def test_imports_point_down(name: str) -> None:
    part = part_of(name)
    assert part is not None, f"say in LAYERS what {name} may import"
    allowed = {part, *LAYERS[part].split()} | (set() if part in {"kernels", *ANYWHERE} else ANYWHERE)
    for target in imports_of(name):
        assert "*" in allowed or part_of(target) in allowed, f"lveg.{name} must not import lveg.{target}"


def test_the_table_names_only_existing_parts() -> None:
    assert {part_of(name) for name in modules()} == set(LAYERS)
    assert {name for allowed in LAYERS.values() for name in allowed.split()} <= {"*", *LAYERS}


def test_there_are_no_import_cycles() -> None:
    graph = {name: imports_of(name) for name in modules() if name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these modules import one another: {' -> '.join(error.args[1])}")


COMMON = ("model.py", "model_io.py", "training.py", "annotate.py", "output.py", "options.py", "task_options.py")
AS_A_USER = {"demo.py"}
"""Files that name models as a user of the command line would."""


def names_of_families() -> set[str]:
    """The names of families in files, options and folders, except words that have other meanings as well."""
    folders = {path.parent.name for path in (SOURCE / "families").glob("*/__init__.py")}
    names = {name for task in ("parser", "tagger") for name in kinds(task)}
    return (folders | names | {name.replace("-", "_") for name in names}) - {"product", "forms", "contextual"}


def words_of(path: Path) -> Iterator[tuple[int, str]]:
    """Identifiers, and the words of strings, with their lines; comments and docstrings are ignored."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {node.body[0].lineno for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string
        elif token.type == tokenize.STRING and token.start[0] not in docs:
            yield from ((token.start[0], word) for word in re.findall(r"[\w-]+", token.string))


@pytest.mark.parametrize(
    "path",
    [
        *(SOURCE / name for name in COMMON),
        *(path for path in sorted((SOURCE / "cli").glob("*.py")) if path.name not in AS_A_USER),
        *(SOURCE / "families" / name for name in ("registry.py", "family.py", "nested.py")),
        *(SOURCE / "families" / name / "family.py" for name in ("product", "contextual")),
        *sorted((SOURCE / "learning").glob("*.py")),
        *sorted((SOURCE / "decoding").glob("*.py")),
        *sorted((SOURCE / "evaluation").glob("*.py")),
    ],
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_no_family_is_named_outside_its_folder(path: Path) -> None:
    known = names_of_families()
    assert {"gm", "lvg", "split-merge", "split_merge", "multi-scale", "multi_scale", "pcfg", "hmm"} <= known
    assert [f"{path.name}:{line}: {word}" for line, word in words_of(path) if word in known] == []


def test_functions_of_the_command_line_are_short() -> None:
    for path in sorted((SOURCE / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or node.lineno) - node.lineno < 60, f"{path.name}: {node.name}"
