"""The tors of an experiment: which source or program each is made of, and which of them a variant runs.

In: an entry of ``tors:`` in an experiment, or the options of ``torsweep tor build``; the level of the knob
``tor``. Out: :class:`TorSource`, :class:`VariantTors`. Whether paths and revisions exist is asked when a
build is planned (:mod:`torsweep.tor.build`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from torsweep.config.knobs import STOCK_TOR
from torsweep.config.option_bundle import Where
from torsweep.config.reading import RefusedValue, Section
from torsweep.config.variant import check_contents, unknown_name

TorName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
ClientShare = Annotated[float, Field(strict=True, ge=0.001, le=1, allow_inf_nan=False)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

DEBIAN = "debian"
HEAD = "HEAD"
TOR_KINDS = ("source", "git", "program", "arti", "same", "mix")
_SHARES_SUM_WITHIN = 1e-6
"""Shares written with a few digits, such as 0.333333, are meant to sum to 1."""


class TorSource(Section):
    """One tor: exactly one of ``source``, ``git``, ``program``, ``arti``, ``same`` and ``mix`` is there.

    Paths are relative to the working directory.
    """

    source: Annotated[str, Field(min_length=1)] | None = None
    """``debian`` (Debian's source package), or the path of a tarball."""
    git: Path | None = None
    """The path of a git repository."""
    revision: Annotated[str, Field(min_length=1)] = HEAD
    """The commit, branch or tag of ``git``, or of a repository under ``arti``."""
    program: Path | None = None
    """The path of a tor that is built already."""
    arti: Annotated[str, Field(min_length=1)] | None = None
    """A version of Arti, the path of its git repository, or of a program arti. All clients run it, or those
    of a ``mix``; other hosts run the tor of the baseline."""
    same: TorName | None = None
    """Another tor of the experiment, from which this one differs by chance alone."""
    mix: Mapping[TorName, ClientShare] | None = None
    """Tors of the experiment, each with its share of the hosts that ``on`` chooses; other hosts run the tor
    of the baseline."""
    on: Where = Where()
    """The hosts of a ``mix``; relays where it is left out."""
    series: Literal["project", "none"] = "project"
    """Whether a source gets the project's patches, before ``patches``."""
    patches: tuple[Path, ...] = ()
    """Further patches, applied in this order."""
    sha256: Sha256 | None = None
    """The checksum that a tarball has to have."""

    @property
    def kind(self) -> str:
        """Which of :data:`TOR_KINDS` says what this tor is."""
        return next(kind for kind in TOR_KINDS if getattr(self, kind) is not None)

    @property
    def path(self) -> Path | None:
        """The path of a tarball; None for Debian's package, a repository or a program."""
        return Path(self.source) if self.source is not None and self.source != DEBIAN else None

    @property
    def is_stock(self) -> bool:
        """Whether it is Debian's release with the project's series and nothing else."""
        return self.source == DEBIAN and self.series == "project" and not self.patches

    @property
    def named(self) -> tuple[str, ...]:
        """The other tors of the experiment that this one is made of."""
        return (self.same,) if self.same is not None else tuple(self.mix or ())

    def arguments(self) -> list[str]:
        """The options of ``torsweep tor build`` that build it; ValueError where there is nothing to build."""
        if self.named:
            raise ValueError(f"{self.kind} names other tors, so there is nothing to build")
        if self.program is not None:
            return ["--program", str(self.program)]
        if self.arti is not None:
            revision = ["--revision", self.revision] if self.revision != HEAD else []
            return ["--arti", self.arti, *revision]
        words = ["--git", str(self.git), "--revision", self.revision] if self.git is not None else []
        words += ["--source", str(self.path)] if self.path is not None else []
        words += ["--sha256", self.sha256] if self.sha256 is not None else []
        words += ["--series", self.series] if self.series != "project" else []
        return words + [word for patch in self.patches for word in ("--patch", str(patch))]

    @model_validator(mode="after")
    def _is_one_tor(self) -> Self:
        stated = [kind for kind in TOR_KINDS if getattr(self, kind) is not None]
        if not stated:
            raise RefusedValue(
                "does not say what this tor is", key="", accepted=f"one of {', '.join(TOR_KINDS)}"
            )
        if len(stated) > 1:
            problem = f"says a second time what this tor is, beside {stated[0]}"
            raise RefusedValue(problem, key=stated[1], accepted=f"one of {', '.join(TOR_KINDS)}")
        return self

    @model_validator(mode="after")
    def _keys_fit_the_kind(self) -> Self:
        takes = {"revision": ("git", "arti"), "series": ("source", "git"), "patches": ("source", "git")}
        for key, kinds in {**takes, "sha256": ("source",), "on": ("mix",)}.items():
            if key in self.model_fields_set and self.kind not in kinds:
                raise RefusedValue(f"means nothing beside {self.kind}", key=key, accepted=" or ".join(kinds))
        if self.sha256 is not None and self.path is None:
            problem = "means nothing beside Debian's package, which is verified by its description"
            raise RefusedValue(problem, key="sha256", accepted="a tarball as source")
        return self

    @model_validator(mode="after")
    def _shares_make_a_whole(self) -> Self:
        if self.mix is not None and not self.mix:
            raise RefusedValue("mixes no tors", key="mix", accepted="one or more, with shares")
        if self.mix is not None and not math.isclose(sum(self.mix.values()), 1, abs_tol=_SHARES_SUM_WITHIN):
            total = f"{sum(self.mix.values()):g}"
            raise RefusedValue("the shares do not sum to 1", key="mix", value=total, accepted="a sum of 1")
        return self


STOCK = TorSource(source=DEBIAN)
"""Debian's release with the project's series."""


Tors = Mapping[str, TorSource]


@dataclass(frozen=True)
class VariantTors:
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
    """``tors``, and ``stock``, which every experiment has."""
    return {STOCK_TOR: STOCK, **tors}


def variant_tors(tors: Tors, level: str, baseline: str) -> VariantTors:
    """The tors of a variant with this ``level`` of the knob ``tor``, in an experiment with this ``baseline``.

    Around a mix, and around clients that run Arti, runs the baseline's tor; of a baseline that is a mix, the
    one with the largest share. Around Arti alone runs ``stock``.
    """
    repeat = int(tors[level].same is not None)
    level, baseline = tors[level].same or level, tors[baseline].same or baseline
    mix = {level: 1.0} if tors[level].arti else tors[level].mix
    if mix is None:
        return VariantTors(level, repeat=repeat)
    around = {
        name: share for name, share in (tors[baseline].mix or {baseline: 1.0}).items() if not tors[name].arti
    }
    main = max(around, key=around.__getitem__, default=STOCK_TOR)
    on = Where(role="client") if tors[level].arti else tors[level].on
    # In the order of names: the order of keys in a file decides nothing.
    return VariantTors(main, dict(sorted(mix.items())), on, repeat)


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
            if tor.mix and tors[other].arti and not tor.on.names and tor.on.role != "client":
                problem, accepted = f"cannot run Arti ({other})", "client"
                raise RefusedValue(problem, key=f"tors.{name}.on.role", value=tor.on.role, accepted=accepted)
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
