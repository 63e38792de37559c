"""Wildcards with commas in them, on their way to a node of a cluster.

In: two of Snakemake's modules. Out: the same; ``knob=level,knob=level`` arrives whole in another process.
Snakemake names the job that another process of it is to carry out as ``RULE:NAME=VALUE,NAME=VALUE``, and its
reader splits at every comma, whatever stands around it
(https://github.com/snakemake/snakemake/issues/2366). So commas travel percent-encoded (RFC 3986).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def encode_target_jobs(target_jobs: Iterable[Any]) -> list[str]:
    """What stands after ``--target-jobs``: each of Snakemake's TargetSpecs as a word."""
    words = []
    for spec in target_jobs:
        wildcards = [f"{name}={_encoded(value)}" for name, value in spec.wildcards_dict.items()]
        words.append(f"{spec.rulename}:{','.join(wildcards)}")
    return words


def decode_wildcards(wildcards: Mapping[str, str]) -> dict[str, str]:
    """Wildcards as Snakemake has read them from such a word, with their values back."""
    return {name: value.replace("%2C", ",").replace("%25", "%") for name, value in wildcards.items()}


def take_over_target_jobs(real_executors: Any, dag: Any) -> None:
    """Let Snakemake write such words, and understand them.

    ``real_executors`` is ``snakemake_interface_executor_plugins.executors.real``, and ``dag`` the module
    ``snakemake.dag``, whose ``DAG.new_job`` gets the wildcards that were read. No other wildcard has a
    percent sign.
    """
    new_job = dag.DAG.new_job

    async def new_decoded_job(self: Any, rule: Any, wildcards_dict: Any = None, **named: Any) -> Any:
        given = None if wildcards_dict is None else decode_wildcards(wildcards_dict)
        return await new_job(self, rule, wildcards_dict=given, **named)

    dag.DAG.new_job = new_decoded_job
    real_executors.encode_target_jobs_cli_args = encode_target_jobs


def _encoded(value: object) -> str:
    return str(value).replace("%", "%25").replace(",", "%2C")
