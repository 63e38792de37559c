"""Shadow's own options: the section ``shadow`` of an experiment.yaml, whose keys and values are Shadow's.

In: the section. Out: :class:`ShadowOptions`, which :meth:`ShadowOptions.into` puts into Shadow's
configuration. What torsweep needs is refused; Shadow itself refuses what it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from torsweep.config.option_bundle import HostName
from torsweep.config.reading import RefusedValue, Section
from torsweep.errors import InputError

NEEDED: Mapping[str, tuple[str, ...]] = {
    "general": (
        *("bootstrap_end_time", "data_directory", "parallelism", "progress", "seed", "stop_time"),
        "template_directory",
    ),
    "experimental": ("runahead", "use_cpu_pinning"),
}
"""The options of Shadow that torsweep sets for every run."""

_Value = str | int | float | bool | None
_Options = Annotated[dict[str, _Value], Field(max_length=100)]


class ShadowOptions(Section):
    """Options of Shadow, as its configuration has them."""

    general: _Options = Field(default_factory=dict)
    """Its section ``general``."""
    experimental: _Options = Field(default_factory=dict)
    """Its section ``experimental``."""
    host_option_defaults: _Options = Field(default_factory=dict)
    """Its section ``host_option_defaults``."""
    hosts: Annotated[Mapping[HostName, _Options], Field(max_length=10_000)] = Field(default_factory=dict)
    """``host_options`` by the name of a host, as in network.json."""

    @model_validator(mode="after")
    def _needed_ones_stay(self) -> Self:
        for section, needed in NEEDED.items():
            for name in needed:
                if name in getattr(self, section):
                    accepted = "options of Shadow but " + ", ".join(needed)
                    raise RefusedValue("is set by torsweep", key=f"{section}.{name}", accepted=accepted)
        return self

    def into(self, document: dict[str, Any]) -> dict[str, Any]:
        """``document``, the configuration of a simulation, with these options in it; InputError for a host
        that it does not have."""
        for section in ("general", "experimental", "host_option_defaults"):
            if given := getattr(self, section):
                document[section] = {**(document.get(section) or {}), **given}
        hosts = document["hosts"]
        for name, given in self.hosts.items():
            if name not in hosts:
                accepted = f"{next(iter(hosts))} to {list(hosts)[-1]}"
                raise InputError("no such host", key="shadow.hosts", value=name, accepted=accepted)
            hosts[name]["host_options"] = {**(hosts[name].get("host_options") or {}), **given}
        return document


SHADOWS_DEFAULTS = ShadowOptions()
"""No options of Shadow's own."""
