"""Private Tor networks sampled from measured populations.

In: a :class:`~torsweep.config.network.NetworkConfig` and a seed; derived tables under ``topologies/``
or tables imported at the user's site. Out: a network directory, ``network.json`` and ``latency.npy``,
that every variant of an experiment runs on.
"""
