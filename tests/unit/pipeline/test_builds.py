"""Which builds of tor runs wait for, and what their keys are of."""

from __future__ import annotations

import pytest

from tests.stand_ins import tor_script
from torsweep.config.experiment import load_experiment
from torsweep.errors import InputError
from torsweep.pipeline.builds import Builds
from torsweep.tor import build


@pytest.fixture(autouse=True)
def programs(tmp_path):
    """Three programs, of which two are the same, and no key remembered."""
    for name, content in {"a": "one", "b": "another", "c": "one"}.items():
        (tmp_path / name).write_text(tor_script(content))
        (tmp_path / name).chmod(0o755)
    build.planned_key.cache_clear()
    yield tmp_path
    build.planned_key.cache_clear()


def _experiment(programs, **tors):
    named = {name: {"program": str(programs / file)} for name, file in tors.items()}
    named["half"] = {"mix": {"stock": 0.5, "new": 0.5}}
    grid = {"tors": named, "knobs.tor": list(dict.fromkeys(["stock", *tors])), "baseline.tor": "stock"}
    return load_experiment("refill_sweep", grid)


def _keys(builds, experiment, level):
    return builds.keys(experiment, experiment.variant(f"tor={level}"))


def test_a_run_waits_for_the_builds_of_its_variant_alone(programs):
    experiment, builds = _experiment(programs, stock="a", new="b"), Builds(None)
    assert list(_keys(builds, experiment, "new")) == ["new"]
    assert list(_keys(builds, experiment, "half")) == ["stock", "new"]
    assert _keys(builds, experiment, "half")["new"] == _keys(builds, experiment, "new")["new"]
    assert len(set(_keys(builds, experiment, "half").values())) == 2


def test_the_users_source_is_that_of_stock(programs):
    experiment = _experiment(programs, stock="a", new="b")
    (programs / "tor.tar").touch()
    usual, given = Builds(None), Builds(str(programs / "tor.tar"))
    assert _keys(given, experiment, "stock") != _keys(usual, experiment, "stock")
    assert _keys(given, experiment, "new") == _keys(usual, experiment, "new")


def test_a_key_is_found_among_all_experiments_as_on_a_node_of_a_cluster(programs):
    experiment = _experiment(programs, stock="a", new="b")
    broken = _experiment(programs, stock="a", new="nowhere")
    (key,) = _keys(Builds(None), experiment, "new").values()
    assert Builds(None).source_of(key, iter([broken, experiment])).program == programs / "b"
    with pytest.raises(InputError, match="is the key of no tor of an experiment"):
        Builds(None).source_of("0" * 12, [experiment])


def test_a_source_that_cannot_be_read_is_named_by_its_tor(programs):
    experiment = _experiment(programs, stock="a", new="nowhere")
    with pytest.raises(InputError, match=r"^tors\.new: .*nowhere: no such file"):
        Builds(None).require_playable(experiment, experiment.plan())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("#!/bin/sh\necho hello\n", "does not run here as tor; its answer to --version is: hello"),
        ("", "does not start"),
    ],
)
def test_a_program_that_is_no_tor_is_refused_before_anything_runs(programs, monkeypatch, content, said):
    monkeypatch.chdir(programs)
    (programs / "b").write_text(content)
    experiment = _experiment(programs, stock="a", new="b")
    with pytest.raises(InputError, match=rf"^tors\.new: .*/b: {said}"):
        Builds(None).require_playable(experiment, experiment.plan())


def test_two_tors_of_a_plan_with_one_content_are_refused(programs, monkeypatch):
    monkeypatch.chdir(programs)
    experiment = _experiment(programs, stock="a", new="b", copy="c")
    with pytest.raises(InputError, match=r"tors\.copy: has the same content as stock; accepted: each conte"):
        Builds(None).require_playable(experiment, experiment.plan())
    different = _experiment(programs, stock="a", new="b")
    Builds(None).require_playable(different, different.plan())


def test_a_mix_of_the_tor_around_it_alone_is_refused(programs, monkeypatch):
    """Its runs would be those of that tor, and the tables would be refused when all had been made."""
    monkeypatch.chdir(programs)
    tors = {"new": {"program": str(programs / "a")}, "all_new": {"mix": {"new": 1.0}}}
    grid = {"tors": tors, "knobs.tor": ["new", "all_new"], "baseline.tor": "new"}
    experiment = load_experiment("refill_sweep", grid)
    with pytest.raises(InputError, match=r"^tors\.all_new: runs new on every host"):
        Builds(None).require_playable(experiment, experiment.plan())


def test_two_sources_that_came_to_one_build_are_refused(programs, monkeypatch):
    monkeypatch.chdir(programs)
    experiment, builds = _experiment(programs, stock="a", new="b"), Builds(None)
    (programs / "results/tools/tor").mkdir(parents=True)
    for key in _keys(builds, experiment, "half").values():
        (programs / f"results/tools/tor/built-{key}").write_text("build of tor: 0.4.9.3-abc\n")
    with pytest.raises(InputError, match=r"tors\.new: has the same content as stock"):
        builds.require_playable(experiment, experiment.plan())


def test_an_option_that_a_tor_does_not_know_is_refused_when_that_can_be_asked(programs, monkeypatch):
    monkeypatch.chdir(programs)
    experiment = _experiment(programs, stock="a", new="b")
    bundles = {"good": {"torrc": {"CacheDNS": 0}}, "bad": {"torrc": {"CacheDNSS": 0}}}
    changes = {"options": bundles, "knobs.options": ["good", "bad"], "baseline.options": "good"}
    changes |= {"tors": experiment.model_dump(mode="json", exclude_unset=True)["tors"]}
    wrong = load_experiment("refill_sweep", changes)
    with pytest.raises(InputError) as refusal:
        Builds(None).require_playable(wrong, wrong.plan())
    said = "options.bad.torrc: CacheDNSS 0: tor refuses it: Unknown option 'CacheDNSS' (did you mean"
    assert str(refusal.value) == f"{said} 'CacheDNS'?)"
    right = load_experiment("refill_sweep", changes | {"knobs.options": ["default", "good"]})
    Builds(None).require_playable(right, right.plan())


def _plain(programs, **changes):
    """An experiment with a tor of its own, without the series."""
    (programs / "tor.tar").touch()
    tors = {"plain": {"source": str(programs / "tor.tar"), "series": "none"}}
    grid = {"tors": tors, "knobs.tor": ["stock", "plain"], "baseline.tor": "stock", "sensitivities": {}}
    return load_experiment("refill_sweep", {"era": "today", **grid, **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"era": "2012"}, "refill_mode: cannot be set: tor plain has no TokenBucketRefillMode, got"),
        ({}, "circuit_policy: cannot be set: tor plain has no CircuitPolicy, got 'roundrobin'; accepted"),
    ],
)
def test_a_tor_without_the_series_is_asked_for_none_of_its_knobs(programs, monkeypatch, changes, said):
    experiment = _plain(programs, **changes)
    monkeypatch.chdir(programs)
    with pytest.raises(InputError) as refusal:
        Builds(None).require_playable(experiment, experiment.plan())
    assert str(refusal.value).startswith(said)


def test_a_tor_without_the_series_plays_what_tor_does_by_itself(programs, monkeypatch):
    grid = {"knobs.circuit_policy": ["ewma"], "knobs.refill_interval": ["100ms", "10ms"], "claims": []}
    experiment = _plain(programs, **grid, figures=["ttfb_cdf"])
    monkeypatch.chdir(programs)
    Builds(None).require_playable(experiment, experiment.plan())
    traced = _plain(programs, **grid, figures=["ttfb_cdf"], tracing={"hosts": ["relay1"]})
    with pytest.raises(InputError, match="tracing: cannot be done: tor plain has no CellTraceFile"):
        Builds(None).require_playable(traced, traced.plan())
