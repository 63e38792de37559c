"""Networks and configurations that several tests of this folder share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from torsweep.config.network import NetworkConfig
from torsweep.network.sampling import SampledNetwork, sample_network

# The derivations of the shipped tables stand beside them.
sys.path.append(str(Path(__file__).parents[3] / "topologies"))


def small_config(**changes: object) -> NetworkConfig:
    counts = {"relays": 10, "web_clients": 40, "bulk_clients": 4, "servers": 8}
    return NetworkConfig.model_validate(counts | changes)


@pytest.fixture
def configured() -> Callable[..., NetworkConfig]:
    return small_config


@pytest.fixture(scope="session")
def sampled() -> SampledNetwork:
    return sample_network(small_config(), seed=1)


@pytest.fixture
def rtt_matrix_ms() -> np.ndarray:
    """Symmetric RTTs of 40 hosts on a plane with noise, in milliseconds, none missing."""
    random = np.random.default_rng(5)
    places = random.uniform(0, 150, (40, 2))
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2)) + 4
    noisy = apart * np.exp(np.triu(random.normal(0, 0.2, apart.shape), 1))
    matrix = np.triu(noisy, 1)
    return matrix + matrix.T
