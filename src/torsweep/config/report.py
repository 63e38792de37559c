"""The published report that an experiment is about.

In: the key ``report`` of an experiment.yaml. Out: :class:`Report`.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from torsweep.config.reading import Section

Sentence = Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S")]


class Report(Section):
    """The report that the experiment repeats or answers."""

    title: Sentence
    """What it is called, with the year."""
    source: Sentence
    """Where it is: an address of the web, or a text that names it."""

    @property
    def address(self) -> str | None:
        """``source`` where it is an address of the web, None where it is a text."""
        return self.source if re.fullmatch(r"https?://[^\s<>\"]+", self.source) else None
