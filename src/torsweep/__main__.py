"""``python -m torsweep``: the same as the ``torsweep`` command."""

from __future__ import annotations

from torsweep.cli import main

main()
