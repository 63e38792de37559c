"""The tors of an experiment: which source or program each is made of.

In: an entry of ``tors:`` in an experiment, or the options of ``torsweep tor build``. Out: :class:`TorSource`.
Whether its paths and revisions exist is asked when its build is planned (:mod:`torsweep.tor.identity`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from torsweep.config.reading import RefusedValue, Section
from torsweep.config.where import Where

TorName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
Share = Annotated[float, Field(strict=True, ge=0.001, le=1, allow_inf_nan=False)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

DEBIAN = "debian"
HEAD = "HEAD"
KINDS = ("source", "git", "program", "same", "mix")
_SHARES_SUM_WITHIN = 1e-6
"""Shares written with a few digits, such as 0.333333, are meant to sum to 1."""


class TorSource(Section):
    """One tor: exactly one of ``source``, ``git``, ``program``, ``same`` and ``mix`` says what it is.

    Paths are relative to the working directory.
    """

    source: Annotated[str, Field(min_length=1)] | None = None
    """``debian`` (Debian's source package), or the path of a tarball, a .dsc or a folder."""
    git: Path | None = None
    """The path of a git repository."""
    revision: Annotated[str, Field(min_length=1)] = HEAD
    """The commit, branch or tag of ``git``."""
    program: Path | None = None
    """The path of a tor that is built already."""
    same: TorName | None = None
    """Another tor of the experiment, from which this one differs by chance alone."""
    mix: Mapping[TorName, Share] | None = None
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
        """Which of :data:`KINDS` says what this tor is."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def path(self) -> Path | None:
        """The path of a tarball, a .dsc or a folder; None for Debian's package and what is no source."""
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
        words = ["--git", str(self.git), "--revision", self.revision] if self.git is not None else []
        words += ["--source", str(self.path)] if self.path is not None else []
        words += ["--sha256", self.sha256] if self.sha256 is not None else []
        words += ["--series", self.series] if self.series != "project" else []
        return words + [word for patch in self.patches for word in ("--patch", str(patch))]

    @model_validator(mode="after")
    def _is_one_tor(self) -> Self:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if not given:
            raise RefusedValue("does not say what this tor is", key="", accepted=f"one of {', '.join(KINDS)}")
        if len(given) > 1:
            problem = f"says a second time what this tor is, beside {given[0]}"
            raise RefusedValue(problem, key=given[1], accepted=f"one of {', '.join(KINDS)}")
        return self

    @model_validator(mode="after")
    def _keys_fit_the_kind(self) -> Self:
        takes = {"revision": ("git",), "series": ("source", "git"), "patches": ("source", "git")}
        for key, kinds in {**takes, "sha256": ("source",), "on": ("mix",)}.items():
            if key in self.model_fields_set and self.kind not in kinds:
                raise RefusedValue(f"means nothing beside {self.kind}", key=key, accepted=" or ".join(kinds))
        if self.sha256 is not None and self.path is None:
            problem = "means nothing beside Debian's package, which is verified by its description"
            raise RefusedValue(problem, key="sha256", accepted="a tarball as source")
        for position, patch in enumerate(self.patches):
            if patch in self.patches[:position]:
                raise RefusedValue("names a patch twice", key=f"patches[{position}]", value=str(patch))
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
