"""The features of tor, one entry each; nothing else lists them.

A new one has a module with its :class:`~torsweep.config.knob.TorFeature`, an entry here, a field of
:class:`~torsweep.config.tor_settings.TorSettings` and, where it fills columns, these in the circuits table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torsweep.config.conflux import CONFLUX
from torsweep.config.knob import TorFeature

if TYPE_CHECKING:
    import polars as pl

FEATURES: tuple[TorFeature, ...] = (CONFLUX,)

CIRCUIT_KEYWORDS = {
    column: keyword for feature in FEATURES for column, keyword in feature.circuit_keywords.items()
}
"""Column of the circuits table → the keyword of circuit events that fills it."""


def features_on(tor: Any) -> tuple[TorFeature, ...]:
    """The features that the settings ``tor`` of a run have on."""
    return tuple(feature for feature in FEATURES if feature.is_on(tor))


def circuit_events(tor: Any) -> tuple[str, ...]:
    """The events that clients' tors are asked for because of the features that are on."""
    return tuple(event for feature in features_on(tor) for event in feature.circuit_events)


def counted_features(circuits: pl.DataFrame) -> dict[str, Any]:
    """Counts for provenance.json, for each feature that a circuits table shows in use."""
    return {feature.knob.name: counts for feature in FEATURES if (counts := feature.counted(circuits))}
