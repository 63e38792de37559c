"""Pages with names: what an experiment says of them, and what a run has."""

from __future__ import annotations

from pathlib import Path

import pytest

from torsweep.config.experiment import load_experiment
from torsweep.config.reading import validate
from torsweep.config.traffic import ClientTraffic
from torsweep.engines.run_settings import run_settings
from torsweep.errors import InputError

SITES = {"sites": {"news": ["20 KB", "3 KB"], "video": ["50 KB", "1 KB", "1 KB", "2 KB"]}}
THINK = {"min": "1 s", "max": "2 s"}


def test_a_run_has_the_sites_and_begins_with_whole_pages() -> None:
    experiment = load_experiment("refill_sweep", {"traffic.web.response": SITES})
    traffic = run_settings(experiment, "cellsim", "2012", experiment.variant("")).traffic
    assert traffic["web"].sites == {"news": (20_000, 3_000), "video": (50_000, 1_000, 1_000, 2_000)}
    assert traffic["bulk"].under_way_at_start and not traffic["web"].under_way_at_start
    assert traffic["bulk"].sites is None


def test_means_are_those_of_the_sites() -> None:
    does = ClientTraffic.model_validate({"response": SITES, "think": THINK})
    assert (does.mean_objects, does.mean_size, does.mean_response) == (3, 12_833, 38_499)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"response": {"sites": {}}}, "response.sites: .*at least 1 item"),
        ({"response": {"sites": {"news": []}}}, "response.sites.news: .*at least 1 item"),
        ({"response": {"sites": {"a b": ["1 KB"]}}}, "response.sites.a b: .*got 'a b'"),
        ({"response": {"sites": {"news": ["0 B"]}}}, r"response.sites.news\[0\]: .*out of range.*1 B to 8"),
        ({"response": SITES, "page": {"quantiles": "tor_circuit_streams"}}, "page: sites say how many"),
        ({"response": SITES, "isolate_streams": True}, "isolate_streams: the objects of a page share"),
    ],
)
def test_wrong_sites_are_refused(changed: dict, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        validate(ClientTraffic, {"think": THINK, **changed}, Path("experiment.yaml"))
