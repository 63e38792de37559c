"""In which countries the hosts of a network are, where that is not what its table of latency says.

In: ``topologies/countries/NAME.json``, shares of clients, relays and perf clients by country. Out: the
:class:`~torsweep.network.latency.Whereabouts` of a table of latency with these shares: those of a country are
divided among its places. Countries without a place get no hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from torsweep.config.reading import Section, validate
from torsweep.errors import InputError
from torsweep.formats.json_file import read_json
from torsweep.network.exact import Floats
from torsweep.network.latency import Whereabouts

_Shares = Annotated[Mapping[str, Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]


class Countries(Section):
    """Shares by country, of two letters (ISO 3166): of ``clients``, of ``relays`` (and servers and
    authorities), of ``perf`` clients; ``origin`` says where they are from."""

    origin: str
    clients: _Shares
    relays: _Shares
    perf: _Shares


def read_countries(path: Path) -> Countries:
    """The shares in ``path``; InputError for a file that is something else."""
    return validate(Countries, read_json(path), path)


def in_countries(places: Whereabouts, countries: Countries, path: Path) -> Whereabouts:
    """``places`` with the shares of ``countries``; InputError, naming ``path``, where none has a place."""
    codes, count = places.codes, Counter(places.codes)

    def shares(key: str, of_country: Mapping[str, float]) -> Floats:
        of_place = np.array([of_country.get(code, 0.0) / count[code] for code in codes])
        if not of_place.sum():
            accepted = ", ".join(sorted(count))
            raise InputError("no country of these has a place", file=path, key=key, accepted=accepted)
        return of_place / of_place.sum()

    return replace(
        places,
        client_share=shares("clients", countries.clients),
        relay_share=shares("relays", countries.relays),
        perf_share=shares("perf", countries.perf),
    )
