"""What Snakemake hands over as overrides."""

from __future__ import annotations

import pytest

from torsweep.config.overrides import Overrides
from torsweep.errors import InputError


def test_a_networks_name_that_snakemake_made_a_number_of_is_refused_with_how_to_state_it():
    said = r"network: is a number, which Snakemake makes of .*, got 202406; accepted: .*network: '2024_06'"
    with pytest.raises(InputError, match=said):
        Overrides.read({"network": 202406})
    with pytest.raises(InputError, match="no such network, got '2024_06'"):
        Overrides.read({"network": "2024_06"})
