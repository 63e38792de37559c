"""What a feature of tor is that a run has on or off: all that the rest of torsweep asks about it.

A feature has a module of its own and an entry in :mod:`torsweep.config.features`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torsweep.config.knob import Knob

if TYPE_CHECKING:
    import polars as pl

AUTO = "auto"
"""The level of a feature's knob that leaves the choice to the network."""


@dataclass(frozen=True)
class TorFeature:
    """A feature of tor that :attr:`knob` turns on and off; a model of tor has none.

    ``title`` names it in sentences. ``names`` is a pattern: how its options and consensus parameters begin.
    ``needs`` are the settings without which it has no effect: section of ``tor`` in run.json to kind.
    ``own_circuits``: it builds or joins circuits, so clients cannot take given paths. At ``auto`` it is on in
    networks of ``least_relays`` and more; ``when_small`` says what fewer relays do to it. ``counted`` makes
    of a circuits table what provenance says of the feature; empty where it was not used. Clients' tors are
    asked for ``circuit_events`` too; ``circuit_keywords`` maps columns of the circuits table to the keywords
    of circuit events that fill them.
    """

    knob: Knob
    title: str
    names: str
    needs: Mapping[str, str]
    own_circuits: bool
    least_relays: int
    when_small: str
    counted: Callable[[pl.DataFrame], dict[str, int]]
    circuit_events: tuple[str, ...] = ()
    circuit_keywords: Mapping[str, str] = field(default_factory=dict)

    def is_on(self, tor: Any) -> bool:
        """Whether ``tor``, the settings of a run, have it on."""
        return bool(getattr(tor, self.knob.sets))

    def without(self, tor: Any) -> str:
        """The section of ``tor`` that it needs to be of another kind; empty where it can work."""
        return next((name for name, kind in self.needs.items() if getattr(tor, name).kind != kind), "")
