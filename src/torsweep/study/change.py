"""The change that a comparison is about: two levels of one knob, and what each of them means.

In: what the command line names. Out: a :class:`Change`: entries of ``tors:`` and ``options:``, the two
levels, and sentences on what was decided on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torsweep.config.reading import validate
from torsweep.config.tors import TorSource
from torsweep.errors import InputError
from torsweep.study.options import read_bundle, read_where
from torsweep.study.series import fitting
from torsweep.study.tors import (
    FORMS,
    PATCH,
    SAME,
    STOCK,
    Tor,
    again,
    level_name,
    patched,
    read_tor,
    usual_baseline,
)
from torsweep.tor.identity import planned_key
from torsweep.tor.repository import find_commit, uncommitted

UNCHANGED = "default"
"""The level of ``options`` that changes nothing; every experiment has it."""


@dataclass(frozen=True)
class Asked:
    """What the command line says, as it stands there."""

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
class Change:
    """Two variants that differ in one thing.

    ``knobs`` has the levels of each knob, that of the change first and its baseline's level first; ``tors``
    and ``options`` are entries of the experiment, with absolute paths. ``words`` name the two sides, and
    ``notes`` say what was decided. ``content`` differs where two changes differ, whatever they are called.
    """

    knobs: Mapping[str, tuple[str, ...]]
    tors: Mapping[str, Mapping[str, Any]]
    options: Mapping[str, Mapping[str, Any]]
    words: str
    against: str
    content: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def knob(self) -> str:
        """The knob that is changed."""
        return next(iter(self.knobs))

    @property
    def level(self) -> str:
        """The level that is compared with the baseline's."""
        return self.knobs[self.knob][1]

    @property
    def baseline(self) -> dict[str, str]:
        """The baseline's level of each knob."""
        return {knob: levels[0] for knob, levels in self.knobs.items()}


def read_change(asked: Asked) -> Change:
    """The change that is asked for; InputError where nothing is changed, or two things at once."""
    if asked.candidate is None:
        return _of_options(asked)
    if asked.torrc or asked.consensus:
        problem = "changes tor and its options at once: nobody could say which of the two did it"
        accepted = "--candidate alone, or options in one tor: --baseline TOR --torrc 'Option value'"
        raise InputError(problem, key="--candidate", value=asked.candidate, accepted=accepted)
    return _of_builds(asked, asked.candidate)


def _of_options(asked: Asked) -> Change:
    if not asked.torrc and not asked.consensus:
        accepted = f"--candidate ({FORMS}), --torrc 'Option value' or --consensus name=value"
        raise InputError("nothing is changed", accepted=accepted)
    bundle = read_bundle(asked.torrc, asked.consensus, asked.on)
    tor = STOCK if asked.baseline is None else _baseline(asked.baseline)
    (tor,), note = fitting([tor])
    words = ", ".join([*asked.torrc, *asked.consensus]) + (f" on {asked.on}" if asked.on else "")
    name = level_name(words)
    name = f"with_{name}" if name == UNCHANGED else name
    knobs = {"options": (UNCHANGED, name)} | ({} if tor == STOCK else {"tor": (tor.name,)})
    notes = (note,) if note else ()
    tors = {} if tor == STOCK else {tor.name: tor.entry}
    return Change(knobs, tors, {name: bundle}, words, tor.words, (tor.identity,), notes)


def _of_builds(asked: Asked, text: str) -> Change:
    base = None if asked.baseline is None else _baseline(asked.baseline)
    notes = []
    if text == SAME:
        if asked.on is not None:
            problem, accepted = "says which hosts differ, but none does", f"`{SAME}` without --on"
            raise InputError(problem, key="--on", value=asked.on, accepted=accepted)
        base = base or STOCK
        candidate = again(base)
    elif text.startswith(PATCH):
        base = base or STOCK
        candidate = patched(Path(text.removeprefix(PATCH)), base)
    else:
        candidate = read_tor(text, "--candidate")
        notes += _left_out(candidate)
        if base is None:
            base, note = usual_baseline(candidate)
            notes += [note] if note else []
    accepted = f"another tor, or `--candidate {SAME}` to see what chance alone does"
    if candidate.identity == base.identity:
        raise InputError("is the tor of the baseline", key="--candidate", value=text, accepted=accepted)
    if text == SAME:
        (base,), note = fitting([base])
        candidate = again(base)
    else:
        (base, candidate), note = fitting([base, candidate])
        if _key(candidate) == _key(base):
            problem = f"has the same content as the baseline, {base.words}"
            raise InputError(problem, key="--candidate", value=text, accepted=accepted)
    notes += [note] if note else []
    if candidate.name in (base.name, STOCK.name):
        candidate = replace(candidate, name=f"candidate_{candidate.name}")
    tors = {tor.name: tor.entry for tor in (base, candidate) if tor != STOCK}
    level, words = candidate.name, candidate.words
    if asked.on is not None:
        level, words = f"some_{level}", f"{words} on {asked.on}"
        tors[level] = _mix(candidate, base, asked.on)
    content = (base.identity, candidate.identity)
    return Change({"tor": (base.name, level)}, tors, {}, words, base.words, content, tuple(notes))


def _left_out(tor: Tor) -> list[str]:
    """A note on changes of the work tree in which ``tor`` is checked out: only its commit is built."""
    changed = "" if tor.repository is None else uncommitted(tor.repository)
    if tor.repository is None or not changed:
        return []
    with suppress(InputError):
        if find_commit(tor.repository, "@").commit == tor.identity:
            return [f"{tor.words} is taken as committed, without the uncommitted changes in {changed}"]
    return []


def _key(tor: Tor) -> str:
    """The key of its build, which two commits with the same files have in common."""
    return planned_key(validate(TorSource, tor.entry, tor.words))


def _mix(candidate: Tor, base: Tor, on: str) -> dict[str, Any]:
    """A mix in which the hosts ``on`` run the candidate, and every other one the baseline's tor."""
    where = read_where(on)
    share = where.pop("share", 1.0)
    rest = {base.name: round(1 - share, 6)} if share < 1 else {}
    return {"mix": {candidate.name: share, **rest}, "on": where}


def _baseline(text: str) -> Tor:
    if text == SAME or text.startswith(PATCH):
        raise InputError("is no baseline", key="--baseline", value=text, accepted=FORMS)
    return read_tor(text, "--baseline")
