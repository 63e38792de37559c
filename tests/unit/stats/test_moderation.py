"""A spread that is known from earlier studies: limma's numbers, and simulated comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from torsweep.stats.inference.intervals import Interval, t_interval
from torsweep.stats.inference.moderation import (
    BETWEEN_STUDIES,
    EFFECT_VARIES,
    Prior,
    freedom,
    inverse_trigamma,
    moderated,
    moderated_interval,
)

STUDIES, CHANCE, KNOWN = 4_000, 0.02, 8


def test_trigamma_is_inverted_as_limma_does() -> None:
    """The file limma-Tests.Rout.save of limma 3.36."""
    found = [inverse_trigamma(value) for value in (1e-6, 5, 1e6)]
    assert found == pytest.approx([1.000000e06, 4.961687e-01, 1.000001e-03], rel=1e-6)


def test_variances_are_moderated_as_limma_does() -> None:
    """s2.post of eBayes(fit2) there: five genes with 6, 6, 6, 6 and 4 degrees of freedom, of a prior of
    8134.845."""
    sigmas = (1.3425032, 0.4647155, 1.1993444, 0.9428569, 0.9421509)
    found = [
        moderated(sigma**2, own, 1.021387, 8134.845)
        for sigma, own in zip(sigmas, (6, 6, 6, 6, 4), strict=True)
    ]
    assert found == pytest.approx([1.021963, 1.020793, 1.021694, 1.021289, 1.021321], abs=2e-6)


def test_few_networks_of_an_earlier_study_are_worth_few_degrees_of_freedom() -> None:
    assert freedom(4) == pytest.approx(3.10, abs=0.01) and freedom(8) == pytest.approx(4.66, abs=0.01)
    spread = BETWEEN_STUDIES + special.polygamma(1, 4)
    assert special.polygamma(1, freedom(8) / 2) == pytest.approx(spread)


def studies(
    networks: int, change: float, varies: float, tail: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Values of networks, and the spread that an earlier study of eight had; spreads differ between
    studies."""
    draw = np.random.default_rng(67)

    def chance(many: int) -> np.ndarray:
        shape = (STUDIES, many)
        if tail is None:
            return draw.normal(size=shape)
        return draw.standard_t(tail, shape) / np.sqrt(tail / (tail - 2))

    own = CHANCE * np.exp(draw.normal(0, BETWEEN_STUDIES**0.5 / 2, STUDIES))
    values = own[:, np.newaxis] * chance(networks) + change * (
        1 + varies * draw.normal(size=(STUDIES, networks))
    )
    return values, CHANCE * np.sqrt(np.mean(chance(KNOWN) ** 2, axis=1))


def moderated_intervals(values: np.ndarray, known: np.ndarray) -> list[Interval]:
    pairs = zip(values, known, strict=True)
    return [moderated_interval(each, 0.99, Prior(sd, KNOWN)) for each, sd in pairs]


@pytest.mark.parametrize("tail", [None, 5.0], ids=["normal", "heavy tails"])
@pytest.mark.parametrize("networks", [3, 4, 8])
def test_what_is_alike_is_shown_no_more_often_than_stated(networks: int, tail: float | None) -> None:
    intervals = moderated_intervals(*studies(networks, 0, 0, tail))
    assert np.mean([each.low > 0 or each.high < 0 for each in intervals]) <= 0.0145


@pytest.mark.parametrize(("networks", "before", "after"), [(3, 0.15, 0.6), (4, 0.35, 0.75)])
def test_few_networks_show_what_they_could_not(networks: int, before: float, after: float) -> None:
    values, known = studies(networks, 0.05, EFFECT_VARIES)
    plain = [t_interval(each, 0.99).low > 0 for each in values]
    shown = [each.low > 0 for each in moderated_intervals(values, known)]
    assert np.mean(plain) < before and np.mean(shown) > after


@pytest.mark.parametrize("varies", [0.3, 0.6])
@pytest.mark.parametrize("networks", [3, 8])
def test_intervals_cover_a_change_that_varies(networks: int, varies: float) -> None:
    intervals = moderated_intervals(*studies(networks, 0.1, varies))
    assert np.mean([each.low <= 0.1 <= each.high for each in intervals]) > 0.965


def test_nothing_known_leaves_the_t_interval() -> None:
    values = [0.1, 0.2, 0.4]
    assert moderated_interval(values, 0.95, None) == t_interval(values, 0.95)
    assert not moderated_interval([0.1], 0.95, Prior(0.1, 8)).known
