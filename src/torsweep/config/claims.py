"""Claims: the findings of a report, each as a test that can contradict it.

In: the ``claims`` of an experiment.yaml. Out: one model for each kind of test, told apart by ``test``.
:mod:`torsweep.stats.claims` says what each test computes; the models here hold what a test needs to know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from torsweep.config.clients import ClientKind
from torsweep.config.reading import RefusedValue, Section
from torsweep.config.tracing import HostName, Stage
from torsweep.config.ways import Group
from torsweep.units import Between, DurationNs

Metric = Literal["ttfb", "ttlb"]
"""Time to the first, or to the last, payload byte of a download."""


def level_text(value: object) -> object:
    """A level as text without spaces: ``10 ms`` is ``10ms``, the number 0.5 is ``0.5``."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(int(value)) if value == int(value) else str(value)
    return value.replace(" ", "") if isinstance(value, str) else value


NO_DIFFERENCE_BELOW = 0.05
"""A difference smaller than this part of the median counts as none, unless the claim says otherwise."""

Margin = Annotated[float, Field(strict=True, ge=0.001, le=0.5, allow_inf_nan=False)]
"""The least difference that counts: a part of the median, or for a depth a depth."""

Level = Annotated[str, BeforeValidator(level_text)]

CellTime = Annotated[DurationNs, Between("1 us", "10 s")]
"""A time in a relay."""


def _within(value: object) -> object:
    """``circuit_policy`` stands for each of its levels, ``{circuit_policy: round_robin}`` for one."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        knob, level = next(iter(value.items()))
        level = level_text(level)
        if isinstance(knob, str) and isinstance(level, str):
            return {knob: level}
    raise ValueError("expected the name of a knob, or one {knob: level}")


_WITHIN_SCHEMA = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "minProperties": 1,
            "maxProperties": 1,
        },
        {"type": "null"},
    ],
    "default": None,
}

Within = Annotated[Any, BeforeValidator(_within), WithJsonSchema(_WITHIN_SCHEMA)]
"""Knob name, ``{knob: level}`` or None (the baseline's levels of the other knobs)."""


class _Claim(Section):
    """What every claim has: a name, the sentence it stands for, the knob it is about."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
    text: Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S")]
    knob: str
    within: Within = None

    def levels_named(self) -> Sequence[tuple[str, str]]:
        """Knob and level of each level that the claim names, which the experiment must have."""
        within = self.within.items() if isinstance(self.within, Mapping) else ()
        return [*within, *((self.knob, level) for level in self.own_levels())]

    def own_levels(self) -> Sequence[str]:
        """The levels of the claim's own knob that it names."""
        level = getattr(self, "level", None)
        return [level] if isinstance(level, str) else []

    def knobs_named(self) -> Sequence[str]:
        """The knobs that the claim names."""
        within = [self.within] if isinstance(self.within, str) else list(self.within or ())
        return [self.knob, *within]

    @model_validator(mode="after")
    def _within_another_knob(self) -> Self:
        if self.knob in self.knobs_named()[1:]:
            raise RefusedValue("is the knob the claim is about", key="within", value=self.knob)
        return self


class _ClientClaim(_Claim):
    """A claim about what clients of one kind see."""

    kind: ClientKind


class BestLevel(_ClientClaim):
    """``level`` has the lowest median of every one of ``metrics``, against each other level."""

    test: Literal["best_level"]
    level: Level
    margin: Margin | None = None
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1)]


class WorstLevel(_ClientClaim):
    """``level`` has the highest median of every one of ``metrics``, against each other level."""

    test: Literal["worst_level"]
    level: Level
    margin: Margin | None = None
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1)]


class StairStep(_ClientClaim):
    """The CDF of ``metric`` rises in stairs as wide as the interval at ``level``, and only there."""

    test: Literal["stair_step"]
    level: Level
    metric: Metric
    margin: Margin | None = None


class Equivalence(_ClientClaim):
    """The medians of ``metric`` differ from the baseline's by less than ``margin`` of it, at every level."""

    test: Literal["equivalence"]
    metric: Metric
    margin: Margin


class Starvation(_ClientClaim):
    """At ``level``, about ``count`` streams are served while the others of their client starve.

    The served ones are those opened ``first`` or ``last``; with ``all`` no stream starves, and there is no
    ``count``. About means one more or one less.
    """

    test: Literal["starvation"]
    level: Level
    served: Literal["first", "last", "all"]
    count: Annotated[int, Field(strict=True, ge=1, le=50)] | None = None

    @model_validator(mode="after")
    def _counted_unless_all(self) -> Self:
        if (self.count is None) != (self.served == "all"):
            accepted = "nothing where all are served, else how many are"
            raise RefusedValue("does not fit served", key="count", value=self.count, accepted=accepted)
        return self


class StarvationThreshold(_ClientClaim):
    """Streams starve at levels up to ``starved_up_to``, and none does from ``none_from`` on.

    Levels count in the order in which the plan lists them.
    """

    test: Literal["starvation_threshold"]
    starved_up_to: Level
    none_from: Level

    def own_levels(self) -> Sequence[str]:
        """Both ends of the threshold."""
        return [self.starved_up_to, self.none_from]


class _CellClaim(_Claim):
    """A claim about the time that RELAY cells stay in the relay ``host``, at ``level``."""

    level: Level
    host: HostName

    @property
    def kind(self) -> None:
        """None: a claim about cells is about those of all clients."""
        return None


class CellMedian(_CellClaim):
    """The median cell stays for ``at_least`` or ``at_most`` so long, nanoseconds."""

    test: Literal["cell_median"]
    at_least: CellTime | None = None
    at_most: CellTime | None = None

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise RefusedValue("needs one of two bounds", key="at_least", accepted="at_least or at_most")
        return self


class QuietSlower(_CellClaim):
    """The median cell of quiet circuits stays for longer than that of busy ones."""

    test: Literal["quiet_slower"]
    margin: Margin | None = None


class CellStage(_CellClaim):
    """A share of ``least`` or more of the time of all cells is spent in ``stage``."""

    test: Literal["cell_stage"]
    stage: Stage
    least: Annotated[float, Field(strict=True, ge=0.01, le=0.99, allow_inf_nan=False)]


class LatencyShare(_ClientClaim):
    """At ``level``, a share of ``least`` or more of the time to the byte of ``metric`` is waited for
    ``group``."""

    test: Literal["latency_share"]
    level: Level
    metric: Metric
    group: Group
    least: Annotated[float, Field(strict=True, ge=0.01, le=0.99, allow_inf_nan=False)]


PROGRESS_TESTS = ("starvation", "starvation_threshold")
"""The tests that need to know how much each stream had at each time; an experiment has to ask for progress
for them."""

Claim = Annotated[
    BestLevel
    | WorstLevel
    | StairStep
    | Equivalence
    | Starvation
    | StarvationThreshold
    | CellMedian
    | QuietSlower
    | CellStage
    | LatencyShare,
    Field(discriminator="test"),
]
