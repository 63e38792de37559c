"""run.json: its exact form, and that it reads back."""

from __future__ import annotations

import json

import pytest

from tests.prepared_runs import prepared_run
from torsweep.engines.run_spec import read_run, write_run
from torsweep.errors import InputError

WEB = {
    "request_bytes": 400,
    "response_bytes": 307_200,
    "think_min_ns": 1_000_000_000,
    "think_max_ns": 30_000_000_000,
    "think_step_ns": 1,
    "streams_per_circuit_isolation": False,
    "parallel_streams": 1,
    "timeout_ns": None,
    "under_way_at_start": True,
}


def test_run_json_states_everything(network, tmp_path):
    directory = tmp_path / "runs" / "a"
    run = prepared_run(network, directory, "refill_interval=10ms+circuit_policy=round_robin")
    write_run(run, directory)
    document = json.loads((directory / "run.json").read_text())
    assert document.pop("network_sha256")
    assert document == {
        "format": "torsweep-run",
        "format_version": 1,
        "experiment": "refill_sweep",
        "engine": "cellsim",
        "era": "2012",
        "variant": {"refill_interval": "10ms", "circuit_policy": "round_robin"},
        "network": "../../networks/tiny/7",
        "seed": 7,
        "warm_up_ns": 1_200_000_000_000,
        "duration_ns": 2_100_000_000_000,
        "client_start_window_ns": 60_000_000_000,
        "tor": {
            "refill": {
                "mode": "burst",
                "interval_ns": 10_000_000,
                "phase": "per_relay",
                "burst": "descriptor",
                "keeps_remainder": False,
            },
            "circuit_policy": {"kind": "round_robin", "quantum_cells": 32},
            "channel_scheduler": {"kind": "vanilla", "interval_ns": 2_000_000},
            "edge": {"activation_order": "random", "packaging": "even"},
            "congestion": {
                "kind": "fixed",
                "circuit_window_cells": 1000,
                "circuit_increment_cells": 100,
                "stream_window_cells": 500,
                "stream_increment_cells": 50,
            },
            "cell_queue_high_cells": 256,
            "cell_queue_low_cells": 10,
            "guards": 3,
            "circuit_lifetime_ns": 600_000_000_000,
            "nagle": True,
            "conflux": False,
            "clock_quantum_ns": 0,
        },
        "transport": {"tcp": "linux", "link_queue": {"kind": "droptail", "bytes": 75_000}},
        "traffic": {
            "web": WEB,
            "bulk": {**WEB, "response_bytes": 5_242_880, "think_min_ns": 0, "think_max_ns": 0},
        },
        "paths": None,
        "tables": {"progress": False},
        "tracing": None,
    }


@pytest.mark.parametrize("era", ["2012", "today"])
def test_a_run_reads_back_and_writes_the_same_bytes(network, tmp_path, era):
    directory = tmp_path / "run"
    run = prepared_run(network, directory, "load=1+scheduler=kist_10ms", era=era)
    write_run(run, directory)
    assert read_run(directory) == run
    assert read_run(directory).text() == (directory / "run.json").read_text()


def test_clients_start_within_the_warm_up(network, tmp_path):
    run = prepared_run(network, tmp_path / "run", warm_up="2 s", measured="10 s")
    assert (run.warm_up_ns, run.duration_ns, run.client_start_window_ns) == (2 * 10**9, 12 * 10**9, 2 * 10**9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no whole JSON file"),
        ("[]", "holds no JSON object"),
        ("{}", "is not the document expected here, got 'None None'; accepted: torsweep-run 1"),
        ('{"format": "torsweep-run", "format_version": 2}', "is not the document expected here"),
        ('{"format": "torsweep-run", "format_version": 1, "sede": 1}', "sede: unknown key (did you mean"),
    ],
)
def test_a_broken_run_json_is_named(tmp_path, text, said):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError) as refusal:
        read_run(tmp_path)
    assert str(refusal.value).startswith(f"{tmp_path / 'run.json'}: {said}")
