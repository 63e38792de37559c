"""Ranges of knobs: the settings of a plan, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.plan import KnobRange, number_in
from torsweep.errors import InputError

REFILL = {"from": "10 ms", "to": "1 s", "scale": "log"}
USUAL = {"refill_interval": "100 ms"}


def experiment(tmp_path: Path, knobs: dict[str, Any], baseline: dict[str, Any], **keys: Any) -> Experiment:
    document = yaml.safe_load(Path("experiments/refill_waits/experiment.yaml").read_text(encoding="utf-8"))
    file = tmp_path / "ranged" / "experiment.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        yaml.safe_dump({**document, "knobs": knobs, "baseline": baseline, **keys}, sort_keys=False),
        encoding="utf-8",
    )
    return load_experiment(file)


def test_points_of_a_design_and_the_baseline_are_variants_with_ordinary_levels(tmp_path):
    knobs = {
        "refill_interval": REFILL,
        "load": {"from": 0.5, "to": 1.5},
        "circuit_policy": ["ewma", "round_robin"],
    }
    baseline = {**USUAL, "load": 0.75, "circuit_policy": "ewma"}
    asked = {"engines": ["cellsim"], "points": 16}
    plan = experiment(tmp_path, knobs, baseline, **asked).plan()
    settings = {tuple(variant.levels)[:2] for variant in plan.variants}
    assert plan == experiment(tmp_path, knobs, baseline, **asked).plan(), "the same points every time"
    assert len(settings) == 17 and len(plan.variants) == 2 * 17
    assert (("refill_interval", "100ms"), ("load", "0.75")) in settings
    # Each half of a logarithmic range has half of the points.
    below = sum(number_in(dict(setting)["refill_interval"])[1] < 100 for setting in settings)
    assert 7 <= below <= 8
    assert list(plan.knobs["load"]) == sorted(plan.knobs["load"], key=float)
    for knob, ends in {"refill_interval": ("10ms", "1s"), "load": ("0.5", "1.5")}.items():
        assert (plan.knobs[knob][0], plan.knobs[knob][-1]) == ends, "the ends, as they are written"


def test_one_number_is_written_in_one_way(tmp_path):
    seconds = KnobRange.model_validate({"from": "10 s", "to": "60 s"})
    assert [seconds.level_at(place) for place in (-1, 0, 0.5, 0.51, 1)] == [
        "10s", "35s", "47500ms", "47750ms", "60s"
    ]  # fmt: skip
    usual = {"refill_interval": "1000 ms"}
    plan = experiment(tmp_path, {"refill_interval": REFILL}, usual, points=2).plan()
    assert plan.knobs["refill_interval"] == ("10ms", "1000ms"), "the baseline's words"


def test_places_and_levels_of_a_range_are_each_other():
    kist = KnobRange.model_validate({"from": "kist_2ms", "to": "kist_100ms", "scale": "log"})
    assert [kist.level_at(place) for place in (-1, 0, 1)] == ["kist_2ms", "kist_14ms", "kist_100ms"]
    assert np.isclose(kist.place_of("kist_50ms"), 2 * np.log(25) / np.log(50) - 1)
    share = KnobRange.model_validate({"from": "0", "to": "0.02"})
    assert [share.level_at(place) for place in (-1, 0.1, 1)] == ["0", "0.011", "0.02"]


def test_a_consensus_parameter_is_a_knob_whose_level_is_voted_for(tmp_path):
    knob = "consensus.cc_vegas_alpha_exit"
    knobs, keys = {knob: {"from": 31, "to": 248}}, {"engines": ["emulation"], "points": 2}
    ranged = experiment(tmp_path, knobs, {knob: 186}, **keys)
    voted = [ranged.bundle(variant).consensus for variant in ranged.plan().variants]
    assert voted == [{"cc_vegas_alpha_exit": value} for value in (31, 186, 248)]


@pytest.mark.parametrize(
    ("knobs", "baseline", "keys", "said"),
    [
        (
            {"circuit_policy": {"from": "ewma", "to": "round_robin"}},
            {"circuit_policy": "ewma"},
            {},
            "is a name",
        ),
        ({"refill_interval": {"from": "1 s", "to": "10 ms"}}, USUAL, {}, "range is empty"),
        ({"loss": {"from": 0, "to": 0.02, "scale": "log"}}, {"loss": 0}, {}, "no logarithm"),
        ({"refill_interval": {**REFILL, "to": "20 s"}}, USUAL, {}, "no level of this knob"),
        ({"refill_interval": REFILL}, {"refill_interval": "5 ms"}, {}, "outside the knob's range"),
        ({"refill_interval": REFILL}, {}, {}, "missing key"),
        ({"refill_interval": REFILL}, USUAL, {"points": 1}, "greater than or equal to 2"),
        ({"refill_interval": REFILL}, USUAL, {"points": 257}, "less than or equal to 256"),
        ({"refill_interval": REFILL}, USUAL, {"points": None}, "missing key"),
        ({"refill_interval": ["10ms"]}, {"refill_interval": "10ms"}, {}, "no knob has a range"),
        ({"refill_interval": {**REFILL, "step": 4}}, USUAL, {}, "unknown key"),
        ({"consensus.a/b": [1]}, {"consensus.a/b": 1}, {"points": None}, "unknown knob"),
    ],
)
def test_what_is_no_range_is_refused_in_a_line(tmp_path, knobs, baseline, keys, said):
    with pytest.raises(InputError, match=said) as refused:
        experiment(tmp_path, knobs, baseline, **{"points": 12, **keys})
    assert "\n" not in str(refused.value) and "experiment.yaml" in str(refused.value)
