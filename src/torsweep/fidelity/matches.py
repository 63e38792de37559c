"""Runs side by side: of a variant on a network, the reference's, the model's, their repeats, the replay.

In: run directories in any order. Out: a list of :class:`Match`. What is compared has to be the same run
but for what is being compared: another network, era, duration, traffic or setting of tor is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from torsweep.config.knobs import KNOBS
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.table_schema import STREAMS
from torsweep.errors import InputError
from torsweep.stats.streams.incidence import STREAM_COLUMNS
from torsweep.tables.collect import Run, open_run, read_table

REFERENCE, MODEL, REPLAY = "reference", "model", "replay"
REFERENCE_REPEAT, MODEL_REPEAT = "reference repeat", "model repeat"

SERIES = (REFERENCE, MODEL, REPLAY, REFERENCE_REPEAT, MODEL_REPEAT)
"""What a run can be in a match."""

_MAY_DIFFER = {
    REFERENCE: set(),
    MODEL: {"engine"},
    REPLAY: {"engine", "paths"},
    REFERENCE_REPEAT: {"seed"},
    MODEL_REPEAT: {"engine", "seed"},
}
_NEVER_COMPARED = {"experiment", "network", "tables", "tracing", "transport", "variant"}
"""The knobs of variants are compared by :func:`_key`, transports by :func:`_check_transports`."""


_Key = tuple[tuple[tuple[str, str], ...], str]
"""The levels of a variant, and the hash of its network."""


@dataclass(frozen=True)
class Match:
    """One variant on one network; ``runs`` by series, always with a reference and a model."""

    variant: Mapping[str, str]
    seed: int
    runs: Mapping[str, Run] = field(default_factory=dict)

    def streams(self, series: str) -> pl.DataFrame:
        """The downloads of a series that started after the warm-up."""
        run = self.runs[series]
        measured = pl.col("start_us") >= run.spec.warm_up_ns // 1000
        return read_table(run.directory, STREAMS).filter(measured).select(STREAM_COLUMNS)


def match_runs(directories: Mapping[str, Iterable[Path]]) -> list[Match]:
    """The matches of run directories by series, in the order in which the references are given.

    A variant and network without a model's run are left out, and so is what has no reference; both
    are not there to compare. Raises InputError when nothing matches, when runs that should be alike are
    not, or when the runs of a series are of several versions of its engine.
    """
    opened = {series: [open_run(directory) for directory in directories.get(series, ())] for series in SERIES}
    for series, runs in opened.items():
        _check_versions(series, runs)
    found: dict[_Key, dict[str, Run]] = {}
    for series, runs in opened.items():
        for run in runs:
            place = found.setdefault(_key(run), {})
            if series in place:
                raise InputError(f"is the same variant and network as {place[series]}", file=run.directory)
            place[series] = run
    matches = [
        Match(runs[REFERENCE].variant, runs[REFERENCE].spec.seed, runs)
        for runs in found.values()
        if REFERENCE in runs and MODEL in runs
    ]
    if not matches:
        raise InputError(
            "no variant and network has been run in both engines", accepted="runs of the same network"
        )
    for match in matches:
        _check_alike(match)
    return matches


def engine_of(matches: Sequence[Match], series: str) -> str:
    """Engine and version of a series, as its runs tell; empty where no match has a run of it."""
    for match in matches:
        if series in match.runs:
            run = match.runs[series]
            carried = f" ({carried_by(run)})" if carried_by(run) else ""
            return f"{run.spec.engine} {run.provenance['engine_version']}{carried}"
    return ""


def carried_by(run: Run) -> str:
    """The TCP of a run of the model and its queue before down-links; empty for other engines."""
    transport = run.spec.transport
    return "" if transport is None else f"tcp={transport.tcp}, link_queue={transport.link_queue.kind}"


def _key(run: Run) -> _Key:
    """The variant and the network of a run; knobs of the transport are the model's alone."""
    levels = tuple((knob, level) for knob, level in run.variant.items() if KNOBS[knob].target != "transport")
    return levels, run.spec.network_sha256


def _check_versions(series: str, runs: Sequence[Run]) -> None:
    for run in runs:
        found, first = (
            (each.spec.engine, str(each.provenance["engine_version"]), carried_by(each))
            for each in (run, runs[0])
        )
        if found != first:
            raise InputError(
                f"is by another engine, version or TCP than {runs[0]}",
                file=run.directory,
                key=series,
                value=" ".join(filter(None, found)),
                accepted=" ".join(filter(None, first)),
            )


def _check_alike(match: Match) -> None:
    reference = match.runs[REFERENCE]
    for series, run in match.runs.items():
        for key in RunSpec.model_fields:
            if key in _NEVER_COMPARED or key in _MAY_DIFFER[series]:
                continue
            if getattr(run.spec, key) != getattr(reference.spec, key):
                raise InputError(
                    f"is not the run that {reference} is", file=run.directory / "run.json", key=key
                )
        if series == MODEL_REPEAT and run.spec.engine != match.runs[MODEL].spec.engine:
            raise InputError(f"is no repeat of {match.runs[MODEL]}", file=run.directory, key="engine")
    _check_transports(match)


def _check_transports(match: Match) -> None:
    """InputError unless repeats and replays have the transport of what they stand beside."""
    for series, beside in ((REFERENCE_REPEAT, REFERENCE), (MODEL_REPEAT, MODEL), (REPLAY, MODEL)):
        run, other = match.runs.get(series), match.runs[beside]
        if run is not None and run.spec.transport != other.spec.transport:
            raise InputError(
                f"has another transport than {other}",
                file=run.directory,
                key="transport",
                value=carried_by(run),
                accepted=carried_by(other),
            )
