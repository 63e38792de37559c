"""Programs: what an experiment runs on hosts beside tor and the clients, from when to when.

In: an entry of ``programs`` of an experiment.yaml. Out: :class:`Program`; the places to fill in of a command,
and what is refused of one. :mod:`torsweep.engines.programs` finds the hosts and fills the places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self, cast

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, model_validator

from torsweep.config.option_bundle import OptionValue, Where
from torsweep.config.reading import RefusedValue, Section, default_text, listed
from torsweep.config.traffic import Duration
from torsweep.units import Between, RateBytesPerSecond, SizeBytes

PLACES: Mapping[str, str] = {
    "host": "the name of the host",
    "number": "the number of the host among those of the program, from 1",
    "socks_port": "the SOCKS port of the host's tor, at 127.0.0.1, for programs alone",
    "control_port": "the control port of the host's tor, at 127.0.0.1, which asks for no password",
    "or_port": "the port at which relays and authorities listen",
    "server_port": "the port at which servers listen",
    "seed": "the seed of the network",
    "start": "when the measured time begins, seconds since 1970 by the clock of the host",
    "end": "when it ends",
    "experiment": "the folder of experiment.yaml",
    "address:HOST": "the IPv4 address of a host by name, or of a relay by one of the rules below",
    "fingerprint:RELAY": "the fingerprint of a relay, in the same way",
}
"""What a command can have in braces, and what stands for it."""

RULES = ("heaviest_guard", "heaviest_middle", "heaviest_exit")
"""Relays by rule: the one of most weight in the consensus among those that can be in this position."""

_PLACE = re.compile(r"\{([^{}]*)\}")
_NAMED = re.compile(r"(address|fingerprint):([A-Za-z0-9_-]{1,64})")


def places_of(text: str) -> Iterator[tuple[str, str]]:
    """The placeholders in braces of ``text``: word, and name after the colon (or empty)."""
    for inside in _PLACE.findall(text):
        word, _, name = inside.partition(":")
        yield word, name


def filled(text: str, values: Mapping[str, str]) -> str:
    """``text`` with what stands in braces replaced by its value."""
    return _PLACE.sub(lambda match: values[match[1]], text)


def _known_places(words: list[str]) -> list[str]:
    for word in words:
        for inside in _PLACE.findall(word):
            if inside not in PLACES and not _NAMED.fullmatch(inside):
                raise RefusedValue(
                    "is no place to fill in", key="", value=f"{{{inside}}}", accepted=", ".join(PLACES)
                )
    return words


_Word = Annotated[str, Field(max_length=4_000, pattern=r"^[^\x00]*$")]
_Pattern = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\x00][^\x00]*$")]


class OwnHosts(Section):
    """Hosts that a program has for itself, beside those of the network."""

    count: Annotated[int, Field(strict=True, ge=1, le=1_000)] = 1
    """How many. Their names are ``program1``, ``program2`` and so on, through all programs of the level."""
    like: Literal["client", "server", "relay"] = "server"
    """Each is at the place of a host of this kind, drawn from the network's seed, and has its link."""
    rate: Annotated[RateBytesPerSecond, Between("64 kbit/s", "100 Gbit/s")] | None = None
    """The rate of its link both ways, in place of that of the host that it is like."""
    torrc: Mapping[str, OptionValue] | None = None
    """Lines of torrc, such as ``EntryNodes: "{fingerprint:heaviest_guard}"``: the host has a tor of its own
    that is a client with these lines. ``{}`` is a tor without further lines; without the key, no tor."""

    @model_validator(mode="after")
    def _lines_are_filled(self) -> Self:
        for option, value in (self.torrc or {}).items():
            _known_places([value])
            if any(word not in ("address", "fingerprint") for word, _ in places_of(value)):
                accepted = "address:HOST, fingerprint:RELAY"
                raise RefusedValue(
                    "is not filled in here", key=f"torrc.{option}", value=value, accepted=accepted
                )
        return self


class Program(Section):
    """One program: its command and the hosts that run it, each in a folder of its own."""

    command: Annotated[list[_Word], Field(min_length=1, max_length=1_000), AfterValidator(_known_places)]
    """The program and its arguments; ``{…}`` is filled in for each host."""
    on: Where | None = None
    """Hosts of the network that run it beside their tor."""
    hosts: OwnHosts | None = None
    """Hosts of its own, in place of ``on``."""
    begin: Duration = Field(cast(Any, "0 s"), alias="from")
    """When it starts, from the start of the warm-up."""
    until: Duration | None = None
    """When it is ended by SIGTERM; without it, the end of the run. If it ends before, the run fails."""
    ends: StrictBool = False
    """Whether it ends by itself, with exit code 0 and before the end of the run, in place of ``until``."""
    keeps: Annotated[tuple[_Pattern, ...], Field(max_length=100)] = ()
    """Files of its folder that are kept, as patterns such as ``*.csv``."""
    keeps_most: Annotated[SizeBytes, Between("1 B", "100 GB")] = default_text("10 MB")
    """The most that the kept files of a host may have; more fails the run."""

    @property
    def files(self) -> list[str]:
        """The files of the experiment's folder that its command names, relative to it."""
        words = (word.partition("{experiment}/")[2] for word in self.command)
        return [word for word in words if word]

    @model_validator(mode="after")
    def _is_somewhere_and_sometime(self) -> Self:
        if (self.on is None) == (self.hosts is None):
            key = "on" if self.on else "hosts"
            raise RefusedValue("needs one way to say its hosts", key=key, accepted="on or hosts")
        if self.ends and self.until is not None:
            raise RefusedValue("means nothing of a program that ends by itself", key="until", accepted="ends")
        if self.until is not None and self.until <= self.begin:
            raise RefusedValue("is not after from", key="until", accepted="a later time")
        for number, pattern in enumerate(self.keeps):
            if ".." in PurePosixPath(pattern).parts:
                accepted = "files of the program's folder"
                raise RefusedValue(
                    "leads elsewhere", key=f"keeps[{number}]", value=pattern, accepted=accepted
                )
        asked = {word for text in self.command for word, _ in places_of(text)}
        if self.hosts is not None and self.hosts.torrc is None and asked & {"socks_port", "control_port"}:
            problem, accepted = "is of a tor, and hosts of the program have none", "hosts.torrc, such as {}"
            raise RefusedValue(problem, key="command", accepted=accepted)
        return self


Programs = Annotated[tuple[Program, ...], BeforeValidator(listed), Field(max_length=100)]
"""The programs of a level: one, or a list."""


def check_times(key: str, programs: Programs, run_ns: int) -> None:
    """RefusedValue for a program of ``key`` that begins or ends after a run of ``run_ns``."""
    for number, program in enumerate(programs):
        for at, moment in (("from", program.begin), ("until", program.until or 0)):
            if moment >= run_ns:
                accepted = "before warm_up and measured are over"
                raise RefusedValue(
                    "is after the end of the run", key=f"{key}[{number}].{at}", accepted=accepted
                )
