"""The grid of an experiment: its knobs and their levels, also those whose names it defines itself.

In: the ``knobs`` of an experiment or of a sensitivity, and the names under ``tors`` and ``options``. Out: an
error for a knob or a level that does not exist or is listed twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from torsweep.config.knobs import KNOBS, find_knob
from torsweep.config.reading import RefusedValue, suggestion
from torsweep.errors import InputError

Names = Mapping[str, tuple[str, ...]]
"""The levels that an experiment defines, by the knob that takes them."""


def check_grid(key: str, grid: Mapping[str, tuple[str, ...]], names: Names) -> None:
    """RefusedValue, below ``key``, for what is no knob or no level, and for a level that stands twice."""
    for knob, levels in grid.items():
        if knob not in KNOBS:
            problem = f"unknown knob{suggestion(knob, list(KNOBS))}"
            raise RefusedValue(problem, key=f"{key}.{knob}", accepted=", ".join(KNOBS))
        effects: dict[str, str] = {}
        for level in levels:
            try:
                effect = repr(find_knob(knob).read(level))
            except InputError:
                accepted = KNOBS[knob].levels.accepted
                raise RefusedValue(
                    "is no level of this knob", key=f"{key}.{knob}", value=level, accepted=accepted
                ) from None
            if level not in names.get(knob, (level,)):
                problem, accepted = unknown_name(level, names[knob])
                raise RefusedValue(problem, key=f"{key}.{knob}", value=level, accepted=accepted)
            if effect in effects:
                problem = f"means the same as the level '{effects[effect]}'"
                raise RefusedValue(problem, key=f"{key}.{knob}", value=level, accepted="each level once")
            effects[effect] = level


def unknown_name(name: str, known: tuple[str, ...]) -> tuple[str, str]:
    """What is wrong with a name that the experiment does not define; what is accepted."""
    return f"names nothing that the experiment defines{suggestion(name, known)}", ", ".join(known)


def check_names(levels: Mapping[str, str], names: Names) -> None:
    """InputError for a level of a variant that the experiment would have to define and does not."""
    for knob, level in levels.items():
        if level not in names.get(knob, (level,)):
            problem, accepted = unknown_name(level, names[knob])
            raise InputError(problem, key=knob, value=level, accepted=accepted)


def check_contents(key: str, contents: Mapping[str, object]) -> None:
    """RefusedValue for two names under ``key`` with the same content: they would be the same runs."""
    seen: list[tuple[str, object]] = []
    for name, content in contents.items():
        same = next((other for other, found in seen if found == content), None)
        if same is not None:
            problem, accepted = f"has the same content as {same}", "each content once"
            raise RefusedValue(problem, key=f"{key}.{name}", accepted=accepted)
        seen.append((name, content))
