"""The comparison as files.

In: a :class:`Comparison`. Out, in one folder: ``distances.csv`` (a row for each run and series),
``cells.csv``, ``contrasts.csv``, ``curves.csv`` (what the figures draw), ``fidelity.json`` (what was
compared, by which versions) and ``fidelity.md``, to read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.reading import validate_fields
from torsweep.errors import InputError
from torsweep.fidelity.comparison import MARGIN, UNKNOWN, WITHIN, all_curves, cells, distances
from torsweep.fidelity.contrasts import NO_CONTRAST, SAME, SIZE_FACTOR, contrasts
from torsweep.fidelity.curves import mean_curves
from torsweep.fidelity.matches import MODEL, REFERENCE, REFERENCE_REPEAT, REPLAY, SERIES, Match, engine_of
from torsweep.stats.statistic import write_csv
from torsweep.stats.text import SHOWN_METRICS, duration_text, markdown_table, networks_text
from torsweep.storage import write_text
from torsweep.storage.folders import COMPARISON, own_folder
from torsweep.storage.manifest import verify_folder, with_checksums

FORMAT = "torsweep-fidelity"
TABLES = ("distances", "cells", "contrasts", "curves")
FIDELITY_FILE = "fidelity.json"
NO_COMPARISON = "no such file: run `torsweep fidelity compare` first"


@dataclass(frozen=True)
class Origin:
    """What was compared. ``engines`` is by series, ``runs`` the hash of each run.json by series."""

    experiment: str
    era: str
    network: str
    knobs: tuple[str, ...]
    variants: tuple[Mapping[str, str], ...]
    seeds: tuple[int, ...]
    warm_up_ns: int
    duration_ns: int
    engines: Mapping[str, str]
    runs: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Comparison:
    """The frames of the module's docstring, and where they come from."""

    origin: Origin
    distances: pl.DataFrame
    cells: pl.DataFrame
    contrasts: pl.DataFrame
    curves: pl.DataFrame


def compare(matches: Sequence[Match], network: str) -> Comparison:
    """Everything there is to say of ``matches``, which ran on networks of the configuration ``network``."""
    curves = all_curves(matches)
    first = matches[0].runs[REFERENCE].spec
    knobs = tuple(matches[0].variant)
    found = distances(matches, curves)
    origin = Origin(
        experiment=first.experiment,
        era=first.era,
        network=network,
        knobs=knobs,
        variants=tuple({tuple(match.variant.items()): match.variant for match in matches}.values()),
        seeds=tuple(sorted({match.seed for match in matches})),
        warm_up_ns=first.warm_up_ns,
        duration_ns=first.duration_ns,
        engines={series: name for series in SERIES if (name := engine_of(matches, series))},
        runs={series: hashes for series in SERIES if (hashes := _hashes(matches, series))},
    )
    return Comparison(
        origin, found, cells(found, knobs), contrasts(matches, curves), mean_curves(matches, curves)
    )


def read_origin(folder: Path) -> dict[str, Any]:
    """The content of fidelity.json in ``folder``, its fields those of :class:`Origin`.

    Raises InputError when there is none, or it is of another version.
    """
    file = folder / FIDELITY_FILE
    document = verify_folder(folder, FIDELITY_FILE, NO_COMPARISON)
    if document.get("format") != FORMAT:
        raise InputError("is no comparison", file=file, value=document.get("format"), accepted=FORMAT)
    origin = asdict(validate_fields(Origin, document, file))
    lacking = [series for series in (MODEL, REFERENCE) if series not in origin["engines"]]
    if lacking:
        raise InputError("missing key", file=file, key=f"engines.{lacking[0]}")
    return origin


def write_comparison(comparison: Comparison, out: Path) -> None:
    """Write the files of the module's docstring into ``out``, each as a whole."""
    own_folder(out, COMPARISON)
    for name in TABLES:
        write_csv(getattr(comparison, name), out / f"{name}.csv")
    write_text(out / "fidelity.md", comparison_text(comparison))
    document: dict[str, Any] = {"format": FORMAT, "format_version": 1, **asdict(comparison.origin)}
    document = with_checksums(document, out, [*(f"{name}.csv" for name in TABLES), "fidelity.md"])
    write_text(out / FIDELITY_FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def comparison_text(comparison: Comparison) -> str:
    """The whole of fidelity.md."""
    parts = [_heading(comparison), _aim(comparison), _cells(comparison), _quantiles(comparison)]
    if not comparison.contrasts.is_empty():
        parts.append(_contrasts(comparison.contrasts))
    return "\n\n".join(parts) + "\n"


def _hashes(matches: Sequence[Match], series: str) -> tuple[str, ...]:
    return tuple(
        str(match.runs[series].provenance["run_sha256"]) for match in matches if series in match.runs
    )


def _heading(comparison: Comparison) -> str:
    origin = comparison.origin
    measured = duration_text(origin.duration_ns - origin.warm_up_ns)
    lines = [
        f"# {origin.engines[MODEL]} against {origin.engines[REFERENCE]}",
        "",
        f"Experiment {origin.experiment}, era {origin.era}; network {origin.network}, "
        f"{networks_text(origin.seeds)}; downloads that started in the first "
        f"{duration_text(origin.warm_up_ns)} are cut, then {measured} measured.",
    ]
    if REFERENCE_REPEAT not in origin.engines:
        lines += [
            "",
            "No run of the reference was repeated with another seed: there is no floor to judge by.",
        ]
    if REPLAY in origin.engines:
        engine = origin.engines[REPLAY]
        lines += ["", f"Replay: {engine} on the circuits that tor used in the reference's measured time."]
    return "\n".join(lines)


def _aim(comparison: Comparison) -> str:
    table = comparison.cells
    within = (table["verdict"] == WITHIN).sum()
    known = (table["verdict"] != UNKNOWN).sum()
    unknown = f" that can be judged, of {len(table)}" if known < len(table) else ""
    judged = comparison.contrasts.filter(pl.col("verdict") != NO_CONTRAST)
    same = (judged["verdict"] == SAME).sum()
    left_out = len(comparison.contrasts) - len(judged)
    none = f"; {left_out} more are within the noise in both" if left_out else ""
    return (
        f"Aim: a greatest gap between the curves (KS) of at most the floor + {MARGIN:g} in every cell: "
        f"**{within} of {known}**{unknown}. Contrasts between variants of the same sign and within "
        f"{SIZE_FACTOR:g}× in size: **{same} of {len(judged)}**{none}."
    )


def _cells(comparison: Comparison) -> str:
    rows = [
        [
            _place(row),
            _variant(row, comparison.origin.knobs),
            str(row["networks"]),
            _number(row["ks"]),
            _number(row["floor"]) + ("" if row["floor_networks"] or row["floor"] is None else " *"),
            _number(row["replay_ks"]),
            _number(row["model_floor"]),
            f"**{row['verdict']}**" if row["verdict"] != WITHIN else row["verdict"],
        ]
        for row in comparison.cells.iter_rows(named=True)
    ]
    header = ["time", "variant", "networks", "KS", "floor", "KS, replay", "model's own floor", "verdict"]
    note = (
        "\n\nFloor: the reference against itself with another seed, on the same network. The model's own "
        "floor is the model against itself, too."
    )
    if any(row[4].endswith("*") for row in rows):
        note += " \\*: of the variants that were repeated."
    return markdown_table("Greatest gap between the curves", header, rows) + note


def _quantiles(comparison: Comparison) -> str:
    names = ("p10", "p25", "p50", "p75", "p90")
    rows = [
        [
            _place(row),
            _variant(row, comparison.origin.knobs),
            *(_number(row[f"{name}_ratio"], 2) for name in names),
        ]
        for row in comparison.cells.iter_rows(named=True)
    ]
    return markdown_table("Quantiles, model over reference", ["time", "variant", *names], rows)


def _contrasts(table: pl.DataFrame) -> str:
    rows = [
        [
            _place(row),
            f"{row['from']} → {row['to']}" + (f", {row['at']}" if row["at"] else ""),
            str(row["networks"]),
            *(_ratio(row[name]) for name in ("reference", "model", "replay")),
            _number(row["size_ratio"], 2),
            "–"
            if row["noise"] is None
            else f"×/÷ {math.exp(row['noise']):.2f}" + _NOISE_MARK[row["noise_from"]],
            row["verdict"] if row["verdict"] in (SAME, NO_CONTRAST) else f"**{row['verdict']}**",
        ]
        for row in table.iter_rows(named=True)
    ]
    header = ["time", "from → to", "networks", "reference", "model", "replay", "size", "noise", "verdict"]
    note = (
        "\n\nThe size is the model's logarithm over the reference's. Noise: the factor by which two "
        "contrasts of one engine are apart by another seed alone (root mean square, of the mean over "
        "networks)."
    )
    if any(row[7].endswith("*") for row in rows):
        note += " \\*: measured in the model, where the reference was not repeated in both variants."
    return markdown_table("Contrasts: ratios of medians, geometric means over networks", header, rows) + note


_NOISE_MARK = {REFERENCE: "", MODEL: " *"}


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['kind']}, {SHOWN_METRICS[row['metric']]}"


def _variant(row: Mapping[str, Any], knobs: Sequence[str]) -> str:
    return ", ".join(str(row[knob]) for knob in knobs)


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _ratio(logarithm: float | None) -> str:
    return "–" if logarithm is None else f"× {math.exp(logarithm):.2f}"
