"""What a comparison asks: the claims of its study, and what is known of chance beforehand.

In: the networks, the change, and what ``--about`` says. Out: ``claims`` of experiment.yaml, and
``precision.spread``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from torsweep.config.network import NetworkConfig
from torsweep.config.traffic import DownloadGroup
from torsweep.errors import InputError
from torsweep.stats.claims.change import EVERYONE
from torsweep.stats.comparison_rows import BYTES, who
from torsweep.stats.inference.planning import Spread, read_spreads, spread_not_longer

ABOUT_NAMES: Mapping[str, DownloadGroup] = {
    "web": "web",
    "onion services": "onion",
    "small downloads": "small",
    "downloads of 1 MiB": "middle",
    "large downloads": "large",
}
"""What ``--about`` calls groups of downloads."""


def _about(value: object) -> object:
    """``large downloads, last byte`` as the group and the measure."""
    group, _, byte = (part.strip() for part in str(value).partition(","))
    metric = next((metric for metric, name in BYTES.items() if name == byte), None)
    if group not in ABOUT_NAMES or metric is None:
        raise ValueError(f"{', '.join(ABOUT_NAMES)}; each with `, first byte` or `, last byte`")
    return ABOUT_NAMES[group], f"paired_{metric}"


About = Annotated[tuple[str, str], BeforeValidator(_about)]
"""The group and the measure that a comparison is about."""


def groups_of(config: NetworkConfig | None) -> list[DownloadGroup]:
    """The groups that networks of ``config`` have; without one, those of networks of tornettools."""
    if config is None:
        return ["small", "middle", "large"]
    groups: list[DownloadGroup] = ["web", "large"]
    groups += ["onion"] if config.onion_clients else []
    if config.perf_clients:
        groups += ["middle", "small"]
    return groups


def claims_of_study(
    config: NetworkConfig | None,
    knob: str,
    level: str,
    baseline: str,
    about: tuple[str, str] | None,
    blind: str,
) -> Iterator[dict[str, Any]]:
    """A claim for each group, and one for everyone; ``blind`` says why the networks cannot show the
    change."""
    groups = groups_of(config)
    if about is not None and about[0] not in groups:
        names = [name for name, group in ABOUT_NAMES.items() if group in groups]
        raise InputError("these networks have no such downloads", key="--about", accepted=", ".join(names))
    for group in (*groups, EVERYONE):
        claim: dict[str, Any] = {
            "id": group,
            "text": f"{who(group)} are served otherwise with {level} than with {baseline}.",
            "test": "change",
            "knob": knob,
            "kind": group,
        }
        if config is not None and group in ("small", "middle"):
            # A few downloads a minute have no 90th percentile.
            claim |= {"secondary": True, "statistics": ["paired"]}
        if about is not None and group == about[0]:
            claim["about"] = about[1]
        yield claim | ({"cannot_show": blind} if blind else {})


def known_spread(
    network: str, engines: Sequence[str], era: str, pairing: str, measured_s: float
) -> list[dict[str, Any]]:
    """What A/A runs on ``network`` say of the spread of measures, in each engine, as ``precision`` holds it:
    from runs that measured as long, or the next shorter time; chance in those is not smaller."""
    by_measure: dict[tuple[str, str, str], list[Spread]] = {}
    for each in read_spreads():
        if (each.network, each.era, each.pairing) == (network, era, pairing) and each.engine in engines:
            by_measure.setdefault((each.engine, each.kind, each.measure), []).append(each)
    found = []
    for (engine, kind, measure), rows in sorted(by_measure.items()):
        if row := spread_not_longer(rows, measured_s):
            facts = {"engine": engine, "kind": kind, "measure": measure}
            found.append({**facts, "sd": row.log_ratio_sd, "networks": row.networks})
    return found
