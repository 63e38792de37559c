"""Overrides of an experiment, as they come from ``snakemake --config network=laptop replicates=2``.

In: Snakemake's configuration mapping. Out: :class:`Overrides`, or an InputError that names the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from torsweep.config.experiment import MAIN_PLAN, Duration, Era, Measured, PlanName, Seed
from torsweep.config.network import NetworkName, network_path
from torsweep.config.reading import Section, parse_scalar, validate
from torsweep.config.replicates import Number, Precision
from torsweep.errors import InputError
from torsweep.formats.files import require_regular


def _read_scalars(value: object) -> object:
    """Snakemake hands the values inside ``precision={margin: 0.03}`` over as texts."""
    if not isinstance(value, Mapping):
        return value
    return {key: parse_scalar(text) if isinstance(text, str) else text for key, text in value.items()}


class Overrides(Section):
    """Each value replaces the experiment's own; None leaves the experiment's."""

    network: NetworkName | None = None
    """A file of ``configs/networks/``, without its suffix."""
    replicates: Number | None = None
    """How many networks are sampled; more of them later add to those that have run."""
    precision: Annotated[Precision | None, BeforeValidator(_read_scalars)] = None
    """The least difference that counts, such as ``'{margin: 0.03}'``."""
    first_seed: Seed | None = None
    """The seed of the first network."""
    engine: str = "auto"
    """The engine of the runs; ``auto``: the first of the experiment's ``engines`` that can run here.
    Several side by side: sources between commas, the reference first, such as
    ``emulation,cellsim+tcp=linux_6_18``."""
    runs: Literal["all", "finished"] = "finished"
    """With several sources: ``all`` makes runs of real tor that are missing, ``finished`` takes those that
    there are."""
    era: Era | None = None
    """The settings of tor around the knobs."""
    plan: PlanName = MAIN_PLAN
    """``main``, or a sensitivity of the experiment."""
    warm_up: Duration | None = None
    """Simulated time before downloads count."""
    measured: Measured | None = None
    """Simulated time in which they count."""
    replace: Literal["no", "yes"] = "no"
    """Whether finished runs may be replaced by runs of other durations."""
    tor_source: str | None = None
    """Where tor is built from: a tarball; Debian's source package when left out."""
    live_tor: Path | None = None
    """A ``tor_metrics`` file of tornettools about the public network, to show beside results on pages."""
    experiment: str | None = None
    """The experiment that `snakemake report` and `snakemake publish` are about; all where none is named."""

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Overrides:
        """The overrides in ``config``; InputError for an unknown key, a value out of bounds, no network
        or no file of this name."""
        if isinstance(number := config.get("network"), int | float):
            problem = "is a number, which Snakemake makes of a name of digits"
            accepted = "--configfile FILE with the name in quotes, network: '2024_06'; or a name with letters"
            raise InputError(problem, file="--config", key="network", value=number, accepted=accepted)
        overrides = validate(cls, config, "--config")
        if overrides.network is not None:
            network_path(overrides.network)
        if overrides.live_tor is not None:
            require_regular(overrides.live_tor)
        return overrides


EXPERIMENT_KEYS = ("network", "replicates", "precision", "first_seed", "era", "warm_up", "measured")
"""The overrides that are keys of experiment.yaml too."""


def experiment_overrides(config: Mapping[str, Any]) -> dict[str, Any]:
    """The overrides in ``config`` that are of experiment.yaml, by key (``precision.margin``)."""
    chosen = {key: config[key] for key in EXPERIMENT_KEYS if key in config}
    precision = chosen.pop("precision", {})
    return {**chosen, **{f"precision.{key}": value for key, value in precision.items()}}
