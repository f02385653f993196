"""The paper's tagging table: accuracy of every system on the development part of every language there is data for.

    python experiments/tagging_table.py --languages en,id --systems HMM,LVG-G-16,GM-LVeG-S --seeds 0,1 --threads 2

Settings are the paper's: words seen once are unknown, in the Berkeley parser's classes for English and in one class
elsewhere; K = 4 and d = 3 for Gaussian mixtures; UPOS tags; the epoch with the best development tokens is kept, so the
figures flatter the learned systems a little. The learning defaults are the package's (docs/decisions/0009). Where only
the small parts of a language exist, they are taken, and its name ends in -small.

A system may be followed by what differs from its defaults, options of `lveg train tagger`: "GM-LVeG-S l2=2 spread=1".
Every run is added to OUT.csv at once, and what is there already, with the same settings, is not run
again. At the end the table is printed as Markdown and drawn in OUT.svg: means over seeds, with the standard deviation
where there are several.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from common import data_dir, parse_setting
from runs import Cell, markdown, names, read_rows, spread_text, write_rows

from lveg._version import __version__
from lveg.evaluation.models import score_tagger
from lveg.families.registry import find
from lveg.task_options import TaggerOptions
from lveg.training import Setting, train_tagger
from lveg.treebank.conllu import read_tagged

SUBTYPES = (1, 2, 4, 8, 16)
LANGUAGES = ("en", "id", "nl", "gl", "tr", "fr", "de", "ru", "es", "fi", "it")
SYSTEMS = (
    "HMM", *(f"LVG-D-{n}" for n in SUBTYPES), *(f"LVG-G-{n}" for n in SUBTYPES), "GM-LVeG-D", "GM-LVeG-S",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A system that was trained on a language: percentages on the development part, CPU seconds of training.

    token and sentence: of the best tag of each word. sequence_token and sequence_sentence: of the best sequence.
    settings: a short name of all options, so that other ones are another run.
    """

    language: str
    system: str
    seed: int
    settings: str
    epoch: int
    token: float
    sentence: float
    sequence_token: float
    sequence_sentence: float
    unknown: float
    cpu_seconds: float
    version: str

    @property
    def key(self) -> tuple[str, int, str]:
        """What makes a run the same as another, whatever the system was called."""
        return self.language, self.seed, self.settings


def files_of(language: str) -> tuple[str, list[str]] | None:
    """(name in the table, training and development file), None where a language has no training file."""
    folder = data_dir() / "ud-1.4" / language
    for part in ("", "-small"):
        files = [folder / f"{name}{part}.conllu.gz" for name in ("train", "dev")]
        if all(file.is_file() for file in files):
            return language + part, [str(file) for file in files]
    return None


def options_of(language: str, system: str, seed: int) -> dict[str, Any]:
    """The options of a system by its name, and what is changed in them."""
    name, _, changes = system.partition(" ")
    options: dict[str, Any] = {"unknown": "english" if language == "en" else "single", "smooth": 0, "seed": seed}
    match name.split("-"):
        case ["HMM"]:
            options |= {"model": "hmm"}
        case ["GM", "LVeG", "D" | "S" as letter]:
            options |= {"model": "gm", "covariance": "diagonal" if letter == "D" else "spherical"}
        case ["LVG", "D" | "G" as letter, subtypes] if subtypes.isdigit():
            objective = "discriminative" if letter == "D" else "generative"
            options |= {"model": "lvg", "subtypes": int(subtypes), "objective": objective}
        case _:
            raise SystemExit(f"system {name!r} is not known; there are {', '.join(SYSTEMS)}")
    return options | parse_setting(changes)


def settings_of(options: dict[str, Any]) -> str:
    """A short name of all options, those with their defaults too, for all seeds the same.

    What is held out does not count, because there is a development part; nor does a tokeniser.
    """
    rest = {name: value for name, value in options.items() if name not in ("model", "seed")}
    task = TaggerOptions.take(rest).record()
    own = find("tagger", options["model"]).load_options().take(rest).record()
    unknown = rest.keys() - task.keys() - own.keys()
    if unknown:
        raise SystemExit(f"a tagger of model {options['model']} has no option {', '.join(sorted(unknown))}")
    chosen = {"model": options["model"], **task, **own}
    del chosen["seed"], chosen["held_out"], chosen["with_tokeniser"]
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:8]


def run(language: str, files: list[str], system: str, options: dict[str, Any], threads: int) -> Run:
    """Train and score one system."""
    best: dict[str, Any] = {"dev_token_accuracy": -1.0, "epoch": 0}

    def report(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and facts["dev_token_accuracy"] > best["dev_token_accuracy"]:
            best.update(facts)

    train, dev = files
    begun = time.process_time()
    tagger = train_tagger(train, dev, setting=Setting(threads, report), **options)
    seconds = time.process_time() - begun
    sequence = score_tagger(tagger, read_tagged([dev], "upos"), "viterbi", threads).summary
    own = tagger.info["dev"]
    return Run(
        language, system, options["seed"], settings_of(options), best["epoch"], own["token_accuracy"],
        own["sentence_accuracy"], sequence["token_accuracy"], sequence["sentence_accuracy"], own["unknown_accuracy"],
        round(seconds, 1), __version__,
    )  # fmt: skip


def table_of(runs: list[Run], systems: list[str], prefix: str) -> tuple[list[str], list[list[Cell]]]:
    """Header and rows: token and sentence accuracy of each system on each language.

    prefix: "" for the best tags, "sequence_" for the best sequences.
    """
    languages = list(dict.fromkeys(r.language for r in runs))
    systems = [system for system in systems if any(r.system == system for r in runs)]
    columns: list[list[Cell]] = []
    for language in languages:
        for measure in ("token", "sentence"):
            values = [
                [getattr(r, prefix + measure) for r in runs if (r.language, r.system) == (language, system)]
                for system in systems
            ]
            means = [round(statistics.fmean(numbers), 2) if numbers else None for numbers in values]
            best = max(mean for mean in means if mean is not None)
            columns.append([
                ("" if mean is None else spread_text(numbers), mean == best)
                for mean, numbers in zip(means, values, strict=True)
            ])  # fmt: skip
    header = ["", *(f"{language} {measure}" for language in languages for measure in "TS")]
    return header, [[(system, False), *cells] for system, *cells in zip(systems, *columns, strict=True)]


def svg(header: list[str], rows: list[list[Cell]]) -> str:
    """The table as a drawing."""
    cells = [[(text, True) for text in header], *rows]
    widths = [9 * max(len(row[column][0]) for row in cells) + 14 for column in range(len(header))]
    width, height = sum(widths) + 14, 22 * len(cells) + 14
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="14">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<path d="M7 {22 + 7}H{width - 7}" stroke="black"/>',
    ]
    for number, row in enumerate(cells):
        y = 22 * number + 22
        for column, (text, is_bold) in enumerate(row):
            x, anchor = (14, "start") if column == 0 else (sum(widths[: column + 1]), "end")
            weight = ' font-weight="bold"' if is_bold else ""
            lines.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}"{weight}>{escape(text)}</text>')
    return "\n".join([*lines, "</svg>\n"])


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )  # fmt: skip
    parser.add_argument("--languages", type=names, default=list(LANGUAGES))
    parser.add_argument("--systems", type=names, default=list(SYSTEMS))
    parser.add_argument("--seeds", type=names, default=["0"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="run nothing: show what OUT.csv has")
    parser.add_argument("--decoder", choices=("posterior", "viterbi"), default="posterior", help="what the table shows")
    parser.add_argument("--out", type=Path, default=Path("tagging-table"), help="OUT.csv and OUT.svg are written")
    return parser.parse_args()


def main() -> None:
    """Run what is missing, then show the table of everything that was asked for."""
    asked = arguments()
    path = asked.out.with_name(f"{asked.out.name}.csv")
    known = {done.key: done for done in read_rows(path, Run)}
    runs: list[Run] = []
    for language in asked.languages:
        found = files_of(language)
        if found is None:
            print(f"{language}: there is no training file", file=sys.stderr)
            continue
        for system in asked.systems:
            for seed in map(int, asked.seeds):
                options = options_of(language, system, seed)
                done = known.get((found[0], seed, settings_of(options)))
                if done is None and asked.show:
                    continue
                if done is None:
                    done = run(*found, system, options, asked.threads)
                    known[done.key] = done
                    write_rows(path, Run, known.values())
                    print(*asdict(done).values(), sep="\t", file=sys.stderr, flush=True)
                runs.append(replace(done, system=system))
    if runs:
        table = table_of(runs, asked.systems, "" if asked.decoder == "posterior" else "sequence_")
        asked.out.with_name(f"{asked.out.name}.svg").write_text(svg(*table), encoding="utf-8")
        print(markdown(*table))


if __name__ == "__main__":
    main()
