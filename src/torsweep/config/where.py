"""Which hosts of a network something is for: the ``on`` of an option bundle and of a mix of tors.

In: a section of a document. Out: :class:`Where`; :mod:`torsweep.engines.run_tors` finds the hosts that it
means.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from torsweep.config.reading import RefusedValue, Section

Position = Literal["guard", "exit", "guard_exit", "middle"]
Role = Literal["relay", "client", "authority"]

HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$", max_length=64)]


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Where(Section):
    """Hosts of a network: all of a ``role``, or a ``share`` of them; or those in ``names``."""

    role: Role = "relay"
    """What the hosts are."""
    position: Annotated[tuple[Position, ...], Field(max_length=4), BeforeValidator(_listed)] = ()
    """Relays of these positions only, one or a list."""
    share: Annotated[float, Field(strict=True, ge=0.001, le=1)] | None = None
    """A part of them: of relays by weight in the consensus, of clients by number. It is drawn from the
    network's seed, the same in every variant; a larger share has the hosts of a smaller one."""
    names: Annotated[tuple[HostName, ...], Field(max_length=10_000)] = ()
    """Hosts by name, as in network.json, in place of the other keys."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        beside = sorted(self.model_fields_set - {"names"})
        if "names" in self.model_fields_set and not self.names:
            raise RefusedValue("names no host", key="names", accepted="hosts by name, or no key names")
        if self.names and beside:
            problem, accepted = "cannot go with names", "names alone, or role, position and share"
            raise RefusedValue(problem, key=beside[0], accepted=accepted)
        if self.position and self.role != "relay":
            raise RefusedValue("is for relays alone", key="position", value=self.role, accepted="role: relay")
        if self.share is not None and self.role == "authority":
            accepted = "role: relay, role: client"
            raise RefusedValue("is for relays or clients", key="share", value=self.role, accepted=accepted)
        return self
