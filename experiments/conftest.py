"""Tests beside an experiment.yaml may use the small sweep that tests of statistics use."""

from tests.unit.stats.conftest import experiment, summary, tables

__all__ = ["experiment", "summary", "tables"]
