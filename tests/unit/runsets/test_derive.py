"""A repeat is the same run with another seed; a replay is cellsim on the circuits that tor chose."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from tests.several_sources import SLOW, MakeRun
from tests.synthetic import record_tables
from torsweep.engines.run_spec import RunSpec, read_run
from torsweep.engines.table_schema import CIRCUITS, STREAMS
from torsweep.errors import InputError
from torsweep.runsets.derive import derive, repeat_seed, repeated, replayed
from torsweep.seeds import MOST_SEED

FIRST, SECOND = ("relay1", "relay2", "relay3"), ("relay4", "relay2", "relay1")
OVER_AUTHORITY = ("relay1", "authority1", "relay3")


@pytest.fixture
def original(make_run: MakeRun) -> Path:
    directory = make_run("shadow", SLOW, 1)
    network = directory / read_run(directory).network
    network.mkdir(parents=True, exist_ok=True)
    relays = [{"name": f"relay{number}"} for number in range(1, 5)]
    (network / "network.json").write_text(json.dumps({"relays": relays}))
    return directory


def _differing(one: RunSpec, other: RunSpec) -> set[str]:
    return {key for key in RunSpec.model_fields if getattr(one, key) != getattr(other, key)}


@dataclass(frozen=True)
class _Circuit:
    """A circuit of web1, first used at ``used_s``, and when its downloads began and how long they took.

    The warm-up of the run is over at 20 s.
    """

    path: tuple[str, ...] | None
    used_s: float | None
    downloads_s: Sequence[tuple[float, float]] = ()


def _leave(original: Path, *circuits: _Circuit) -> None:
    """The tables of a run with these circuits, numbered from 1."""
    streams = pl.read_parquet(original / "streams.parquet").head(1)
    downloads = [
        streams.with_columns(
            client=pl.lit("web1"),
            circuit=pl.lit(number, pl.Int64),
            start_us=pl.lit(int(start * 1e6), pl.Int64),
            observed_us=pl.lit(int(lasts * 1e6), pl.Int64),
        )
        for number, circuit in enumerate(circuits, 1)
        for start, lasts in circuit.downloads_s
    ]
    pl.concat([streams.clear(), *downloads]).select(list(STREAMS.polars)).write_parquet(
        original / "streams.parquet"
    )
    rows = [
        {
            "client": "web1",
            "circuit": number,
            "first_use_us": None if circuit.used_s is None else int(circuit.used_s * 1e6),
            "path": circuit.path and ",".join(circuit.path),
            "streams": len(circuit.downloads_s),
        }
        for number, circuit in enumerate(circuits, 1)
    ]
    pl.DataFrame(rows, schema=CIRCUITS.polars).write_parquet(original / "circuits.parquet")
    record_tables(original)


def test_a_repeat_differs_in_its_seed_alone(original: Path, tmp_path: Path) -> None:
    out = tmp_path / "a" / "b" / "repeat"
    run = derive(original, out, replay=False)
    assert _differing(run, read_run(original)) == {"seed", "network"}
    assert run.seed == repeat_seed(1) != 1
    assert (out / run.network / "network.json").samefile(
        original / read_run(original).network / "network.json"
    )
    assert read_run(out) == run


def test_a_repeat_of_the_largest_seed_is_a_seed() -> None:
    assert 0 <= repeat_seed(MOST_SEED) <= MOST_SEED


def test_a_replay_differs_in_engine_paths_and_transport_alone(original: Path, tmp_path: Path) -> None:
    _leave(original, _Circuit(FIRST, 21, [(21, 1)]), _Circuit(SECOND, 23, [(23, 1)]))
    run = replayed(original, tmp_path / "replay")
    assert _differing(run, read_run(original)) == {"engine", "paths", "network", "transport"}
    assert run.engine == "cellsim"
    assert run.paths == {"web1": (FIRST, SECOND)}


def test_circuits_stand_in_the_order_of_first_use(original: Path, tmp_path: Path) -> None:
    _leave(original, _Circuit(FIRST, 23, [(23, 1)]), _Circuit(SECOND, 3, [(3, 1), (40, 1)]))
    assert replayed(original, tmp_path).paths == {"web1": (SECOND, FIRST)}


@pytest.mark.parametrize(
    ("download_s", "measured"),
    [((5, 14.9), False), ((5, 15.1), True), ((19, 200), True), ((20, 0), True), ((100, 1), True)],
)
def test_a_circuit_counts_that_was_in_use_in_the_measured_time(
    original: Path, tmp_path: Path, download_s: tuple[float, float], measured: bool
) -> None:
    _leave(original, _Circuit(FIRST, 5, [download_s]), _Circuit(SECOND, 30, [(30, 1)]))
    assert replayed(original, tmp_path).paths == {"web1": (FIRST, SECOND) if measured else (SECOND,)}


def test_a_client_without_any_in_the_measured_time_replays_all_it_used(
    original: Path, tmp_path: Path
) -> None:
    _leave(original, _Circuit(FIRST, 1, [(1, 2)]), _Circuit(SECOND, 4), _Circuit(FIRST, None))
    assert replayed(original, tmp_path).paths == {"web1": (FIRST, SECOND)}


def test_circuits_over_an_authority_or_unseen_relays_are_not_replayed(original: Path, tmp_path: Path) -> None:
    unusable = (_Circuit(OVER_AUTHORITY, 21, [(21, 1)]), _Circuit(None, 22, [(22, 1)]))
    _leave(original, *unusable, _Circuit(SECOND, 23, [(23, 1)]))
    assert replayed(original, tmp_path).paths == {"web1": (SECOND,)}
    _leave(original, *unusable, _Circuit(FIRST, 2, [(2, 1)]))
    assert replayed(original, tmp_path).paths == {"web1": (FIRST,)}


def test_a_run_of_the_model_is_not_replayed(make_run: MakeRun, tmp_path: Path) -> None:
    original = make_run("cellsim", SLOW, 1)
    _leave(original, _Circuit(FIRST, 21, [(21, 1)]))
    with pytest.raises(InputError, match="engine: chooses no circuits to replay, got"):
        replayed(original, tmp_path / "replay")


def test_an_original_without_circuits_is_refused(original: Path, tmp_path: Path) -> None:
    (original / CIRCUITS.file).unlink()
    record_tables(original)
    with pytest.raises(InputError, match=r"circuits\.parquet: no such table"):
        replayed(original, tmp_path)
    _leave(original, _Circuit(OVER_AUTHORITY, 21, [(21, 1)]))
    with pytest.raises(InputError, match="names no circuit of any client"):
        replayed(original, tmp_path)


def test_an_original_that_is_not_complete_is_not_replayed(original: Path, tmp_path: Path) -> None:
    _leave(original, _Circuit(FIRST, 21, [(21, 1)]))
    (original / "provenance.json").unlink()
    with pytest.raises(InputError, match="the run is not finished"):
        replayed(original, tmp_path)


def test_a_repeat_needs_only_what_was_asked_for(original: Path, tmp_path: Path) -> None:
    (original / "provenance.json").unlink()
    assert repeated(original, tmp_path).seed == repeat_seed(1)
