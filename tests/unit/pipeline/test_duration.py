"""How long runs take, as it was measured: the sizes that everybody asks for come out as they did."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from torsweep.config.network import load_network_config
from torsweep.pipeline.duration import Slots, run_seconds


@pytest.mark.parametrize(
    ("engine", "network", "run_s", "least", "most"),
    [
        # bench/results/speed.json: 5 to 9 s.
        ("cellsim", "paper", 480, 5, 9),
        # docs/shadow.md: 660 simulated seconds took 2,634 to 3,600 CPU s; 480 of a quarter's 383 to 577.
        ("shadow", "paper", 480, 2634, 3600),
        ("shadow-no-rtt", "quarter", 300, 383, 650),
        # Real time, and the start before it.
        ("emulation", "quarter", 300, 340, 420),
    ],
)
def test_a_run_takes_what_it_was_measured_to_take(engine, network, run_s, least, most):
    assert least <= run_seconds(engine, load_network_config(network), run_s) <= most


def test_runs_in_real_time_do_not_share_a_machine():
    here = Slots(32)
    assert here.runs_at_once("emulation") == 1
    assert here.runs_at_once("cellsim") == here.runs_at_once("shadow-no-rtt") == 32
    assert Slots(32, on_cluster=True).runs_at_once("emulation") == 32


def test_slots_are_cores_here_and_jobs_on_a_cluster():
    class Elsewhere(SimpleNamespace):
        @property
        def cores(self):
            raise AssertionError("Snakemake raises an error where there are only jobs")

    assert Slots.of(SimpleNamespace(local_exec=True, cores=8)) == Slots(8)
    assert Slots.of(Elsewhere(local_exec=False, nodes=100)) == Slots(100, on_cluster=True)
    assert Slots(100, on_cluster=True).text.startswith("in up to 100 jobs at once")
