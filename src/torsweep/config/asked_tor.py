"""Which tors a variant runs: one on every host, or several on the hosts of a mix.

In: the ``tors`` of an experiment, the level of the knob ``tor``. Out: :class:`AskedTor`, which names builds;
or an error for tors that name no build.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torsweep.config.grid import check_contents, unknown_name
from torsweep.config.knobs import STOCK_TOR
from torsweep.config.reading import RefusedValue
from torsweep.config.tors import STOCK, TorSource
from torsweep.config.where import Where

Tors = Mapping[str, TorSource]


@dataclass(frozen=True)
class AskedTor:
    """``main`` is the tor of every host that is not in ``on``; these are parted by the shares of ``mix``.

    Without a mix, ``main`` is the tor of all. ``repeat`` tells a run apart from the same one.
    """

    main: str = STOCK_TOR
    mix: Mapping[str, float] = field(default_factory=dict)
    on: Where = field(default_factory=Where)
    repeat: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Each tor once, ``main`` first."""
        return tuple(dict.fromkeys([self.main, *self.mix]))


def all_tors(tors: Tors) -> Tors:
    """``tors`` and the one that every experiment has."""
    return {STOCK_TOR: STOCK, **tors}


def asked_tor(tors: Tors, level: str, baseline: str) -> AskedTor:
    """The tors of a variant with this ``level`` of the knob ``tor``, in an experiment with this ``baseline``.

    Around a mix runs the baseline's tor; of a baseline that is a mix, the one with the largest share.
    """
    repeat = int(tors[level].same is not None)
    level, baseline = tors[level].same or level, tors[baseline].same or baseline
    mix, around = tors[level].mix, tors[baseline].mix
    if mix is None:
        return AskedTor(level, repeat=repeat)
    main = max(around, key=around.__getitem__) if around is not None else baseline
    # In the order of names: the order of keys in a file decides nothing.
    return AskedTor(main, dict(sorted(mix.items())), tors[level].on, repeat)


def check_tors(tors: Tors) -> None:
    """RefusedValue for a tor that is made of one that there is not, and for two of the same content."""
    for name, tor in tors.items():
        if tor.on.share is not None:
            raise RefusedValue("is said by the mix", key=f"tors.{name}.on.share", accepted="shares in mix")
        for other in tor.named:
            key = f"tors.{name}.{tor.kind}"
            if other not in tors:
                problem, accepted = unknown_name(other, tuple(tors))
                raise RefusedValue(problem, key=key, value=other, accepted=accepted)
            made = tors[other].kind
            if made == "same" or (made == "mix" and tor.mix is not None):
                builds = [build for build, one in tors.items() if not one.named]
                raise RefusedValue(
                    f"is made of a tor that is itself a {made}",
                    key=key,
                    value=other,
                    accepted=", ".join(builds),
                )
    check_contents("tors", tors)
