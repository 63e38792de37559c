"""Whether an experiment and its network belong together, before anything is sampled.

In: an experiment and the name of one of its plans. Out: the configurations of its networks; InputError when a
variant's network cannot be had, or has clients of which the experiment does not say what they do, or none of
those that a claim is about.
"""

from __future__ import annotations

from torsweep.config.experiment import MAIN_PLAN, Experiment
from torsweep.config.network import NetworkConfig, load_network_config, network_path
from torsweep.config.traffic import ClientKind
from torsweep.errors import InputError


def require_fitting_networks(experiment: Experiment, plan_name: str = MAIN_PLAN) -> list[NetworkConfig]:
    """The configuration of each network that a plan of ``experiment`` runs on; see the module's docstring."""
    asked = {tuple(variant.network_overrides.items()) for variant in experiment.plan(plan_name).variants}
    configs = [
        load_network_config(experiment.network, dict(overrides)) for overrides in sorted(asked, key=str)
    ]
    for config in configs:
        _require_clients(experiment, config)
    return configs


def _require_clients(experiment: Experiment, config: NetworkConfig) -> None:
    counts: dict[ClientKind, int] = {"web": config.web_client_count, "bulk": config.bulk_client_count}
    file = network_path(experiment.network)
    for kind, count in counts.items():
        if count and kind not in experiment.traffic.kinds:
            raise InputError(
                f"experiment {experiment.name} does not say what {kind} clients do",
                file=file,
                key=f"{kind}_clients",
                value=count,
                accepted="0",
            )
    for claim in experiment.claims:
        # Claims about cells inside relays are about no kind of clients.
        about: ClientKind | None = getattr(claim, "kind", None)
        if about is not None and not counts[about]:
            raise InputError(
                f"claim {claim.id} of experiment {experiment.name} is about {about} clients",
                file=file,
                key=f"{about}_clients",
                value=0,
                accepted="1 or more",
            )
