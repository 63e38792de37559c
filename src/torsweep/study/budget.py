"""How many networks a comparison takes, by the time that it may last, or by the change that it is to show.

In: ``--within '1 h'`` or ``--shows '5 %'``, and the plan that a number of networks and a measured time come
to. Out: the :class:`~torsweep.study.document.Setup` with both: in that time those that show the smallest
change; for that change those that take the shortest time. Measured times are those of which it is known how
far two runs differ by chance; where the user states one, that alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from torsweep.config.replicates import MOST_REPLICATES
from torsweep.errors import InputError
from torsweep.stats.comparison import NextStep
from torsweep.stats.inference.planning import size_text
from torsweep.study.document import Setup
from torsweep.study.play import Play
from torsweep.study.workload import MOST_PROMISED, SIDES, Workload
from torsweep.units import NANOSECONDS_PER, SECOND_NS, parse_quantity, rounded_duration

NETWORKS, WITHIN, SHOWS = "--networks", "--within", "--shows"
_PERCENT = re.compile(r"\s*([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*%\s*")
_NUMBERS = range(2, MOST_REPLICATES + 1)
"""Networks that have an interval."""


@dataclass(frozen=True)
class Goal:
    """What the user says in place of a number of networks: ``text`` of the ``option``, and its ``amount``,
    in seconds or as a relative difference."""

    option: str
    text: str
    amount: float

    def refused(self, problem: str, accepted: str) -> InputError:
        """The error that names it."""
        return InputError(problem, key=self.option, value=self.text, accepted=accepted)


def read_goal(networks: str | None, within: str | None, shows: str | None) -> Goal | None:
    """What ``--within`` or ``--shows`` asks for; None without either. InputError where it is no such amount,
    or where two options say how many networks."""
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
    """``setup`` with the number of networks, and unless it is ``stated`` the measured time, that ``goal``
    comes to. A study that this command began goes on as it was planned.

    Raises InputError where no plan is as short, none shows as little, or nothing is known beforehand.
    """
    plans = list(_plans(setup, stated, play_of))
    for each, plan in plans:
        standing = plan.play.study.planned_networks
        if standing is not None:
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
    """A plan for each measured time that may be chosen, that of ``setup`` first.

    How many networks they have is still open: no earlier look had more than the most there may be.
    """
    setup = setup.model_copy(update={"networks": MOST_REPLICATES})
    first = Workload(play_of(setup))
    yield setup, first
    for measured_s in [] if stated else first.known_times_s:
        if measured_s * SECOND_NS != setup.measured:
            other = setup.model_copy(update={"measured": measured_s * SECOND_NS})
            yield other, Workload(play_of(other))


def _number(goal: Goal, plan: Workload) -> int | None:
    """How many networks ``goal`` comes to; None: it cannot be reached."""
    if goal.option == WITHIN:
        fitting = bisect_right(_NUMBERS, goal.amount, key=plan.seconds)
        return _NUMBERS[fitting - 1] if fitting else None
    at = bisect_left(_NUMBERS, True, key=lambda many: _size(plan, many) <= goal.amount)
    return _NUMBERS[at] if at < len(_NUMBERS) else None


def _size(plan: Workload, networks: int) -> float:
    return plan.smallest_shown(networks) or float("inf")


def next_line(plan: Workload, step: NextStep) -> str:
    """What more networks would take, beside those that have run, and show."""
    seconds = plan.seconds(step.networks, SIDES * len(plan.experiment.seeds))
    return step.text(f"about {rounded_duration(seconds)}")


def better_spent(plan: Workload, networks: int) -> str:
    """Another measured time that shows a clearly smaller change in as much time; empty if none is known."""
    size, seconds = plan.smallest_shown(networks), plan.seconds(networks)
    found = [(size * CLEARLY, 0, 0)] if size is not None else []
    for measured_s in plan.known_times_s if found else []:
        study = plan.play.study
        document = {**study.document, "measured": f"{measured_s} s", "precision": {}}
        other = Workload(replace(plan.play, study=replace(study, document=document)))
        number = _number(Goal(WITHIN, "", seconds), other)
        if number is not None:
            found.append((_size(other, number), number, measured_s))
    best, number, measured_s = min(found, default=(0.0, 0, 0))
    if not number or size is None:
        return ""
    instead = f"{number} networks measured for {rounded_duration(measured_s)} would show"
    otherwise = f"show {size_text(size)}" if size <= MOST_PROMISED else "promise nothing"
    return f"{instead} {size_text(best)} in the time in which {networks} {otherwise}"


CLEARLY = 0.9
"""Below this part of a change, one that is shown is clearly smaller."""


def _out_of_reach(goal: Goal, plans: list[Workload]) -> InputError:
    if goal.option == WITHIN:
        least = min(plan.seconds(_NUMBERS[0]) for plan in plans)
        # Rounded up: what the line accepts is accepted.
        text = rounded_duration(60 * (least // 60 + 1))
        return goal.refused("is too short", f"{text} or more, for {_NUMBERS[0]} networks")
    size = min(_size(plan, MOST_REPLICATES) for plan in plans)
    return goal.refused("is too small", f"more than {size_text(size)}, by {MOST_REPLICATES} networks")
