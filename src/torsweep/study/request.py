"""What ``torsweep compare`` is asked, and the study that answers it.

In: the options of the command line, as texts. Out: :class:`Prepared`: the study, how it is run, and what the
user should know before it is.

``--within '1 h'`` takes the number of networks and the measured time that show the smallest change in it,
``--shows '5 %'`` those that take the shortest time for this change. Measured times are those of which it is
known how far two runs differ by chance; where the user states one, that alone.
"""

from __future__ import annotations

import os
import re
import shlex
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from torsweep.config.network import load_network_config
from torsweep.config.replicates import MOST_REPLICATES
from torsweep.engines.selection import AUTO_ENGINE
from torsweep.errors import InputError
from torsweep.stats.comparison import NextStep
from torsweep.stats.inference.planning import size_text
from torsweep.study.document import Setup, make_study
from torsweep.study.effect import choose_pairing, require_effect
from torsweep.study.play import Play
from torsweep.study.tor_change import Sides, read_change
from torsweep.study.venue import choose_venue, read_tornets
from torsweep.study.workload import SIDES, Workload
from torsweep.units import NANOSECONDS_PER, SECOND_NS, parse_quantity, rounded_duration

NETWORKS, WITHIN, SHOWS = "--networks", "--within", "--shows"
_PERCENT = re.compile(r"\s*([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*%\s*")
_NUMBERS = range(2, MOST_REPLICATES + 1)
"""Networks that have an interval."""


@dataclass(frozen=True)
class Goal:
    """What stands in place of a number of networks: the ``option``, its ``text``, and the ``amount`` in
    seconds or as a relative difference."""

    option: str
    text: str
    amount: float

    def refused(self, problem: str, accepted: str) -> InputError:
        """The error that names it."""
        return InputError(problem, key=self.option, value=self.text, accepted=accepted)


def read_goal(networks: str | None, within: str | None, shows: str | None) -> Goal | None:
    """What ``--within`` or ``--shows`` asks for; None without either. InputError where two options say how
    many networks, or an amount is none."""
    options = {NETWORKS: networks, WITHIN: within, SHOWS: shows}
    stated = {name: text for name, text in options.items() if text is not None}
    if len(stated) > 1:
        problem, (_, name) = "says how many networks beside another option", list(stated)[:2]
        raise InputError(problem, key=name, value=stated[name], accepted=f"one of {', '.join(options)}")
    if within is not None:
        try:
            return Goal(WITHIN, within, parse_quantity(within, NANOSECONDS_PER, "1 h") / SECOND_NS)
        except ValueError:
            raise InputError("is no time", key=WITHIN, value=within, accepted="such as '1 h'") from None
    if shows is not None:
        match = _PERCENT.fullmatch(shows)
        if match is None or not 0 < float(match[1]) <= 100:
            raise InputError("is no change", key=SHOWS, value=shows, accepted="such as 5%, up to 100%")
        return Goal(SHOWS, shows, float(match[1]) / 100)
    return None


def fitted(goal: Goal, setup: Setup, stated: bool, play_of: Callable[[Setup], Play]) -> Setup:
    """``setup`` with the number of networks that ``goal`` needs, and with its measured time unless that is
    ``stated``. A study that this command began keeps its plan.

    Raises InputError where no plan is as short, none shows as little, or nothing is known beforehand.
    """
    plans = list(_plans(setup, stated, play_of))
    for each, plan in plans:
        if (standing := plan.play.study.planned_networks) is not None:
            return each.model_copy(update={"networks": standing})
    sharp = [(each, plan) for each, plan in plans if plan.smallest_shown(2) is not None]
    if not sharp:
        network = plans[0][1].play.study.document["network"]
        problem = f"cannot be planned: no A/A runs on {network} yet"
        raise goal.refused(problem, f"{NETWORKS} N")
    numbers = [(each, plan, _number(goal, plan)) for each, plan in sharp]
    possible = [(each, plan, number) for each, plan, number in numbers if number is not None]
    if not possible:
        raise _out_of_reach(goal, [plan for _, plan in sharp])

    def cost(choice: tuple[Setup, Workload, int]) -> float:
        _, plan, number = choice
        return _size(plan, number) if goal.option == WITHIN else plan.seconds(number)

    best, _, number = min(possible, key=cost)
    return best.model_copy(update={"networks": number})


def _plans(setup: Setup, stated: bool, play_of: Callable[[Setup], Play]) -> Iterator[tuple[Setup, Workload]]:
    """A plan for each measured time that may be chosen, that of ``setup`` first, with the most networks that
    there may be: no earlier look had more."""
    setup = setup.model_copy(update={"networks": MOST_REPLICATES})
    first = Workload(play_of(setup))
    yield setup, first
    for measured_s in [] if stated else first.known_times_s:
        if measured_s * SECOND_NS != setup.measured:
            other = setup.model_copy(update={"measured": measured_s * SECOND_NS})
            yield other, Workload(play_of(other))


def _number(goal: Goal, plan: Workload) -> int | None:
    """The number of networks that ``goal`` takes; None if it cannot be reached."""
    if goal.option == WITHIN:
        fitting = bisect_right(_NUMBERS, goal.amount, key=plan.seconds)
        return _NUMBERS[fitting - 1] if fitting else None
    at = bisect_left(_NUMBERS, True, key=lambda many: _size(plan, many) <= goal.amount)
    return _NUMBERS[at] if at < len(_NUMBERS) else None


def _size(plan: Workload, networks: int) -> float:
    return plan.smallest_shown(networks) or float("inf")


def next_line(plan: Workload, step: NextStep) -> str:
    """A line on the cost of more networks and on what they would show."""
    seconds = plan.seconds(step.networks, SIDES * len(plan.experiment.seeds))
    return step.text(f"about {rounded_duration(seconds)}")


def _out_of_reach(goal: Goal, plans: list[Workload]) -> InputError:
    if goal.option == WITHIN:
        least = min(plan.seconds(_NUMBERS[0]) for plan in plans)
        # Rounded up: what the line accepts is accepted.
        text = rounded_duration(60 * (least // 60 + 1))
        return goal.refused("is too short", f"{text} or more, for {_NUMBERS[0]} networks")
    size = min(_size(plan, MOST_REPLICATES) for plan in plans)
    return goal.refused("is too small", f"more than {size_text(size)}, by {MOST_REPLICATES} networks")


@dataclass(frozen=True)
class Request:
    """A comparison of two tors, as the command line states it; None for what is left out.

    ``network`` is a configuration, or folders of tornettools.
    """

    sides: Sides
    engine: str = AUTO_ENGINE
    network: tuple[str, ...] = ()
    networks: str | None = None
    within: str | None = None
    shows: str | None = None
    era: str | None = None
    warm_up: str | None = None
    measured: str | None = None
    pairing: str | None = None
    first_seed: str | None = None
    about: str | None = None
    study: Path | None = None
    cores: int | None = None

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Self:
        """The request in the ``options`` of the command line, by the names of its parameters."""
        lists = {name: tuple(options[name] or ()) for name in ("torrc", "consensus", "network")}
        stated = {**options, **lists}
        sides = Sides(**{field.name: stated[field.name] for field in fields(Sides)})
        return cls(sides, **{field.name: stated[field.name] for field in fields(cls)[1:]})

    @property
    def setup(self) -> dict[str, str | None]:
        """The options that both sides of the comparison have in common."""
        names = ("networks", "era", "warm_up", "measured", "pairing", "first_seed", "about")
        return {name: getattr(self, name) for name in names}

    @property
    def command(self) -> str:
        """The command line that asks for the same."""
        engine = None if self.engine == AUTO_ENGINE else self.engine
        asked = {"engine": engine, **self.setup, "within": self.within, "shows": self.shows}
        stated = [("network", name) for name in self.network]
        stated += [(name, text) for name, text in asked.items() if text is not None]
        words = [word for name, text in stated for word in (f"--{name.replace('_', '-')}", text)]
        return f"torsweep compare {shlex.join([*self.sides.words, *words])}"

    def prepare(self) -> Prepared:
        """The study that answers it; nothing is written. InputError where an option or a source is wrong."""
        goal = read_goal(self.networks, self.within, self.shows)
        tornets = read_tornets(self.network)
        change = read_change(self.sides)
        pairing, notes = self.pairing, list(change.notes)
        if tornets is None:
            venue = choose_venue(self.engine, self.network[0] if self.network else None)
            config = load_network_config(venue.network)
            pairing, notes = choose_pairing(self.pairing, change, config.relay_count, self.era)
        else:
            venue, config = tornets.venue(self.engine), tornets.config
        setup = Setup.read(tornets, **{**self.setup, "pairing": pairing})
        notes += require_effect(change, config, tornets, setup.era)

        def play_of(chosen: Setup) -> Play:
            made = make_study(change, chosen, venue.network, self.study, self.command, tornets)
            return Play(made, venue.engine, self.cores or len(os.sched_getaffinity(0)))

        if goal is not None:
            setup = fitted(goal, setup, self.measured is not None, play_of)
        return Prepared(play_of(setup), change.title, venue.why, tuple(notes))


@dataclass(frozen=True)
class Prepared:
    """``play`` answers a request about ``about``; ``why`` says why that engine and network were chosen,
    ``notes`` what the user should know before it is run."""

    play: Play
    about: str
    why: str
    notes: tuple[str, ...]
