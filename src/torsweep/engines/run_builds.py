"""The builds of tor that play a run, and whether they take its options.

In: the tors of an experiment, files that name builds. Out: the build of each tor by its name; a refusal, in
tor's own words, of what a build does not take.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import get_args

from torsweep.config.experiment import Experiment
from torsweep.config.option_bundle import OptionBundle
from torsweep.config.tors import DEBIAN, TorSource
from torsweep.config.variant import Variant
from torsweep.config.where import Role
from torsweep.engines.contract import Engine
from torsweep.errors import InputError, ToolMissing
from torsweep.network.model import Network
from torsweep.tor import TOOLS
from torsweep.tor.builds import find_build, marker_name, read_stamp
from torsweep.tor.identity import planned_key
from torsweep.tor.names import require_known
from torsweep.tor.program import refuse_options
from torsweep.tor.series import read_series


def read_stamps(texts: Sequence[str], main: str) -> dict[str, Path]:
    """``NAME=FILE`` texts as files by the name of a tor; without a name, the file is of the tor ``main``."""
    named = (re.fullmatch(r"(?:([a-z][a-z0-9_]*)=)?(.*)", text, re.DOTALL) for text in texts)
    return {match[1] or main: Path(match[2]) for match in named if match is not None}


def tor_builds(
    engine: Engine, sources: Mapping[str, TorSource], names: Sequence[str], stamps: Mapping[str, Path]
) -> dict[str, str]:
    """The build of each tor in ``names``: what its file in ``stamps`` names; without one, what stands.

    None for a model, and for ``stock`` where no build stands: the run is then not bound to one. Raises
    InputError when a file names no build; ToolMissing when another tor is not built.
    """
    if not engine.runs_tor:
        return {}
    for name in stamps:
        if name not in names:
            raise InputError("is no tor of this run", key="--tor", value=name, accepted=", ".join(names))
    versions = {}
    for name in names:
        if name in stamps:
            versions[name] = read_stamp(stamps[name])
        elif sources[name].is_stock:
            with suppress(ToolMissing):
                versions[name] = find_build().version
        else:
            versions[name] = _standing(name, sources[name])
    return versions


def _standing(name: str, source: TorSource) -> str:
    stamp = TOOLS / marker_name(planned_key(source))
    if not stamp.is_file():
        command = shlex.join(["torsweep", "tor", "build", *source.arguments(), "--stamp", str(stamp)])
        raise ToolMissing(f"tors.{name}: is not built; `{command}` builds it")
    return read_stamp(stamp)


def require_options(
    programs: Iterable[Path],
    experiment: Experiment,
    variants: Iterable[Variant] = (),
    network: Network | None = None,
) -> None:
    """Return when each of ``programs`` takes each option bundle of ``experiment`` in every role concerned.

    The bundles are those of the experiment's own plan and of ``variants``. Without a network, a bundle for
    hosts by name is taken for one of relays. Raises InputError, which names the bundle, the line and the
    nearest option.
    """
    levels = [dict(variant.levels).get("options") for variant in variants]
    names = dict.fromkeys([*experiment.plan().knobs.get("options", ()), *filter(None, levels)])
    bundles = {name: experiment.bundles[name] for name in names if experiment.bundles[name].torrc}
    for program in programs if bundles else ():
        for name, bundle in bundles.items():
            lines = [f"{option} {value}" for option, value in bundle.torrc.items()]
            for role in _roles(bundle, network):
                try:
                    refuse_options(program, lines, role)
                except InputError as error:
                    raise InputError(str(error), key=f"options.{name}.torrc") from None


def require_known_options(
    experiment: Experiment, variants: Iterable[Variant], source_of: Callable[[str], TorSource]
) -> None:
    """InputError for an option or a parameter of a variant whose tors, each of ``source_of``, are all
    Debian's, and which these do not know. What other tors know is asked of them when they stand."""
    for variant in variants:
        bundle = experiment.bundle(variant)
        if not (bundle.torrc or bundle.consensus):
            continue
        sources = [source_of(name) for name in experiment.tors_of(variant).names]
        if any(source.source != DEBIAN or source.patches for source in sources):
            continue
        level = dict(variant.levels).get("options")
        above = "knobs" if level is None else f"options.{level}"
        more = read_series().options if all(source.series == "project" for source in sources) else ()
        key = functools.partial("{}.{}.{}".format, above)
        require_known(bundle.torrc, bundle.consensus, key, more)


def _roles(bundle: OptionBundle, network: Network | None) -> tuple[Role, ...]:
    if bundle.on is None:
        return get_args(Role)
    if not bundle.on.names or network is None:
        return (bundle.on.role,)
    hosts = {"relay": network.relays, "client": network.tor_clients, "authority": network.authorities}
    names = set(bundle.on.names)
    return tuple(role for role in get_args(Role) if names & {host.name for host in hosts[role]})
