"""Networks that ``tornettools generate`` made, played under Shadow as they are.

:mod:`~torsweep.tornet.folder` reads and checks such a folder; :mod:`torsweep.network.given` makes the network
directory of a replicate of it, and :mod:`torsweep.engines.shadow.tornet` what Shadow reads of a run on it.
"""
