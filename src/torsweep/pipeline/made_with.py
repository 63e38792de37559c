"""With which torsweep a published study was analysed, for those who make it again.

In: the modules that make tables, summaries and figures. Out: ``made_with.json`` in the study of a bundle, and
a sentence where this torsweep is another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torsweep import __version__
from torsweep.formats.files import read_json
from torsweep.source_keys import sources_key

MADE_WITH = Path("made_with.json")

_ANALYSIS = ("torsweep/runsets/collect.py", "torsweep/stats", "plotting")
"""What makes tables of runs, summaries and figures; runs name the versions of their engines themselves."""


def made_with() -> Mapping[str, str]:
    """The version of this torsweep, and a key of what its analysis executes."""
    return {"torsweep": __version__, "analysis": sources_key(*_ANALYSIS)}


def other_torsweep() -> str | None:
    """What a reader has to know of the published study in the working directory; None where it is no such
    study, or was made with this torsweep. Raises InputError for a file that is no JSON."""
    if not MADE_WITH.is_file():
        return None
    told, here = read_json(MADE_WITH), made_with()
    if told == here:
        return None
    versions = (f"{one.get('torsweep')} (analysis {one.get('analysis')})" for one in (told, here))
    return "this study was published with torsweep {}; this is {}: numbers may differ".format(*versions)
