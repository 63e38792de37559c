"""What `snakemake publish` takes."""

from __future__ import annotations

from tests.workflow.conftest import TINY, Workspace


def test_published_are_the_experiments_that_can_have_the_network(workspace: Workspace) -> None:
    done = workspace.snakemake("publish", "--dry-run", config=(*TINY, "engine=cellsim"))
    assert done.returncode == 0, done.stdout
    # Streams starve on one circuit of a chain of relays, and ci is no chain.
    published = {
        name
        for name in ("refill_sweep", "scheduler_choice", "starvation")
        if f"published result of {name}," in done.stdout
    }
    assert published == {"refill_sweep", "scheduler_choice"}
