"""Claims: the findings of a report, each as a test that can contradict it.

In: the ``claims`` of an experiment. Out: one class for each kind of test, which the key ``test`` names, with
the keys of its claim and how it is judged. This module has what the tests share.
"""

from __future__ import annotations

import functools
import operator
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BeforeValidator, Field, create_model, model_validator

from torsweep.config.experiment import Experiment
from torsweep.config.reading import RefusedValue, Section, validate
from torsweep.config.tracing import Record
from torsweep.config.traffic import KINDS, MeasuredKind
from torsweep.config.variant import level_text
from torsweep.errors import InputError
from torsweep.stats.listing import by_name, values

ClockStart = Literal["opening", "request"]
"""What starts the clock of a time: the opening of the SOCKS connection, or the request on the open stream."""

Estimand = Literal["median", "p90", "p95", "client_median", "mean", "paired"]
"""A number of a run's times: the median or a high quantile over downloads; the median over clients, of which
those that got nothing are slower than all others; the mean over all downloads. ``paired`` compares two
runs: how much longer the same download takes."""

Share = Annotated[float, Field(strict=True, ge=0.01, le=0.99, allow_inf_nan=False)]
"""A part of a whole."""


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


Within = Annotated[str | dict[str, str] | None, BeforeValidator(_within)]
"""Knob name, ``{knob: level}`` or None (the baseline's levels of the other knobs)."""


class Claim(Section):
    """The keys of every claim. A test is a subclass with its own keys, a key ``test`` whose type is the
    Literal of its name, and :meth:`questions`.

    ``rests_on`` is what the runs have to record for it. With ``any_shows``, it holds when any of its
    comparisons shows it, each of which is read for itself; otherwise it takes all of them.
    """

    rests_on: ClassVar[Record | None] = None
    any_shows: ClassVar[bool] = False

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
    """The claim's name in results."""
    text: Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S")]
    """The finding, as a sentence."""
    knob: str
    """The knob that it is about."""
    within: Within = None
    """Another knob: the claim is judged at each of its levels; ``{knob: level}``: at that level only. By
    default, the other knobs have the baseline's level."""

    @abstractmethod
    def questions(self, analysis: Any, levels: Mapping[str, str]) -> list[Any]:
        """The :class:`~torsweep.stats.claims.judging.Question` s of the claim, with all knobs but its own at
        ``levels``; ``analysis`` is a :class:`~torsweep.stats.statistic.Analysis`."""

    def aspects(self) -> Iterator[tuple[str, Self]]:
        """The claims that are judged each for itself, one for each clock and statistic, and their words."""
        yield "", self

    def check(self, experiment: Experiment) -> None:
        """Raise RefusedValue, with a key of the claim, where the experiment cannot answer it."""

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

    @classmethod
    def test_name(cls) -> str:
        """The value of ``test``."""
        return str(get_args(cls.model_fields["test"].annotation)[0])

    @model_validator(mode="after")
    def _within_another_knob(self) -> Self:
        if self.knob in self.knobs_named()[1:]:
            raise RefusedValue("is the knob the claim is about", key="within", value=self.knob)
        return self


class ClientClaim(Claim):
    """A claim about what clients of one kind see."""

    kind: MeasuredKind
    """Whose downloads."""

    def check(self, experiment: Experiment) -> None:
        """The experiment has to have such clients."""
        if self.kind in KINDS and self.kind not in experiment.traffic.kinds:
            problem, accepted = "the experiment has no such clients", ", ".join(experiment.traffic.kinds)
            raise RefusedValue(problem, key="kind", value=self.kind, accepted=accepted)


def claims_model(experiment: str = "") -> type[Section]:
    """The key ``claims`` of ``experiment``, with the keys of every test."""
    tests = claim_tests(experiment).values()
    any_claim: Any = Annotated[functools.reduce(operator.or_, tests), Field(discriminator="test")]
    return create_model("Claims", __base__=Section, claims=(tuple[any_claim, ...], ()))


def claims_of(experiment: Experiment) -> tuple[Claim, ...]:
    """The claims of ``experiment``; InputError, which names the key, for one that it cannot answer."""
    file = experiment.file
    model = claims_model(experiment.name)
    of_experiment: tuple[Claim, ...] = validate(model, {"claims": experiment.claims}, file).claims  # type: ignore[attr-defined]
    names = [claim.id for claim in of_experiment]
    for position, claim in enumerate(of_experiment):
        key = f"claims[{position}]"
        if claim.id in names[:position]:
            raise InputError("this id is given twice", file=file, key=f"{key}.id", value=claim.id)
        try:
            experiment.require_record(claim.rests_on, "test")
            claim.check(experiment)
        except RefusedValue as no:
            where = f"{key}.{no.key}"
            raise InputError(no.problem, file=file, key=where, value=no.value, accepted=no.accepted) from None
        _require_levels(claim, experiment, key)
    return of_experiment


def _require_levels(claim: Claim, experiment: Experiment, key: str) -> None:
    knobs = experiment.plan().knobs
    for knob in claim.knobs_named():
        if knob not in knobs:
            problem, accepted = "names none of the experiment's knobs", ", ".join(knobs)
            raise InputError(problem, file=experiment.file, key=key, value=knob, accepted=accepted)
    for knob, level in claim.levels_named():
        if level not in knobs[knob]:
            problem, accepted = f"names no level of {knob}", ", ".join(knobs[knob])
            raise InputError(problem, file=experiment.file, key=key, value=level, accepted=accepted)


def claim_tests(experiment: str = "") -> Mapping[str, type[Claim]]:
    """The class of each test by its name, in order: the shared ones, and those of ``experiment``."""
    classes = (value for value in values(experiment) if isinstance(value, type) and issubclass(value, Claim))
    tests = (each for each in classes if "test" in each.model_fields)
    return by_name("tests", ((each.test_name(), each) for each in tests))
