"""The consensus parameters of an era: what the directory authorities of its time stated.

In: ``configs/eras/ERA.yaml``, of the study or of the checkout. Out: the :class:`EraConsensus`, and the levels
of knobs that its parameters come to. An era without a file has no parameters but those of its knobs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from torsweep.config.knobs import KNOBS
from torsweep.config.option_bundle import Parameter
from torsweep.config.reading import Section, validate
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
