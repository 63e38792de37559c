"""What ``torsweep compare`` is asked, and the study that answers it.

In: the options of the command line, as texts. Out: :class:`Prepared`: the study, how it is run, and what
the user should know before it is.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from torsweep.config.network import load_network_config
from torsweep.engines.selection import AUTO_ENGINE
from torsweep.study.budget import fitted, read_goal
from torsweep.study.change import Sides, read_change
from torsweep.study.document import Setup, make_study
from torsweep.study.effect import choose_pairing, require_effect
from torsweep.study.play import Play
from torsweep.study.venue import choose_venue, read_tornets


@dataclass(frozen=True)
class Request:
    """A comparison of two tors, as the command line states it; None for what is left out."""

    sides: Sides
    engine: str = AUTO_ENGINE
    network: tuple[str, ...] = ()
    """A configuration, or folders of tornettools."""
    networks: str | None = None
    within: str | None = None
    shows: str | None = None
    era: str | None = None
    warm_up: str | None = None
    measured: str | None = None
    pairing: str | None = None
    study: Path | None = None
    cores: int | None = None

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Self:
        """The request in the ``options`` of the command line, by the names of its parameters."""
        lists = {name: tuple(options[name] or ()) for name in ("torrc", "consensus", "network")}
        sides = Sides(**{field.name: {**options, **lists}[field.name] for field in fields(Sides)})
        others = {field.name: {**options, **lists}[field.name] for field in fields(cls)[1:]}
        return cls(sides, **others)

    @property
    def setup(self) -> dict[str, str | None]:
        """The options that both sides of the comparison have in common."""
        names = ("networks", "era", "warm_up", "measured", "pairing")
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
        tornets = read_tornets(list(self.network))
        change = read_change(self.sides)
        notes, pairing = list(change.notes), self.pairing
        if tornets is None:
            venue = choose_venue(self.engine, self.network[0] if self.network else None)
            config = load_network_config(venue.network)
            pairing, chosen_notes = choose_pairing(pairing, change, config.relay_count, self.era)
            notes = list(chosen_notes)
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
    """``play`` answers a request about ``about``; ``why`` says why that engine and network were chosen."""

    play: Play
    about: str
    why: str
    notes: tuple[str, ...]
    """What the user should know before it is run."""
