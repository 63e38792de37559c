"""Wildcards reach another process of Snakemake as they are, commas and all."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
import snakemake.api  # before the module of the DAG, which it imports in turn
import snakemake.dag
import snakemake_interface_executor_plugins.executors.real as real_executors
from snakemake.target_jobs import parse_target_jobs_cli_args
from snakemake_interface_executor_plugins.utils import TargetSpec

from torsweep.pipeline.target_jobs import decode_wildcards, encode_target_jobs, take_over_target_jobs

WILDCARDS = {
    "network": "paper,load=0.5",
    "seed": "1",
    "variant": "refill_interval=10ms,circuit_policy=ewma,load=0.5",
}


@pytest.mark.parametrize("more", [{}, {"figure": "50%,2C"}])
def test_there_and_back(more):
    wildcards = {**WILDCARDS, **more}
    words = encode_target_jobs([TargetSpec("run", wildcards)])
    assert len(words) == 1
    # A shell between the two, which takes quotes away, changes nothing.
    assert not set(words[0]) & set("\"' ")
    (read,) = parse_target_jobs_cli_args(words)
    assert read.rulename == "run"
    assert decode_wildcards(read.wildcards_dict) == wildcards


def test_snakemake_gives_new_jobs_to_the_function_that_is_taken_over():
    """A later Snakemake that no longer has it must not pass unnoticed."""
    assert asyncio.iscoroutinefunction(snakemake.dag.DAG.new_job)
    assert callable(real_executors.encode_target_jobs_cli_args)


def test_a_new_job_gets_the_values_back():
    seen = []

    class Dag:
        async def new_job(self, rule, targetfile=None, format_wildcards=None, wildcards_dict=None):
            seen.append((rule, targetfile, wildcards_dict))

    real = SimpleNamespace()
    take_over_target_jobs(real, SimpleNamespace(DAG=Dag))
    asyncio.run(Dag().new_job("run", wildcards_dict={"variant": "a=1%2Cb=2"}))
    asyncio.run(Dag().new_job("run", targetfile="file"))
    assert seen == [("run", None, {"variant": "a=1,b=2"}), ("run", "file", None)]
    assert real.encode_target_jobs_cli_args is encode_target_jobs
