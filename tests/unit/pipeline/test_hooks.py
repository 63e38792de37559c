"""What a pipeline says when it starts and when it ends."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from torsweep.config.network import load_network_config
from torsweep.engines.registry import find_engine
from torsweep.engines.selection import Choice
from torsweep.errors import OutputError
from torsweep.pipeline import hooks
from torsweep.pipeline.costs import Slots
from torsweep.pipeline.hooks import announcement
from torsweep.pipeline.paths import Paths
from torsweep.storage.folders import hold_folder


@pytest.mark.parametrize(
    ("engine", "network", "run_s", "least", "most"),
    [
        # bench/results/speed.json: 5 to 9 s, and the preparation.
        ("cellsim", "paper", 480, 6, 11),
        # The model takes 1 s, and its preparation longer.
        ("cellsim", "small_live", 180, 1.5, 4),
        # docs/tables/shadow_cost.csv: 660 s took 2,634 to 3,600 CPU s; a quarter's 480, 383 to 577.
        ("shadow", "paper", 480, 2634, 3600),
        ("shadow-no-rtt", "quarter", 300, 383, 577),
        # docs/tables/shadow_cost.csv: 216 to 337 CPU s.
        ("shadow", "small_live", 150, 216, 337),
        # Twice its bytes.
        ("shadow", "eight_relays", 150, 432, 674),
        # Real time, and the start before it.
        ("emulation", "quarter", 300, 325, 340),
    ],
)
def test_a_run_takes_what_it_was_measured_to_take(engine, network, run_s, least, most):
    assert least <= find_engine(engine).run_seconds(load_network_config(network), run_s) <= most


def test_slow_relays_cost_shadow_less():
    slow = load_network_config("small_live").model_copy(update={"relays": 100, "relay_rate_divisor": 60})
    assert 240 <= find_engine("shadow").run_seconds(slow, 90) <= 330


def test_runs_in_real_time_share_a_machine_by_its_cores():
    here, quarter = Slots(32), load_network_config("quarter")
    cores = find_engine("emulation").demand(quarter).cores
    assert here.runs_at_once("emulation", quarter) == 32 // cores < 32
    assert Slots(1).runs_at_once("emulation", quarter) == 1
    assert here.runs_at_once("cellsim", quarter) == here.runs_at_once("shadow-no-rtt", quarter) == 32
    assert Slots(32, on_cluster=True).runs_at_once("emulation", quarter) == 32


def test_slots_are_cores_here_and_jobs_on_a_cluster():
    class Elsewhere(SimpleNamespace):
        @property
        def cores(self):
            raise AssertionError("Snakemake raises an error where there are only jobs")

    assert Slots.of(SimpleNamespace(local_exec=True, cores=8)) == Slots(8)
    assert Slots.of(Elsewhere(local_exec=False, nodes=100)) == Slots(100, on_cluster=True)
    assert Slots(100, on_cluster=True).text.startswith("in up to 100 jobs at once")


def test_a_plan_in_real_time_has_the_machine_before_its_first_step(monkeypatch):
    monkeypatch.setattr(hooks, "hold_folder", lambda folder: None)
    monkeypatch.setattr(hooks, "_announce", lambda paths, workflow: (240.0, True))
    told: list[float] = []
    monkeypatch.setattr(hooks, "hold_machine", lambda say: told.append)
    hooks.start(Paths, SimpleNamespace(cores=2, local_exec=True, scheduler=None))
    assert told == [240.0]
    # Runs on a cluster are on other machines.
    hooks.start(Paths, SimpleNamespace(nodes=2, local_exec=False, scheduler=None))
    assert told == [240.0]


def test_a_folder_that_cannot_be_used_is_refused(tmp_path):
    results = tmp_path / "results"
    results.write_text("")
    with pytest.raises(OutputError, match="results: is no folder"):
        hold_folder(results)


def test_the_last_lines_say_why_a_pipeline_ended(tmp_path, monkeypatch, capsys):
    said = []
    monkeypatch.setattr(hooks, "RESULTS", tmp_path)
    monkeypatch.setattr(hooks.atexit, "register", lambda function, *lines, **_: said.append(*lines))
    logs = {"a": "a: prepared\ncellsim: no room\n", "b": "cellsim: no room\n", "c": "killed"}
    for name, text in logs.items():
        (tmp_path / name).write_text(text)
    failed = [SimpleNamespace(rule=SimpleNamespace(name="run"), log=[str(tmp_path / name)]) for name in "abc"]
    hooks.fail(SimpleNamespace(scheduler=SimpleNamespace(failed=failed)))
    hooks.fail(SimpleNamespace(scheduler=SimpleNamespace(failed=[])))
    assert said == [
        f"cellsim: no room\ntorsweep: run failed; its log: {tmp_path / 'c'}",
        "torsweep: interrupted; the same command continues from what is complete",
    ]


SHORT = {"warm_up": "3 min", "measured": "5 min"}


def test_what_is_about_to_run_is_said_with_how_long_it_takes(monkeypatch):
    paths = Paths({"network": "paper", **SHORT})
    monkeypatch.setattr(hooks, "choose_engine", lambda *asked: Choice("shadow", "preferred, and installed"))
    said, _ = announcement(paths, "refill_sweep", "shadow", "2012", ["paper"] * 48, Slots(2))
    assert said == (
        "refill_sweep: 48 runs in shadow (preferred, and installed), era 2012: about 20 h 48 min to"
        " 41 h 36 min on 2 cores, 13.3 GB of memory, 5.9 GB of disk"
    )


def test_a_run_in_real_time_takes_its_duration_at_most():
    paths = Paths({"engine": "emulation", "network": "quarter", **SHORT})
    said, _ = announcement(paths, "refill_sweep", "emulation", "2012", ["quarter"] * 6, Slots(32))
    assert ": at most 8 min on 32 cores, 4.8 GB of memory, 706 MB of disk" in said


def test_finished_runs_say_how_long_the_others_take_as_they_do_in_the_plan_of_a_comparison(monkeypatch):
    asked = []
    monkeypatch.setattr(hooks, "timed_here", lambda *of: asked.append(of[:2]) or [9.0, 10.0, 11.0])
    paths = Paths({"engine": "shadow", "network": "paper", **SHORT})
    said, _ = announcement(paths, "refill_sweep", "shadow", "2012", ["paper"] * 48, Slots(2))
    # Ten times the 20 h 48 min that are reckoned.
    assert ": about 208 h 0 min on 2 cores, as 3 finished runs took, 13.3 GB" in said
    assert asked == [("shadow", "paper")]


def test_a_file_of_the_public_network_is_read_at_the_start(tmp_path, capsys):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(SystemExit):
        Paths({"network": "ci", "live_tor": str(tmp_path / "x.json")}).pages(["refill_sweep"])
    assert "x.json: is no measurement of the public network" in capsys.readouterr().err
