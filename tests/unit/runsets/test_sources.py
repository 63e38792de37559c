"""What a source's name means, which runs do not belong together; a repeat: the same run with another seed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.several_sources import FAST, SLOW, MakeRun, found_runs, refill_sweep
from torsweep.config.variant import Variant
from torsweep.engines.run_spec import RunSpec, read_run
from torsweep.errors import InputError
from torsweep.runsets.collect import gather_provenance
from torsweep.runsets.run import RunSource, open_runs, parse_sources, repeat_run, require_held
from torsweep.seeds import MOST_SEED, repeat_seed

BOTH = "shadow,emulation"


def test_a_name_is_read_back_and_a_variant_goes_on_with_its_levels():
    for text in ("cellsim", "emulation", "cellsim+tcp=linux_6_18", "cellsim+link_queue=codel"):
        assert RunSource.parse(text).label == text
    source = RunSource.parse("cellsim+tcp=linux_6_18")
    assert source.variant(Variant((("load", "0.5"),))).key == "load=0.5+tcp=linux_6_18"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("chutney", "is no engine, got 'chutney'"),
        ("cellsim+tcp=bbr", "is no level of this knob, got 'bbr'"),
        ("cellsim+scheduler=vanilla", "does not tell sources apart, got 'scheduler'"),
        ("emulation+tcp=linux", "has a transport of its own"),
    ],
)
def test_a_name_that_can_be_none_is_refused(text, refused):
    with pytest.raises(InputError, match=re.escape(refused)):
        RunSource.parse(text)


def test_two_different_sources_are_compared():
    assert [one.label for one in parse_sources("emulation, cellsim")] == ["emulation", "cellsim"]
    assert parse_sources("emulation_vs_cellsim") == parse_sources("emulation,cellsim")
    for text in ("cellsim", "cellsim,cellsim"):
        with pytest.raises(InputError, match="two or more are compared"):
            parse_sources(text)


def test_a_plan_that_turns_the_transport_is_refused():
    with pytest.raises(InputError, match="emulation_tcp turns tcp itself"):
        require_held(refill_sweep().plan("emulation_tcp"))


def test_a_run_has_the_source_that_its_place_names(make_run):
    make_run("shadow", SLOW, 1)
    make_run("shadow", SLOW, 1, draws=3)
    make_run("cellsim+tcp=linux_6_18", SLOW, 1)
    sources = "shadow,cellsim,cellsim+tcp=linux_6_18"
    runs = found_runs(Path(), sources)
    levels = [run.variant["source"] for run in runs]
    assert levels == ["shadow", "cellsim+tcp=linux_6_18", "shadow+repeat"]
    assert {run.seed for run in runs} == {1}
    provenance = gather_provenance(runs, "ci", "main")
    assert provenance.engine == "shadow_vs_cellsim+tcp=linux_6_18"
    assert [record.transport for record in provenance.sources][1].startswith("tcp=linux_6_18")
    with pytest.raises(InputError, match="is no run of a source"):
        open_runs([runs[0].directory], parse_sources("emulation,cellsim"))


@pytest.mark.parametrize(
    ("second", "key"),
    [
        ({"version": "2.0"}, "engine_version"),
        ({"duration_ns": 10**12}, "duration_ns"),
        ({"paths": {"web1": (("relay1", "relay2", "relay3"),)}}, "paths"),
        ({"network_sha256": "0" * 64}, "network_sha256"),
        ({"era": "today"}, "era"),
    ],
)
def test_runs_that_differ_in_something_else_are_refused(make_run, second, key):
    make_run("shadow", SLOW, 1)
    make_run("emulation", SLOW, 1)
    other = make_run("emulation", FAST, 1, **second)
    with pytest.raises(InputError, match=rf"{re.escape(str(other.name))}.*{key}|{key}.*cannot stand"):
        gather_provenance(found_runs(Path(), BOTH), "ci", "main")


def test_another_traffic_is_refused(make_run):
    traffic = dict(read_run(make_run("shadow", SLOW, 1)).traffic)
    traffic["web"] = traffic["web"].model_copy(update={"response_bytes": 5})
    make_run("emulation", SLOW, 1, traffic=traffic)
    with pytest.raises(InputError, match=r"traffic: cannot be in one table"):
        gather_provenance(found_runs(Path(), BOTH), "ci", "main")


@pytest.fixture
def original(make_run: MakeRun) -> Path:
    directory = make_run("shadow", SLOW, 1)
    network = directory / read_run(directory).network
    network.mkdir(parents=True, exist_ok=True)
    (network / "network.json").write_text("{}")
    return directory


def test_a_repeat_differs_in_its_seed_alone(original: Path, tmp_path: Path) -> None:
    out = tmp_path / "a" / "b" / "repeat"
    run, first = repeat_run(original, out), read_run(original)
    differing = {key for key in RunSpec.model_fields if getattr(run, key) != getattr(first, key)}
    assert differing == {"seed", "network"}
    assert run.seed == repeat_seed(1) != 1
    assert 0 <= repeat_seed(MOST_SEED) <= MOST_SEED
    assert (out / run.network / "network.json").samefile(original / first.network / "network.json")
    assert read_run(out) == run


def test_a_repeat_needs_only_what_was_asked_for(original: Path, tmp_path: Path) -> None:
    (original / "provenance.json").unlink()
    assert repeat_run(original, tmp_path / "repeat").seed == repeat_seed(1)
