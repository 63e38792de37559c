"""The same scenarios in several engines: when each stream completed, who starved, how even the shares were.

In: the folders of summaries of one plan with a table of progress, one an engine. Out: :class:`SideBySide`, on
the networks that all of them ran, and the files of :func:`write_side_by_side`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from torsweep.errors import InputError
from torsweep.formats.text import read_csv
from torsweep.stats.files import SIDE_BY_SIDE_FILES
from torsweep.stats.inference.intervals import Interval, t_interval
from torsweep.stats.statistic import write_csv
from torsweep.stats.text import markdown_table
from torsweep.stats.verdicts import read_claims
from torsweep.storage import write_text
from torsweep.storage.folders import COMPARISON, own_folder
from torsweep.storage.manifest import verify_folder, with_checksums
from torsweep.tables.reading import level_order

CLIENT_NUMBERS = {
    "starved": "starved",
    "jain": "Jain's index",
    "first_completed_s": "first complete, s",
    "all_completed_s": "all complete, s",
}
_NUMBERS = ("share", "jain", "completed_s", "first_byte_s", "first_completed_s", "all_completed_s")
_COLUMNS = {"shares": ("opened", "completed_s"), "clients": tuple(CLIENT_NUMBERS)}
"""What the comparison reads of each table, beside seed and knobs."""
_NO_PROGRESS = "no such file: only plans with `progress: true` have it"
_WHAT_FILE = "side_by_side.json"
_SHARED_KEYS = ("experiment", "era", "network", "plan")


@dataclass(frozen=True)
class SideBySide:
    """The engines' frames, ``shares`` and ``clients``, with a column ``engine``, on common ``seeds``."""

    where: Mapping[str, str]
    engines: tuple[str, ...]
    knobs: tuple[str, ...]
    seeds: tuple[int, ...]
    shares: pl.DataFrame
    clients: pl.DataFrame


def side_by_side(summaries: Sequence[Path]) -> SideBySide:
    """The summaries in two or more folders on the networks that all have.

    Raises InputError when they are of different plans, when two are of the same engine, or when they have no
    network in common.
    """
    if len(summaries) < 2:
        raise InputError(
            "one summary alone cannot be compared", key="summaries", accepted="two or more folders"
        )
    documents = [read_claims(folder) for folder in summaries]
    first, seeds = documents[0], set(documents[0].seeds)
    for number, (folder, document) in enumerate(zip(summaries, documents, strict=True)):
        for key in (*_SHARED_KEYS, "baseline"):
            if getattr(first, key) != getattr(document, key):
                raise InputError(
                    f"is not of the same plan as {summaries[0]}",
                    file=folder,
                    key=key,
                    value=getattr(document, key),
                    accepted=str(getattr(first, key)),
                )
        if document.engine in [other.engine for other in documents[:number]]:
            raise InputError("is of the same engine as another", file=folder, value=document.engine)
        seeds &= set(document.seeds)
        if not seeds:
            raise InputError("has no network in common with the others", file=folder, value=document.seeds)
    common = tuple(sorted(seeds))
    engines = tuple(f"{document.engine} {document.engine_version}" for document in documents)
    frames = [
        pl.concat(
            _frame(folder, name, list(first.baseline), common).with_columns(pl.lit(engine).alias("engine"))
            for folder, engine in zip(summaries, engines, strict=True)
        )
        for name in ("shares", "clients")
    ]
    where = {key: str(getattr(first, key)) for key in _SHARED_KEYS}
    return SideBySide(where, engines, tuple(first.baseline), common, frames[0], frames[1])


def _frame(folder: Path, name: str, knobs: list[str], seeds: Sequence[int]) -> pl.DataFrame:
    frame = read_csv(folder / f"{name}.csv", ("kind", "client", *knobs), _NUMBERS, _NO_PROGRESS)
    lacking = [column for column in (*knobs, "seed", *_COLUMNS[name]) if column not in frame.columns]
    if lacking:
        raise InputError("is not of this version", file=folder / f"{name}.csv", key=lacking[0])
    if frame.is_empty():
        raise InputError("holds no stream: only plans with `progress: true` do", file=folder / f"{name}.csv")
    return frame.filter(pl.col("seed").is_in(list(seeds)))


def read_side_by_side(folder: Path) -> tuple[SideBySide, pl.DataFrame]:
    """What :func:`write_side_by_side` wrote into ``folder``, and the mean completion times.

    Raises InputError when a file is missing or of another version.
    """
    file = folder / _WHAT_FILE
    what = verify_folder(folder, _WHAT_FILE)
    missing = [key for key in ("where", "engines", "knobs", "seeds") if key not in what]
    if missing:
        raise InputError("is not of this version", file=file, key=missing[0])
    knobs, seeds = list(what["knobs"]), list(what["seeds"])
    shares, clients = (_frame(folder, name, knobs, seeds) for name in ("shares", "clients"))
    means = read_csv(folder / "completion.csv", (*knobs, "engine"), ("completed_s",))
    both = SideBySide(what["where"], tuple(what["engines"]), tuple(knobs), tuple(seeds), shares, clients)
    return both, means


def completion_times(both: SideBySide) -> pl.DataFrame:
    """For each variant, stream (by order of opening) and engine: mean completion, s, over networks."""
    order = level_order(
        {knob: both.shares[knob].unique(maintain_order=True).to_list() for knob in both.knobs}
    )
    return (
        both.shares.group_by([*both.knobs, "opened", "engine"], maintain_order=True)
        .agg(pl.col("completed_s").mean(), pl.col("completed_s").count().alias("networks"))
        .sort([*order, "opened", "engine"])
    )


def side_by_side_text(both: SideBySide) -> str:
    """The comparison as Markdown: a row for each variant, each number for every engine."""
    title = f"{both.where['experiment']}, era {both.where['era']}, plan {both.where['plan']}"
    seeds = ", ".join(map(str, both.seeds))
    lines = [
        f"# {title}: {' beside '.join(both.engines)}",
        "",
        f"The same networks (seeds {seeds}); means over them, with 95 % t-intervals where there are two or "
        "more that differ. In each cell the engines in this order.",
        "",
        markdown_table("Who starved", ["variant", *CLIENT_NUMBERS.values()], _client_rows(both)),
        "",
        markdown_table(
            "When each stream was complete, s, in order of opening",
            ["variant", "engine", *(str(n) for n in range(1, _most(both) + 1))],
            _stream_rows(both),
        ),
    ]
    return "\n".join(lines) + "\n"


def _most(both: SideBySide) -> int:
    return int(both.shares["opened"].max())  # type: ignore[arg-type]


def _client_rows(both: SideBySide) -> list[list[str]]:
    rows = []
    for key, section in both.clients.group_by(both.knobs, maintain_order=True):
        row = [", ".join(map(str, key))]
        for name in CLIENT_NUMBERS:
            row.append(" / ".join(_text(_over_networks(section, name, engine)) for engine in both.engines))
        rows.append(row)
    return rows


def _over_networks(section: pl.DataFrame, name: str, engine: str) -> Interval:
    of_engine = section.filter(pl.col("engine") == engine)
    values = of_engine.group_by("seed").agg(pl.col(name).cast(pl.Float64).mean()).sort("seed")
    return t_interval(values[name].fill_null(float("nan")).to_numpy())


def _stream_rows(both: SideBySide) -> list[list[str]]:
    rows = []
    for key, section in completion_times(both).group_by([*both.knobs, "engine"], maintain_order=True):
        times = [f"{time:.1f}" if time is not None else "–" for time in section["completed_s"]]
        padded = times + [""] * (_most(both) - len(times))
        rows.append([", ".join(map(str, key[:-1])), str(key[-1]).split()[0], *padded])
    return rows


def _text(interval: Interval) -> str:
    if interval.mean != interval.mean:
        return "–"
    if not interval.known:
        return f"{interval.mean:.2f}"
    return f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def write_side_by_side(both: SideBySide, out: Path) -> None:
    """Write :data:`~torsweep.stats.files.SIDE_BY_SIDE_FILES` into ``out``, each as a whole."""
    own_folder(out, COMPARISON)
    write_csv(completion_times(both), out / "completion.csv")
    write_csv(both.shares, out / "shares.csv")
    write_csv(both.clients, out / "clients.csv")
    write_text(out / "side_by_side.md", side_by_side_text(both))
    what = {"where": both.where, "engines": both.engines, "knobs": both.knobs, "seeds": both.seeds}
    what = with_checksums(what, out, [name for name in SIDE_BY_SIDE_FILES if name != _WHAT_FILE])
    write_text(out / _WHAT_FILE, json.dumps(what, indent=1, ensure_ascii=False) + "\n")
