"""Eras: the settings of tor around the knobs, and the consensus parameters of the time.

In: the name of an era and the levels of a variant; ``configs/eras/ERA.yaml``, of the study or of the
checkout. Out: the complete :class:`TorSettings` of a run; :class:`EraConsensus`. Every knob of tor has a
level in every era, so that no run depends on a default. ``2012`` is tor 0.2.2 and 0.2.3, as the reports of
2010 to 2012 measured it; ``2019`` is tor 0.3.4 and 0.3.5 with their defaults; ``today`` is tor 0.4.9 with the
parameters of a dated consensus. An era without a file has no parameters but those of its knobs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field

from torsweep.config.knobs import KNOBS, find_knob
from torsweep.config.option_bundle import Parameter
from torsweep.config.reading import Section, validate, with_keys
from torsweep.config.tor_settings import TorSettings
from torsweep.errors import InputError
from torsweep.formats.yaml_file import read_yaml
from torsweep.home import find

ERAS_DIRECTORY = Path("configs/eras")

MODEL_PARAMETERS: Mapping[str, int] = {
    "cc_cwnd_full_gap": 4,
    "cc_cwnd_full_minpct": 25,
    "cc_cwnd_inc": 1,
    "cc_cwnd_inc_rate": 31,
    "cc_cwnd_min": 124,
    "cc_sendme_inc": 31,
    "cc_sscap_exit": 600,
    "cc_vegas_alpha_exit": 186,
    "cc_vegas_beta_exit": 248,
    "cc_vegas_delta_exit": 310,
    "cc_vegas_gamma_exit": 186,
    "circwindow": 1000,
}
"""Parameters that are built into the model, with their values there (``cellsim/src/vegas.rs``)."""

_LEVELS = {
    parameter: (knob.name, level) for knob in KNOBS.values() for parameter, level in knob.stated.items()
}
"""Parameter → the knob that it is, and the level of a value."""


class EraConsensus(Section):
    """The parameters of one consensus, and where they are from."""

    valid_after: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}(:\d{2})?$")]
    """When it became valid, in UTC."""
    source: str
    """Where it is from."""
    parameters: Mapping[str, Parameter]
    """Parameter → value, all that it states."""

    @property
    def levels(self) -> dict[str, str]:
        """The levels of the knobs that the parameters are, by the knobs' names."""
        return {
            knob: level(self.parameters[name])
            for name, (knob, level) in _LEVELS.items()
            if name in self.parameters
        }

    @property
    def others(self) -> dict[str, int]:
        """The parameters that no knob is."""
        return {name: value for name, value in self.parameters.items() if name not in _LEVELS}


def era_consensus(era: str) -> EraConsensus | None:
    """The consensus of ``era``; None for an era without a file, InputError for a file that is wrong."""
    file = find(ERAS_DIRECTORY / f"{era}.yaml")
    return _read(file.absolute(), file.stat().st_mtime_ns) if file.is_file() else None


@functools.cache
def _read(file: Path, changed_ns: int) -> EraConsensus:
    return validate(EraConsensus, read_yaml(file), file)


def require_modelled(parameters: Mapping[str, int]) -> None:
    """InputError for a parameter that the model has with another value."""
    for name, value in parameters.items():
        if MODEL_PARAMETERS.get(name, value) != value:
            problem, accepted = "is not in the model", f"{MODEL_PARAMETERS[name]}; or an engine of real tor"
            raise InputError(problem, key=f"consensus parameter {name}", value=value, accepted=accepted)


EraName = Literal["2012", "2019", "today"]

ERAS: tuple[EraName, ...] = get_args(EraName)

_COMMON = {
    "cell_queue_high_cells": 256,
    "cell_queue_low_cells": 10,
    "circuit_lifetime_ns": 600_000_000_000,
}


def usual_levels(era: str) -> dict[str, str]:
    """The usual level in ``era`` of each knob that has one."""
    usual = {knob.name: knob.usual_in(era) for knob in KNOBS.values()}
    consensus = era_consensus(era)
    stated = consensus.levels if consensus else {}
    return {name: level for name, level in (usual | stated).items() if level is not None}


def tor_settings(era: str, levels: Mapping[str, str]) -> TorSettings:
    """The settings of ``era`` with ``levels`` (knob → level) turned; knobs of other things are passed over.
    InputError for an unknown era, knob or level, and for a knob without effect beside other levels."""
    if era not in ERAS:
        raise InputError("no such era", key="era", value=era, accepted=", ".join(ERAS))
    turned = {name for name in levels if find_knob(name).of_tor}
    in_effect = {**usual_levels(era), **levels}
    settings: dict[str, object] = dict(_COMMON)
    for knob in KNOBS.values():
        if not knob.of_tor:
            continue
        against = next((one for one, level in knob.under.items() if in_effect[one] != level), None)
        if against is None:
            settings.update(knob.read(in_effect[knob.name]))
        elif knob.name in turned and not knob.passed_over:
            raise InputError(
                f"has no effect under this {against}",
                key=knob.name,
                value=in_effect[against],
                accepted=f"{against}={knob.under[against]}",
            )
    consensus = era_consensus(era)
    settings["consensus"] = consensus.others if consensus else {}
    return TorSettings.model_validate(with_keys({}, settings))
