"""Eras: the settings of tor around the knobs.

In: the name of an era and the levels of a variant. Out: the complete :class:`TorSettings` of a run. An era
gives a level to every knob of the ``tor`` section, so that no run depends on a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from torsweep.config.knobs import KNOBS, find_knob
from torsweep.config.tor_settings import TorSettings
from torsweep.errors import InputError

EraName = Literal["2012", "today"]

ERAS: Mapping[str, Mapping[str, str]] = {
    # Tor 0.2.2 and 0.2.3, as the reports of 2010 to 2012 measured it. The random start among streams
    # came in 0.2.2.32, as did the even packaging.
    "2012": {
        "refill_interval": "100ms",
        "refill_mode": "burst",
        "refill_phase": "per_relay",
        "refill_burst": "descriptor",
        "circuit_policy": "ewma",
        "ewma_half_life": "30s",
        "round_robin_quantum": "32",
        "scheduler": "vanilla",
        "activation_order": "random",
        "packaging": "even",
        "congestion": "fixed",
        "clock": "precise",
        "guards": "3",
    },
    # Tor 0.4.9 with its defaults, but for conflux (below) and for the coarse clock of the kernel that its
    # token buckets read: clocks are precise here, and clock=coarse_4ms shows what that leaves out.
    "today": {
        "refill_interval": "100ms",
        "refill_mode": "lazy",
        "refill_phase": "per_relay",
        "refill_burst": "descriptor",
        "circuit_policy": "ewma",
        "ewma_half_life": "30s",
        "round_robin_quantum": "32",
        "scheduler": "kist",
        "activation_order": "random",
        "packaging": "even",
        "congestion": "vegas",
        "clock": "precise",
        "guards": "1",
    },
}

_COMMON = {
    "cell_queue_high_cells": 256,
    "cell_queue_low_cells": 10,
    "circuit_lifetime_ns": 600_000_000_000,
    # Off in `today` too: in networks of tens of relays, two legs with disjoint relays leave clients so little
    # choice that conflux would change the result more than the knob under study.
    "conflux": False,
}


def tor_settings(era: str, levels: Mapping[str, str]) -> TorSettings:
    """The settings of ``era`` with ``levels`` (knob → level) turned; network knobs are passed over.

    A level of ``round_robin_quantum`` is not applied under EWMA, so that a grid can have both policies.
    Raises InputError when the era or a knob is unknown, a level is no level, or a level of
    ``ewma_half_life`` is asked for under round-robin.
    """
    if era not in ERAS:
        raise InputError("no such era", key="era", value=era, accepted=", ".join(get_args(EraName)))
    asked = {name: level for name, level in levels.items() if find_knob(name).target == "tor"}
    in_effect = {**ERAS[era], **asked}
    if in_effect["circuit_policy"] != "ewma":
        if "ewma_half_life" in asked:
            raise InputError(
                "has no effect under this circuit_policy",
                key="ewma_half_life",
                value=in_effect["circuit_policy"],
                accepted="circuit_policy=ewma",
            )
        del in_effect["ewma_half_life"]
    else:
        del in_effect["round_robin_quantum"]
    section: dict = dict(_COMMON)
    for name, level in in_effect.items():
        for dotted, value in KNOBS[name].read(level).items():
            _set(section, dotted, value)
    return TorSettings.model_validate(section)


def _set(section: dict, dotted: str, value: object) -> None:
    *parents, last = dotted.split(".")
    for parent in parents:
        section = section.setdefault(parent, {})
    section[last] = value
