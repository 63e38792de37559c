"""Eras: the settings of tor around the knobs.

In: the name of an era and the levels of a variant. Out: the complete :class:`TorSettings` of a run. Every
knob of tor has a level in every era, so that no run depends on a default. ``2012`` is tor 0.2.2 and 0.2.3, as
the reports of 2010 to 2012 measured it; ``2019`` is tor 0.3.4 and 0.3.5 with their defaults; ``today`` is
tor 0.4.9 with the parameters of a dated consensus (:mod:`torsweep.config.era_consensus`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from torsweep.config.era_consensus import era_consensus
from torsweep.config.knobs import KNOBS, find_knob
from torsweep.config.tor_settings import TorSettings
from torsweep.errors import InputError

EraName = Literal["2012", "2019", "today"]

ERAS: tuple[EraName, ...] = get_args(EraName)

_COMMON = {
    "cell_queue_high_cells": 256,
    "cell_queue_low_cells": 10,
    "circuit_lifetime_ns": 600_000_000_000,
}


def usual_levels(era: str) -> dict[str, str]:
    """The level of each knob that has one where nobody turns it, in ``era``."""
    usual = {knob.name: knob.usual_in(era) for knob in KNOBS.values()}
    consensus = era_consensus(era)
    stated = consensus.levels if consensus else {}
    return {name: level for name, level in (usual | stated).items() if level is not None}


def tor_settings(era: str, levels: Mapping[str, str]) -> TorSettings:
    """The settings of ``era`` with ``levels`` (knob → level) turned; knobs of other things are passed over.

    Raises InputError when the era or a knob is unknown, a level is no level, or a knob has no effect beside
    the levels of others.
    """
    if era not in ERAS:
        raise InputError("no such era", key="era", value=era, accepted=", ".join(ERAS))
    turned = {name for name in levels if find_knob(name).of_tor}
    in_effect = {**usual_levels(era), **levels}
    section: dict[str, Any] = dict(_COMMON)
    for knob in KNOBS.values():
        if not knob.of_tor:
            continue
        against = next((one for one, level in knob.under.items() if in_effect[one] != level), None)
        if against is None:
            for dotted, value in knob.read(in_effect[knob.name]).items():
                _set(section, dotted, value)
        elif knob.name in turned and not knob.passed_over:
            raise InputError(
                f"has no effect under this {against}",
                key=knob.name,
                value=in_effect[against],
                accepted=f"{against}={knob.under[against]}",
            )
    consensus = era_consensus(era)
    section["consensus"] = consensus.others if consensus else {}
    return TorSettings.model_validate(section)


def _set(section: dict[str, Any], dotted: str, value: object) -> None:
    *parents, last = dotted.split(".")
    for parent in parents:
        section = section.setdefault(parent, {})
    section[last] = value
