"""Shadow's own options: given as they are, but for those that torsweep sets."""

from __future__ import annotations

import pytest

from torsweep.config.experiment import load_experiment
from torsweep.config.shadow_options import ShadowOptions
from torsweep.engines.run_settings import run_settings
from torsweep.errors import InputError


def test_options_go_into_the_configuration_and_into_runs_under_shadow_alone():
    asked = {"experimental": {"socket_send_buffer": "1 MiB"}, "hosts": {"web1": {"log_level": "debug"}}}
    experiment = load_experiment("refill_sweep", {"shadow": asked})
    runs = {
        engine: run_settings(experiment, engine, "today", experiment.variant("")).model_dump()
        for engine in ("shadow", "emulation")
    }
    assert "shadow" not in runs["emulation"]
    document = {
        "general": {"seed": 1},
        "experimental": {"socket_send_buffer": "256 KiB", "runahead": "5 ms"},
        "hosts": {"relay1": {}, "web1": {"host_options": {"pcap_enabled": True}}},
    }
    assert ShadowOptions.model_validate(runs["shadow"]["shadow"]).into(document) == {
        "general": {"seed": 1},
        "experimental": {"socket_send_buffer": "1 MiB", "runahead": "5 ms"},
        "hosts": {"relay1": {}, "web1": {"host_options": {"pcap_enabled": True, "log_level": "debug"}}},
    }


def test_a_host_that_is_not_there_is_named():
    options = ShadowOptions(hosts={"web9": {}})
    with pytest.raises(InputError, match=r"^shadow\.hosts: no such host, got 'web9'; accepted: relay1 to w"):
        options.into({"hosts": {"relay1": {}, "web1": {}}})
