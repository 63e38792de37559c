"""Builds of tor for a study: it shares those of the working directory.

In: a study. Out: which of its builds stand; the link ``results/tools/tor`` in its folder. Studies that share
builds share Debian's source package too, so that both sides of a comparison are of one release.
"""

from __future__ import annotations

import os

from torsweep.config.experiment import Experiment
from torsweep.config.tors import TorSource
from torsweep.engines import run_builds
from torsweep.storage.folders import TOOLS_FOLDER, own_folder
from torsweep.study.document import Study
from torsweep.tor import TOOLS, builds
from torsweep.tor.builds import BuiltTor, marker_name
from torsweep.tor.identity import planned_key


def standing_build(study: Study, tor: TorSource) -> BuiltTor | None:
    """The build of ``tor`` that the study has, or will share; None without one."""
    tools = study.folder / TOOLS if (study.folder / TOOLS).exists() else TOOLS
    return builds.standing_build(tools / marker_name(planned_key(tor)))


def share_builds(study: Study) -> None:
    """Link the working directory's builds into the study, unless it has a folder of its own for them."""
    place = study.folder / TOOLS
    if place.exists():
        return
    own_folder(TOOLS, TOOLS_FOLDER)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)  # A link that leads nowhere: the study has been moved.
    place.symlink_to(os.path.relpath(TOOLS.resolve(), place.parent.resolve()), target_is_directory=True)


def require_options(study: Study, experiment: Experiment) -> None:
    """Raise InputError, in tor's own words, for options that a build which stands does not take."""
    standing = [standing_build(study, tor) for tor in study.builds.values()]
    programs = [built.program for built in standing if built is not None and not built.is_arti]
    run_builds.require_options(programs, experiment)
