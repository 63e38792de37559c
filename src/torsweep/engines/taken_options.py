"""Whether builds of tor take the option bundles of an experiment.

In: programs of tor, bundles, the network whose hosts get them. Out: nothing, or a refusal in tor's own words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from torsweep.config.experiment import Experiment
from torsweep.config.given_options import OptionBundle
from torsweep.config.variant import Variant
from torsweep.config.where import Role
from torsweep.errors import InputError
from torsweep.network.model import Network, read_network
from torsweep.tor.build import find_build
from torsweep.tor.capabilities import refuse_options

ROLES: tuple[Role, ...] = ("relay", "client", "authority")


def bundles_of(experiment: Experiment, *variants: Variant) -> dict[str, OptionBundle]:
    """The bundles with lines of torrc in the experiment's own plan and in ``variants``, by name."""
    levels = [dict(variant.levels).get("options") for variant in variants]
    names = dict.fromkeys([*experiment.knobs.get("options", ()), *filter(None, levels)])
    return {name: experiment.bundles[name] for name in names if experiment.bundles[name].torrc}


def check_builds(builds: Iterable[str], bundles: Mapping[str, OptionBundle], network: Path) -> None:
    """:func:`refuse_bundles` for builds by their versions and a network's directory; ToolMissing without."""
    if bundles:
        programs = [find_build(version=build).program for build in builds]
        refuse_bundles(programs, bundles, read_network(network, latency=False)[0])


def refuse_bundles(
    programs: Iterable[Path], bundles: Mapping[str, OptionBundle], network: Network | None = None
) -> None:
    """Return when each of ``programs`` takes the lines of each bundle, in each role that gets them.

    Without a network, a bundle for hosts by name is taken for one of relays. Raises InputError, which names
    the bundle, the line and the nearest option.
    """
    for program in programs:
        for name, bundle in bundles.items():
            lines = [f"{option} {value}" for option, value in bundle.torrc.items()]
            for role in _roles(bundle, network):
                try:
                    refuse_options(program, lines, role)
                except InputError as error:
                    raise InputError(str(error), key=f"options.{name}.torrc") from None


def _roles(bundle: OptionBundle, network: Network | None) -> tuple[Role, ...]:
    if bundle.on is None:
        return ROLES
    if not bundle.on.names or network is None:
        return (bundle.on.role,)
    hosts = (network.relays, network.clients, network.authorities)
    names = ({host.name for host in each} for each in hosts)
    return tuple(role for role, of_role in zip(ROLES, names, strict=True) if of_role & set(bundle.on.names))
