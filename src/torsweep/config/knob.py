"""What a knob is: its levels, the options with which tor takes its setting, how its levels are drawn.

In: the text of a level (``10ms``). Out: :class:`Knob`, whose row is in :mod:`torsweep.config.knobs`;
:class:`AcceptedLevels`, which states the bounds of its levels once, for a reader, for the JSON schema and for
the value that is set; :class:`TorOption`.

Colours are those of Okabe and Ito (Color Universal Design, 2008), which stay apart for colour-blind readers;
yellow is left out, because it vanishes on white. Line styles and markers keep curves apart in greyscale.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

from torsweep.errors import InputError
from torsweep.units import BYTES_PER_SECOND_PER, NANOSECONDS_PER, format_quantity, parse_quantity

AUTO = "auto"
"""The level that leaves the choice to the network."""


BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"

SOLID: tuple[int, tuple[float, ...]] = (0, ())
DASHED: tuple[int, tuple[float, ...]] = (0, (4.5, 1.4))
DOTTED: tuple[int, tuple[float, ...]] = (0, (1.2, 1.0))
DASH_DOT: tuple[int, tuple[float, ...]] = (0, (5, 1.2, 1.2, 1.2))
LONG_DASHED: tuple[int, tuple[float, ...]] = (0, (8, 1.5))


@dataclass(frozen=True)
class Mark:
    """Colour, dash pattern in line widths, and marker."""

    colour: str
    dashes: tuple[int, tuple[float, ...]]
    marker: str


USUAL = Mark(BLUE, SOLID, "o")
"""The usual level of a knob."""

OTHER = Mark(VERMILION, DASHED, "s")
THIRD = Mark(GREEN, DASH_DOT, "^")
FOURTH = Mark(SKY, LONG_DASHED, "D")
FIFTH = Mark(PURPLE, DOTTED, "v")
"""The levels beside it, in this order where nothing speaks for another one."""


_FURTHER = (Mark(ORANGE, DASHED, "P"), Mark(BLACK, LONG_DASHED, "X"))
_DISTINCT = (USUAL, OTHER, THIRD, FOURTH, FIFTH, *_FURTHER)

ALL_MARKS = (
    *_DISTINCT,
    *(
        Mark(one.colour, dashes, marker)
        for (dashes, marker), one in product(
            zip((DASH_DOT, DOTTED, SOLID, DASHED, LONG_DASHED), "*<>hp", strict=True), _DISTINCT
        )
    ),
)
"""Marks of seven colours, then the same colours with other dashes and markers."""


MILLISECOND_NS = 1_000_000

LEVEL_PATTERN = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._-]*\Z")
"""A level is part of a path and of ``knob=level+knob=level``: no spaces, plus or equals signs."""


@dataclass(frozen=True)
class AcceptedLevels:
    """The texts that are levels: which, in words and as a schema, and the ``value`` that a text sets; it
    raises ValueError for a text that is no level."""

    accepted: str
    schema: Mapping[str, Any]
    value: Callable[[str], object]


def choice(*names: str, **values: object) -> AcceptedLevels:
    """Each of ``names``, which sets itself, or each name of ``values``, which sets its value."""
    known = {**{name: name for name in names}, **values}

    def value(text: str) -> object:
        if text not in known:
            raise ValueError
        return known[text]

    return AcceptedLevels(", ".join(known), {"enum": list(known)}, value)


def _texts(pattern: str, accepted: str, read: Callable[[str], object], **bounds: object) -> AcceptedLevels:
    """The texts of ``pattern`` of which ``read`` makes a value; ``bounds`` are for the schema."""

    def value(text: str) -> object:
        if not re.fullmatch(pattern, text):
            raise ValueError
        return read(text)

    ends = {f"x-{end}": bound for end, bound in bounds.items()}
    return AcceptedLevels(accepted, {"pattern": f"^{pattern}$", **ends}, value)


def named(key: str) -> AcceptedLevels:
    """A name that an experiment defines under ``key``; the experiment says which there are."""
    return _texts(r"[a-z][a-z0-9_]{0,63}", f"a name that the experiment defines under {key}", str)


def duration(least: str, most: str, example: str) -> AcceptedLevels:
    """A duration in whole milliseconds, as nanoseconds: tor takes no parts of one."""

    def read(text: str) -> int:
        amount, low, high = (parse_quantity(each, NANOSECONDS_PER, example) for each in (text, least, most))
        return _within(amount, low, high, MILLISECOND_NS)

    accepted = f"a duration from {least} to {most} in whole milliseconds, such as {example}"
    return _texts(f"[0-9.]+({'|'.join(NANOSECONDS_PER)})", accepted, read, least=least, most=most)


def rate(least: str, most: str) -> AcceptedLevels:
    """A rate such as ``550KiBps``, as the text of a configuration: ``550 KiB/s``."""
    units = ("KBps", "KiBps", "MBps", "MiBps")

    def amount(text: str) -> int:
        return parse_quantity(text.replace("ps", "/s"), BYTES_PER_SECOND_PER, "550 KiB/s")

    def read(text: str) -> str:
        return format_quantity(_within(amount(text), amount(least), amount(most)), BYTES_PER_SECOND_PER)

    accepted = f"a number and {', '.join(units[:-1])} or {units[-1]}, from {least} to {most}"
    return _texts(f"([0-9.]+)({'|'.join(units)})", accepted, read, least=least, most=most)


def number(least: int, most: int, of: str = "", then: Callable[[int], object] = int) -> AcceptedLevels:
    """A whole number of ``of``; ``then`` turns it into the value of the setting."""
    what = f"a whole number of {of}" if of else "a whole number"
    return replace(numbered("", least, most, "", then), accepted=f"{what} from {least} to {most}")


def numbered(before: str, least: int, most: int, after: str, then: Callable[[int], object]) -> AcceptedLevels:
    """A whole number between two texts: ``kist_10ms``."""

    def read(text: str) -> object:
        return then(_within(int(text.removeprefix(before).removesuffix(after)), least, most))

    digits = "[1-9][0-9]*" if least > 0 else "0|[1-9][0-9]*"
    accepted = f"{before}N{after} with N from {least} to {most}"
    pattern = f"{re.escape(before)}({digits}){re.escape(after)}"
    return _texts(pattern, accepted, read, least=least, most=most)


def decimal(most: int, example: str, least: float | None = None) -> AcceptedLevels:
    """A decimal number of at most four decimal places: from ``least`` on, or above 0 without one."""

    def read(text: str) -> float:
        amount = float(text)
        if not 0 < amount <= most or amount < (least or 0):
            raise ValueError
        return amount

    range_ = f"above 0, at most {most}" if least is None else f"from {least} to {most}"
    accepted = f"a decimal number {range_}, such as {example}"
    low = {"above": 0} if least is None else {"least": least}
    return _texts(r"[0-9]{1,2}(\.[0-9]{1,4})?", accepted, read, **low, most=most)


def share(most: float, example: str) -> AcceptedLevels:
    """A share from 0 on, in at most four decimal places and no zeros at the end: one text a share."""

    def read(text: str) -> float:
        if float(text) > most:
            raise ValueError
        return float(text)

    accepted = f"a share from 0 to {most}, such as {example}"
    return _texts(r"0(\.[0-9]{0,3}[1-9])?", accepted, read, least=0, most=most)


def written_value() -> AcceptedLevels:
    """A value as a configuration has it, without spaces: ``10Mbitps`` is ``10Mbit/s``, ``none`` no value."""

    def read(text: str) -> str:
        return "null" if text == "none" else re.sub(r"^([0-9.]+[kKMG]?i?(?:B|bit))ps$", r"\1/s", text)

    accepted = "a value of this key, without spaces, rates as 10Mbitps; none for no value"
    return _texts(r"[A-Za-z0-9._][A-Za-z0-9._-]*", accepted, read)


def either(*parts: AcceptedLevels) -> AcceptedLevels:
    """The levels of each of ``parts``."""

    def value(text: str) -> object:
        for part in parts:
            try:
                return part.value(text)
            except ValueError:
                continue
        raise ValueError

    accepted = ", ".join(part.accepted for part in parts)
    return AcceptedLevels(accepted, {"anyOf": [part.schema for part in parts]}, value)


def _within(amount: int, least: int, most: int, step: int = 1) -> int:
    if not least <= amount <= most or amount % step:
        raise ValueError
    return amount


@dataclass(frozen=True)
class TorOption:
    """An option of a torrc, a consensus parameter or a variable of the environment: how tor takes a setting.

    ``text`` makes the option's text of the value; it raises ValueError where tor cannot take the value as it
    is. ``where`` says which processes have it: ``relay``, ``client``, or with ``torrc`` every one.
    ``setting`` is a dotted key of ``tor`` in run.json; without one, it is what the knob sets. A tor that does
    not have the option can run with the setting ``without`` alone, or with none; ``alone`` says what it does
    where that is not quite the same.
    """

    name: str
    text: Callable[[Any], str] = str
    where: Literal["torrc", "relay", "client", "consensus", "environment"] = "torrc"
    setting: str = ""
    without: object = None
    alone: str = ""


def milliseconds(amount_ns: int) -> str:
    """``amount_ns`` as a number of milliseconds; ValueError when it is no whole one."""
    if amount_ns % MILLISECOND_NS:
        raise ValueError("whole milliseconds")
    return str(amount_ns // MILLISECOND_NS)


@dataclass(frozen=True)
class Knob:
    """One experiment variable.

    ``usual`` is its level where nobody turns it: one, or one for each era, which every knob of tor has.
    ``sets`` is a dotted key of ``target``: the ``tor`` section of run.json, its ``transport``, the
    ``traffic`` of each kind of client, or the configuration of the network; of ``tor_build``, ``options`` and
    ``programs`` it is the part of the experiment that defines the level. ``torrc`` is a setting of real tor
    that the model does not have: its key begins with ``torrc.``, it is a text, and nothing else declares it.
    A knob of tor says with which options ``tor`` takes that, unless :mod:`torsweep.tor.torrc` works it out
    from the relay too. ``stated`` are the consensus parameters that state its level, and how to read it from
    their value. ``under`` are the levels of other knobs without which it has no effect; then a level of it is
    refused, or with ``passed_over`` not applied, so that a grid can have both. ``marks`` and ``words`` say
    how levels are drawn and written in figures.
    """

    name: str
    meaning: str
    levels: AcceptedLevels
    sets: str
    usual: str | Mapping[str, str] | None
    target: Literal["tor", "torrc", "network", "traffic", "transport", "tor_build", "options", "programs"] = (
        "tor"
    )
    tor: tuple[TorOption, ...] = ()
    stated: Mapping[str, Callable[[int], str]] = field(default_factory=dict)
    under: Mapping[str, str] = field(default_factory=dict)
    passed_over: bool = False
    marks: Mapping[str, Mark] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def of_tor(self) -> bool:
        """Whether it sets a setting of tor, which has a level in every era."""
        return self.target in ("tor", "torrc")

    def read(self, level: str) -> Mapping[str, object]:
        """What ``level`` sets, by its key; InputError, saying which levels there are, when it is no level."""
        try:
            if LEVEL_PATTERN.match(level) is None:
                raise ValueError
            return {self.sets: self.levels.value(level)}
        except ValueError:
            raise InputError(
                "is no level of this knob", key=self.name, value=level, accepted=self.levels.accepted
            ) from None

    def usual_in(self, era: str) -> str | None:
        """The knob's usual level in ``era``."""
        return self.usual if isinstance(self.usual, str | None) else self.usual[era]
