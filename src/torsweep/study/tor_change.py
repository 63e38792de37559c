"""The change that a comparison is about: two levels of one knob, and what each of them means.

In: what the command line names. Out: a :class:`TorChange`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torsweep.config.option_bundle import Where
from torsweep.config.reading import parse_scalar, validate
from torsweep.config.tors import TorSource
from torsweep.errors import InputError
from torsweep.study.named_tor import (
    ARTI,
    DEBIANS_TOR,
    FORMS,
    PATCH,
    SAME_TOR,
    NamedTor,
    fitting,
    name_of_level,
    patched,
    read_tor,
    repeated,
    usual_baseline,
)
from torsweep.tor.arti import require_arti
from torsweep.tor.build import planned_key
from torsweep.tor.names import require_known
from torsweep.tor.repository import find_commit, uncommitted
from torsweep.tor.series import read_series

UNCHANGED = "default"
"""The level of ``options`` that changes nothing; every experiment has it."""

ON = " on "
"""Stands in words between a change and the hosts that have it."""

MOST_LETTERS = 40
"""The most letters of a change, and of its hosts, in a legend."""


@dataclass(frozen=True)
class Sides:
    """The options of the command line that say what is compared, as it has them."""

    candidate: str | None = None
    baseline: str | None = None
    torrc: tuple[str, ...] = ()
    consensus: tuple[str, ...] = ()
    on: str | None = None

    @property
    def words(self) -> list[str]:
        """The options that say the same."""
        single = {"--candidate": self.candidate, "--baseline": self.baseline, "--on": self.on}
        words = [word for option, text in single.items() if text is not None for word in (option, text)]
        lines = {"--torrc": self.torrc, "--consensus": self.consensus}
        return words + [word for option, texts in lines.items() for text in texts for word in (option, text)]


@dataclass(frozen=True)
class TorChange:
    """Two variants that differ in one thing.

    ``knobs`` has the levels of each knob, that of the change first and its baseline's level first; ``tors``
    and ``options`` are entries of the experiment, with absolute paths. ``words`` name the change, and
    ``against`` its baseline; ``notes`` say what was decided. ``content`` differs where two changes differ,
    whatever they are called. ``sources`` are the tors of the two sides, where they differ.
    """

    knobs: Mapping[str, tuple[str, ...]]
    tors: Mapping[str, Mapping[str, Any]]
    options: Mapping[str, Mapping[str, Any]]
    words: str
    against: str
    content: tuple[str, ...]
    notes: tuple[str, ...] = ()
    sources: tuple[NamedTor, ...] = ()

    @property
    def knob(self) -> str:
        """The knob that is changed."""
        return next(iter(self.knobs))

    @property
    def short_words(self) -> str:
        """``words`` for a legend: whole words, and with them the hosts that are changed."""
        what, on, hosts = self.words.partition(ON)
        return f"{_shortened(what)}{on}{_shortened(hosts)}"

    @property
    def title(self) -> str:
        """The two sides, as a title."""
        return f"{self.words}, against {self.against}"

    @property
    def has_arti(self) -> bool:
        """Whether clients of a side run Arti."""
        return any(ARTI in entry for entry in self.tors.values())

    @property
    def bundle(self) -> Mapping[str, Any]:
        """The entry of ``options``; empty where tors differ."""
        return next(iter(self.options.values()), {})

    @property
    def option_names(self) -> set[str]:
        """The options and consensus parameters that are changed, in small letters."""
        return {name.lower() for kind in ("torrc", "consensus") for name in self.bundle.get(kind, ())}

    @property
    def level(self) -> str:
        """The level that is compared with the baseline's."""
        return self.knobs[self.knob][1]

    @property
    def baseline(self) -> dict[str, str]:
        """The baseline's level of each knob."""
        return {knob: levels[0] for knob, levels in self.knobs.items()}


def read_change(options: Sides) -> TorChange:
    """The change that ``options`` name; InputError where nothing is changed, or two things at once."""
    if options.candidate is None:
        return _change_of_lines(options)
    if options.torrc or options.consensus:
        problem = "changes tor and its options at once: nobody could say which of the two did it"
        accepted = "--candidate alone, or options in one tor: --baseline TOR --torrc 'Option value'"
        raise InputError(problem, key="--candidate", value=options.candidate, accepted=accepted)
    return _of_builds(options, options.candidate)


def _shortened(words: str) -> str:
    whole_words = re.match(rf".{{1,{MOST_LETTERS}}}(?=[ ,+])", words)
    return f"{whole_words[0]} …" if whole_words and len(words) > MOST_LETTERS else words


def _change_of_lines(options: Sides) -> TorChange:
    if not options.torrc and not options.consensus:
        accepted = f"--candidate ({FORMS}), --torrc 'Option value' or --consensus name=value"
        raise InputError("nothing is changed", accepted=accepted)
    bundle = read_bundle(options.torrc, options.consensus, options.on)
    tor = DEBIANS_TOR if options.baseline is None else _baseline(options.baseline)
    if tor == DEBIANS_TOR:  # Another tor may know other names; it is asked when a run is prepared.
        more = read_series().options
        require_known(bundle.get("torrc", ()), bundle.get("consensus", {}), lambda kind, _: f"--{kind}", more)
    (tor,), note = fitting([tor])
    words = ", ".join([*options.torrc, *options.consensus]) + (f"{ON}{options.on}" if options.on else "")
    name = name_of_level(words)
    name = f"with_{name}" if name == UNCHANGED else name
    tors = {} if tor == DEBIANS_TOR else {tor.name: tor.entry}
    knobs = {"options": (UNCHANGED, name), **({"tor": (tor.name,)} if tors else {})}
    notes = (note,) if note else ()
    return TorChange(knobs, tors, {name: bundle}, words, tor.words, (tor.identity,), notes)


def _of_builds(options: Sides, text: str) -> TorChange:
    again = text == SAME_TOR
    if again and options.on is not None:
        problem, accepted = "says which hosts differ, but none does", f"`{SAME_TOR}` without --on"
        raise InputError(problem, key="--on", value=options.on, accepted=accepted)
    base, candidate, notes = _tors_of(options, text)
    accepted = f"another tor, or `--candidate {SAME_TOR}` to see what chance alone does"
    if candidate.identity == base.identity and not again:
        raise InputError("is the tor of the baseline", key="--candidate", value=text, accepted=accepted)
    (base, *others), note = fitting([base] if again else [base, candidate])
    candidate = others[0] if others else repeated(base)
    if candidate.is_arti and options.on is not None:
        where = read_where(options.on)
        if "names" not in where and where.get("role") != "client":
            clients = "role=client or role=client,share=0.5"
            raise InputError("Arti runs on clients alone", key="--on", value=options.on, accepted=clients)
    if not again and _key(candidate) == _key(base):
        problem = f"has the same content as the baseline, {base.words}"
        raise InputError(problem, key="--candidate", value=text, accepted=accepted)
    if candidate.name in (base.name, DEBIANS_TOR.name):
        candidate = replace(candidate, name=f"candidate_{candidate.name}")
    tors = {tor.name: tor.entry for tor in (base, candidate) if tor != DEBIANS_TOR}
    level, words = candidate.name, candidate.words
    if options.on is not None:
        level, words = f"some_{level}", f"{words}{ON}{options.on}"
        tors[level] = _mix(candidate, base, options.on)
    artis = (validate(TorSource, tor.entry, tor.words) for tor in (base, candidate) if tor.is_arti)
    notes += map(require_arti, artis)
    content = (base.identity, candidate.identity)
    noted = tuple(filter(None, [*notes, note]))
    sources = () if again else (base, candidate)
    return TorChange({"tor": (base.name, level)}, tors, {}, words, base.words, content, noted, sources)


def _tors_of(options: Sides, text: str) -> tuple[NamedTor, NamedTor, list[str]]:
    """The baseline, the candidate ``text``, and what was decided on the way."""
    base = None if options.baseline is None else _baseline(options.baseline)
    if text == SAME_TOR:
        base = base or DEBIANS_TOR
        return base, base, []
    if text.startswith(PATCH):
        base = base or DEBIANS_TOR
        return base, patched(Path(text.removeprefix(PATCH)), base), []
    candidate = read_tor(text, "--candidate")
    usual, note = usual_baseline(candidate) if base is None else (base, "")
    return usual, candidate, [_left_out(candidate), note]


def _left_out(tor: NamedTor) -> str:
    """A note on changes of the work tree in which ``tor`` is checked out: only its commit is built."""
    if tor.repository is not None and (changed := uncommitted(tor.repository)):
        with suppress(InputError):
            if find_commit(tor.repository, "@").commit == tor.identity:
                return f"{tor.words} is taken as committed, without the uncommitted changes in {changed}"
    return ""


def _key(tor: NamedTor) -> str:
    """The key of its build, which two commits with the same files have in common."""
    return planned_key(validate(TorSource, tor.entry, tor.words))


def _mix(candidate: NamedTor, base: NamedTor, on: str) -> dict[str, Any]:
    """A mix in which the hosts ``on`` run the candidate, and every other one the baseline's tor."""
    where = read_where(on)
    share = where.pop("share", 1.0)
    rest = {base.name: round(1 - share, 6)} if share < 1 else {}
    return {"mix": {candidate.name: share, **rest}, "on": where}


def _baseline(text: str) -> NamedTor:
    if text == SAME_TOR or text.startswith(PATCH):
        raise InputError("is no baseline", key="--baseline", value=text, accepted=FORMS)
    return read_tor(text, "--baseline")


NAMES_APART = "+"
"""Stands between names and positions, as ``,`` stands between keys."""


def read_bundle(torrc: Sequence[str], consensus: Sequence[str], on: str | None) -> dict[str, Any]:
    """The entry of ``options:``; InputError for a text that says no option or parameter, or one twice."""
    entry: dict[str, Any] = {}
    for line in torrc:
        option, _, value = line.strip().partition(" ")
        _add(entry.setdefault("torrc", {}), option, value.strip(), "--torrc", line, "'Option value'")
    for line in consensus:
        name, _, value = line.partition("=")
        number = parse_scalar(value.strip())
        if isinstance(number, bool) or not isinstance(number, int):
            raise InputError("no whole number", key="--consensus", value=line, accepted="name=number")
        _add(entry.setdefault("consensus", {}), name.strip(), number, "--consensus", line, "name=number")
    if on is not None:
        if not torrc:
            problem = "says which hosts get torrc lines; the consensus is the same for all"
            raise InputError(problem, key="--on", value=on, accepted="--torrc beside it")
        entry["on"] = read_where(on)
    return entry


def read_where(text: str) -> dict[str, Any]:
    """The hosts ``role=relay,position=guard+exit,share=0.3`` or ``names=relay1+relay2``; else InputError."""
    where: dict[str, Any] = {}
    accepted = f"role=relay,share=0.3 or names=relay1{NAMES_APART}relay2"
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise InputError("is no key=value", key="--on", value=part, accepted=accepted)
        listed = value.split(NAMES_APART) if key in ("names", "position", "kind") else parse_scalar(value)
        _add(where, key, listed, "--on", text, accepted)
    validate(Where, where, "--on")
    return where


def _add(entry: dict[str, Any], key: str, value: Any, option: str, text: str, accepted: str) -> None:
    if not key or value in ("", None):
        raise InputError("says no name and value", key=option, value=text, accepted=accepted)
    if key in entry:
        raise InputError("names this twice", key=option, value=key, accepted="each once")
    entry[key] = value
