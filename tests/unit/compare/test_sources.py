"""What a source's name means, which of them have runs, and which runs do not belong together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.synthetic import finish_run
from tests.unit.compare.conftest import EXPERIMENT, FAST, SLOW, VARIANTS, MakeRun
from torsweep.compare.sources import (
    REPEATS,
    Source,
    finished_sources,
    parse_sources,
    read_sources,
    usual_network,
)
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.engines.run_spec import read_run
from torsweep.errors import InputError


@pytest.mark.parametrize(
    "text", ["cellsim", "emulation", "cellsim+tcp=linux_6_18", "cellsim+link_queue=codel"]
)
def test_a_name_is_read_back(text: str) -> None:
    assert Source.parse(text).label == text


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("chutney", "is no engine, got 'chutney'"),
        ("cellsim+tcp=bbr", "is no level of this knob, got 'bbr'"),
        ("cellsim+scheduler=vanilla", "does not tell sources apart, got 'scheduler'"),
        ("emulation+tcp=linux", "has a transport of its own"),
        ("cellsim+replay=cellsim", "chooses no circuits to replay"),
        ("cellsim+replay=nothing", "is no engine, got 'nothing'"),
    ],
)
def test_a_name_that_can_be_none_is_refused(text: str, refused: str) -> None:
    with pytest.raises(InputError, match=re.escape(refused)):
        Source.parse(text)


def test_two_different_sources_are_compared() -> None:
    assert [one.label for one in parse_sources("emulation, cellsim")] == ["emulation", "cellsim"]
    for text in ("cellsim", "cellsim,cellsim"):
        with pytest.raises(InputError, match="two or more are compared"):
            parse_sources(text)


def test_repeats_and_replays_have_trees_of_their_own(experiment: Experiment) -> None:
    key = (experiment.plan().baseline, 4)
    shadow, replay = Source.parse("shadow"), Source.parse("cellsim+replay=shadow")
    folder = "refill_sweep/{}/2012/ci/4/refill_interval=100ms+circuit_policy=ewma"
    assert str(shadow.folder(experiment, "ci", key)) == f"results/runs/{folder.format('shadow')}"
    assert str(shadow.folder(experiment, "ci", key, REPEATS)).startswith(
        "results/repeats/refill_sweep/shadow"
    )
    assert str(replay.folder(experiment, "ci", key)) == f"results/replays/shadow/{folder.format('cellsim')}"
    other = Source.parse("cellsim+tcp=linux_6_18")
    assert str(other.folder(experiment, "ci", key)).endswith("circuit_policy=ewma+tcp=linux_6_18")


@pytest.mark.usefixtures("four")
def test_sources_with_runs_are_found_real_tor_first(experiment: Experiment) -> None:
    found = finished_sources(experiment, experiment.plan())
    assert [one.label for one in found] == ["emulation", "shadow", "cellsim", "cellsim+tcp=linux_6_18"]
    assert [usual_network(one, experiment, experiment.plan()) for one in found] == [
        "quarter",
        "ci",
        "ci",
        "ci",
    ]
    on_ci = finished_sources(experiment, experiment.plan(), "ci")
    assert [one.label for one in on_ci] == ["shadow", "cellsim", "cellsim+tcp=linux_6_18"]
    read = read_sources(found, experiment, experiment.plan())
    assert [(len(one.runs), len(one.repeats), one.seeds) for one in read] == [
        (2, 0, (7,)),
        (6, 1, (1, 2, 3)),
        (18, 0, (1, 2, 3)),
        (18, 0, (1, 2, 3)),
    ]
    (some,) = {one.seeds for one in read_sources(on_ci, experiment, experiment.plan(), "ci", (2, 3))}
    assert some == (2, 3)


def test_fewer_than_two_sources_are_refused(make_run: MakeRun, experiment: Experiment) -> None:
    make_run("emulation", FAST, 1)
    with pytest.raises(
        InputError, match="fewer than two sources have finished runs of the plan main, got 'emul"
    ):
        finished_sources(experiment, experiment.plan())
    with pytest.raises(InputError, match="no run of the plan main is finished, got 'shadow'"):
        read_sources(parse_sources("emulation,shadow"), experiment, experiment.plan())


def test_a_plan_that_turns_the_transport_is_refused(experiment: Experiment) -> None:
    with pytest.raises(InputError, match="emulation_tcp turns tcp itself"):
        read_sources((), experiment, experiment.plan("emulation_tcp"))


@pytest.mark.parametrize(
    ("second", "key"),
    [
        ({"version": "2.0"}, "engine_version"),
        ({"engine": "shadow"}, "engine"),
        ({"duration_ns": 10**12}, "duration_ns"),
        ({"paths": {"web1": (("relay1", "relay2", "relay3"),)}}, "paths"),
        ({"network_sha256": "0" * 64}, "network_sha256"),
        ({"era": "today"}, "era"),
    ],
)
def test_runs_that_differ_in_something_else_are_refused(
    make_run: MakeRun, experiment: Experiment, second: dict[str, object], key: str
) -> None:
    make_run("shadow", SLOW, 1)
    make_run("emulation", SLOW, 1)
    other = make_run("emulation", FAST, 1, **second)
    refused = rf"{re.escape(str(other.name))}: {key}: cannot be compared with .*; or remove the folder"
    with pytest.raises(InputError, match=refused):
        read_sources(parse_sources("shadow,emulation"), experiment, experiment.plan())


def test_another_traffic_is_refused(make_run: MakeRun, experiment: Experiment) -> None:
    from torsweep.engines.run_spec import read_run

    traffic = dict(read_run(make_run("shadow", SLOW, 1)).traffic)
    traffic["web"] = traffic["web"].model_copy(update={"response_bytes": 5})
    make_run("cellsim", SLOW, 1, traffic=traffic)
    with pytest.raises(InputError, match=r"traffic\.web: cannot be compared"):
        read_sources(parse_sources("shadow,cellsim"), experiment, experiment.plan())


def test_a_damaged_run_is_refused_by_name(make_run: MakeRun, experiment: Experiment) -> None:
    make_run("shadow", SLOW, 1)
    damaged = make_run("cellsim", SLOW, 1)
    (damaged / "streams.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=re.escape(f"{damaged.relative_to(damaged.parents[7])}")):
        read_sources(parse_sources("shadow,cellsim"), experiment, experiment.plan())


def test_an_unfinished_run_is_left_out(make_run: MakeRun, experiment: Experiment) -> None:
    for variant in VARIANTS[:2]:
        for source in ("shadow", "cellsim"):
            last = make_run(source, variant, 1)
    (last / "provenance.json").unlink()
    read = read_sources(parse_sources("shadow,cellsim"), experiment, experiment.plan())
    assert [len(one.runs) for one in read] == [2, 1]


def _at(run: Path, level: str, engine: str, version: str) -> None:
    """The run as one at this level of the knob tor."""
    new = run.rename(run.with_name(f"{run.name}+tor={level}"))
    spec = read_run(new)
    spec.model_copy(update={"variant": {**spec.variant, "tor": level}}).write(new)
    finish_run(new, engine=engine, engine_version=f"3.3.0, tor {version}")


def test_levels_of_tor_are_builds_and_each_level_is_one_build(make_run: MakeRun) -> None:
    grid = {"tors": {"new": {"git": "x"}}, "knobs.tor": ["stock", "new"], "baseline.tor": "stock"}
    experiment = load_experiment(EXPERIMENT, {"network": "ci", **grid})
    for engine in ("shadow", "emulation"):
        for level in ("stock", "new"):
            _at(make_run(engine, SLOW, 1), level, engine, level)
    read_sources(parse_sources("shadow,emulation"), experiment, experiment.plan())
    _at(make_run("shadow", FAST, 1), "new", "shadow", "another")
    with pytest.raises(
        InputError, match=r"engine_version: cannot be compared with .*, got '3\.3\.0, tor ano"
    ):
        read_sources(parse_sources("shadow,emulation"), experiment, experiment.plan())
