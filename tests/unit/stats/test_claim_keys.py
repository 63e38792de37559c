"""Claims are typed by their test, and can only be about what the experiment varies."""

from __future__ import annotations

from typing import Any

import pytest

from torsweep.config.experiment import load_experiment
from torsweep.errors import InputError
from torsweep.stats.claims import claims_of
from torsweep.stats.claims.downloads import BestLevel, Equivalence

BEST = {
    "id": "best",
    "text": "10 ms is best.",
    "test": "best_level",
    "knob": "refill_interval",
    "level": "10ms",
    "kind": "web",
    "metrics": ["ttfb", "ttlb"],
}
EQUIVALENCE = {
    "id": "same",
    "text": "It makes no difference.",
    "test": "equivalence",
    "knob": "refill_interval",
    "kind": "bulk",
    "metric": "ttfb",
    "margin": 0.05,
}


def _load(*claims: dict[str, Any]) -> Any:
    return claims_of(load_experiment("refill_sweep", {"claims": list(claims)}))


def test_each_test_is_a_model_of_its_own():
    assert [type(claim) for claim in _load(BEST, EQUIVALENCE)] == [BestLevel, Equivalence]


@pytest.mark.parametrize(
    ("within", "knobs"),
    [
        (None, ["refill_interval"]),
        ("circuit_policy", ["refill_interval", "circuit_policy"]),
        ({"circuit_policy": "round_robin"}, ["refill_interval", "circuit_policy"]),
    ],
)
def test_a_claim_says_within_which_levels_it_holds(within, knobs):
    (claim,) = _load({**BEST, "within": within})
    assert claim.within == within
    assert claim.knobs_named() == knobs


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        (
            [{key: BEST[key] for key in BEST if key != "test"}],
            "claims[0]: Unable to extract tag using discriminator 'test'",
        ),
        ([{key: BEST[key] for key in BEST if key != "level"}], "claims[0].best_level.level: missing key"),
        ([{**BEST, "count": 3}], "claims[0].best_level.count: unknown key"),
        ([{**BEST, "level": "11ms"}], "claims[0]: names no level of refill_interval, got '11ms'; accepted"),
        ([{**BEST, "knob": "scheduler"}], "claims[0]: names none of the experiment's knobs, got 'scheduler'"),
        (
            [{**BEST, "metrics": ["ttf"]}],
            "claims[0].best_level.metrics[0]: is not accepted (did you mean 'ttfb'?)",
        ),
        (
            [{**BEST, "within": "refill_interval"}],
            "claims[0].best_level.within: is the knob the claim is about",
        ),
        ([{**BEST, "within": "scheduler"}], "claims[0]: names none of the experiment's knobs, got"),
        ([{**BEST, "within": {"circuit_policy": "fifo"}}], "claims[0]: names no level of circuit_policy"),
        ([{**BEST, "within": 3}], "claims[0].best_level.within: is not accepted, got 3; accepted: the name"),
        ([BEST, BEST], "claims[1].id: this id is given twice, got 'best'"),
    ],
)
def test_what_is_wrong_in_a_claim_is_named(claims, said):
    with pytest.raises(InputError) as refusal:
        _load(*claims)
    assert said in str(refusal.value)
