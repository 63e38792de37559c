"""Whether both sides of a comparison take the same paths, as is usual, or tor chooses them in each run.

In: the change, how many relays its networks have, what the user says. Out: the pairing, and notes.
"""

from __future__ import annotations

from collections.abc import Iterator

from torsweep.config.eras import ERAS, usual_levels
from torsweep.config.features import FEATURES
from torsweep.config.knob import AUTO
from torsweep.config.option_bundle import OptionBundle
from torsweep.config.reading import validate
from torsweep.config.variant import FREE, PATHS
from torsweep.engines.hosts import PATHS_OPTION
from torsweep.errors import InputError
from torsweep.study.change import TorChange

COST = "each run draws its own paths, so it takes more networks to show the same change"


def choose_pairing(
    text: str | None, change: TorChange, relays: int, era: str | None
) -> tuple[str, list[str]]:
    """The pairing that ``text`` asks for, or the usual one, and what there is to say of it and of the change.

    Raises InputError where common paths are asked for and cannot be had, or would hide the change.
    """
    notes = [*change.notes, *_feature_notes(change, relays)]
    why = _why_free(change)
    if text == PATHS and why:
        raise InputError(f"cannot be had: {why}", key="--pairing", value=text, accepted=FREE)
    if text is not None:
        return text, notes
    levels = usual_levels(era if era in ERAS else "today")
    for feature in FEATURES:
        least, auto = feature.least_relays, levels[feature.knob.name] == AUTO
        if not why and auto and feature.own_circuits and relays >= least:
            why = f"{feature.title}, which is on from {least} relays on, takes circuits of its own"
    return (FREE, [*notes, f"no common paths: {why}; {COST}"]) if why else (PATHS, notes)


def _bundles(change: TorChange) -> list[OptionBundle]:
    return [validate(OptionBundle, entry, None) for entry in change.options.values()]


def _why_free(change: TorChange) -> str:
    """Why the two sides cannot take the same paths; empty where they can."""
    for bundle in _bundles(change):
        if name := bundle.about_paths:
            return f"{name} is about the choice of paths or the building of circuits"
    if change.has_arti:
        return "Arti chooses its paths itself"
    if any(tor.get("series") == "none" or "program" in tor for tor in change.tors.values()):
        return f"a tor without the project's patches has no {PATHS_OPTION}"
    return ""


def _feature_notes(change: TorChange, relays: int) -> Iterator[str]:
    """A warning for each feature that the change turns on in a network that is too small for it."""
    lines = [line for bundle in _bundles(change) for line in (bundle.torrc.items(), bundle.consensus.items())]
    on = {name.lower() for each in lines for name, value in each if str(value) == "1"}
    for feature in FEATURES:
        names = {option.name.lower() for option in feature.knob.tor}
        if on & names and relays < feature.least_relays:
            yield (
                f"{feature.title} in {relays} relays: {feature.when_small}; it takes"
                f" {feature.least_relays} relays or more"
            )
