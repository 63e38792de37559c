"""Experiments: the plans of those here, and what is refused in a file."""

from __future__ import annotations

import shutil

import pytest
import yaml

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, load_experiment
from torsweep.config.world_knobs import USUAL_LATENCY
from torsweep.errors import InputError
from torsweep.pipeline.checks import require_answerable

FILE = EXPERIMENTS_DIRECTORY / "refill_sweep" / "experiment.yaml"


@pytest.mark.parametrize("era", ["2012", "today"])
@pytest.mark.parametrize("name", ["refill_sweep", "scheduler_choice"])
def test_every_plan_can_be_made_in_both_eras(name, era):
    experiment = load_experiment(name, {"era": era})
    for plan in experiment.plan_names:
        assert experiment.plan(plan).baseline in experiment.plan(plan).variants


def test_a_sensitivity_adds_knobs_or_replaces_their_levels():
    plan = load_experiment("refill_sweep").plan("aligned_phases")
    assert len(plan.variants) == 6
    assert plan.variants[0].key == "refill_interval=1000ms+circuit_policy=ewma+refill_phase=aligned"
    assert plan.baseline.key == "refill_interval=100ms+circuit_policy=ewma+refill_phase=aligned"
    changed = {"sensitivities": {"old": {"scheduler": ["vanilla"]}}}
    plan = load_experiment("scheduler_choice", changed).plan("old")
    assert plan.knobs["scheduler"] == ("vanilla",)
    assert list(plan.knobs) == ["scheduler", "circuit_policy"]


def test_a_plan_compares_with_the_usual_level_of_a_knob_of_its_own():
    assert dict(load_experiment("refill_sweep").plan("loads").baseline.levels)["load"] == "1"
    places = load_experiment("refill_sweep").plan("geometry")
    assert dict(places.baseline.levels)["latency"] == USUAL_LATENCY
    phases = {"sensitivities": {"phases": {"refill_phase": ["aligned", "per_relay"]}}}
    baseline = load_experiment("refill_sweep", phases).plan("phases").baseline
    assert dict(baseline.levels)["refill_phase"] == "per_relay"


def test_an_unknown_plan_lists_those_there_are():
    with pytest.raises(InputError, match=r"refill_sweep has no such plan.*accepted: main, aligned_phases"):
        load_experiment("refill_sweep").plan("aligned_phase")


def test_a_variant_is_completed_from_the_baseline_and_put_in_order():
    experiment = load_experiment("refill_sweep")
    assert experiment.variant("").key == "refill_interval=100ms+circuit_policy=ewma"
    assert (
        experiment.variant("load=0.5+circuit_policy=round_robin").key
        == "refill_interval=100ms+circuit_policy=round_robin+load=0.5"
    )


def test_levels_lose_their_spaces_and_numbers_become_texts():
    overrides = {
        "knobs.refill_interval": ["1000 ms", "100 ms", "10 ms"],
        "sensitivities.loads": {"load": [0.5, 1]},
    }
    experiment = load_experiment("refill_sweep", overrides)
    assert experiment.knobs["refill_interval"] == ("1000ms", "100ms", "10ms")
    assert experiment.sensitivities["loads"]["load"] == ("0.5", "1")


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"quetion": "x"}, "quetion: unknown key (did you mean 'question'?)"),
        ({"name": "x"}, "name: unknown key: an experiment is named by its folder"),
        ({"warm_up": 3}, "warm_up: has no unit, got 3"),
        ({"replicates": {"load": 3}}, "replicates: is not accepted"),
        ({"replicates": {"load": {"1": 3}}}, "replicates.load: the plan main does not turn this knob"),
        ({"replicates": {"circuit_policy": {"ewma": 3}}}, "replicates.circuit_policy: is no knob that makes"),
        ({"knobs.load": [1, 2], "baseline.load": 1, "replicates": {"load": {"1": 3}}}, "replicates.load.2"),
        (
            {
                "knobs.load": [1, 2],
                "baseline.load": 1,
                "sensitivities": {},
                "replicates": {"load": {"1": 3, "2": 2}},
                "claims": [
                    {
                        "id": "quieter",
                        "text": "A quiet network is quicker.",
                        "test": "best_level",
                        "knob": "load",
                        "level": "1",
                        "kind": "web",
                        "metrics": ["ttlb"],
                    }
                ],
            },
            "claims[0].knob: compares levels on the same networks, which replicates.load does not give",
        ),
        ({"engines": ["foo"]}, "engines[0]: is not accepted, got 'foo'; accepted: cellsim, emulation"),
        ({"figures": ["foo"]}, "figures[0]: is no figure, got 'foo'; accepted: clients_without"),
        ({"knobs.refill_interval": ["ten"]}, "knobs.refill_interval: is no level of this knob, got 'ten'"),
        ({"knobs.refill_interval": ["1s", "1000ms"]}, "knobs.refill_interval: means the same as the level"),
        ({"knobs.refil_intervall": ["10ms"]}, "knobs.refil_intervall: unknown knob (did you mean"),
        ({"baseline.refill_interval": "1ms"}, "baseline.refill_interval: is none of the knob's levels here"),
        ({"baseline": {"refill_interval": "10ms"}}, "baseline.circuit_policy: missing key; accepted: ewma"),
        ({"baseline.scheduler": "kist"}, "baseline.scheduler: is none of the experiment's knobs"),
        ({"sensitivities": {"main": {"load": [1]}}}, "sensitivities.main: is the name of the experiment's"),
        ({"sensitivities": {"q": {"ewma_half_life": ["3s"]}}}, "sensitivities.q: ewma_half_life: has no"),
        ({"traffic.web.think.min": "1 h"}, "traffic.web.think.min: the shortest pause is longer than the"),
        ({"first_seed": 2**31}, "first_seed: the seeds of the replicates are too large, got 2147483648; acc"),
        ({"network": "../configs/paper"}, "network: String should match pattern"),
        (
            {"shadow": {"general": {"seed": 5}}},
            "shadow.general.seed: is set by torsweep; accepted: option",
        ),
        ({"shadow": {"experimental": {"runahead": "1 ms"}}}, "shadow.experimental.runahead: is set by torsw"),
        ({"shadow": {"network": {}}}, "shadow.network: unknown key"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_accepted(tmp_path, overrides, said):
    document = yaml.safe_load(FILE.read_text())
    file = tmp_path / "refill_sweep" / "experiment.yaml"
    file.parent.mkdir()
    for dotted, value in overrides.items():
        *parents, last = dotted.split(".")
        place = document
        for parent in parents:
            place = place[parent]
        place[last] = value
    file.write_text(yaml.safe_dump(document))
    with pytest.raises(InputError) as refusal:
        require_answerable(load_experiment(file))
    message = str(refusal.value)
    assert message.startswith(f"{file}: {said}")
    assert "\n" not in message


def test_an_unknown_experiment_lists_those_there_are():
    with pytest.raises(InputError, match=r"no such experiment \(did you mean 'refill_sweep'\?\)"):
        load_experiment("refil_sweep")


def test_an_experiment_is_named_by_its_folder_or_by_a_link_to_it(tmp_path):
    shutil.copytree(FILE.parent, tmp_path / "my_sweep")
    (tmp_path / "mine").symlink_to("my_sweep")
    for path in ("my_sweep", "my_sweep/experiment.yaml", "mine"):
        assert load_experiment(tmp_path / path).name == path.split("/")[0]
