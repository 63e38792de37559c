"""tor from its release source: fetched, verified, patched and built, one binary for every variant."""

from pathlib import Path

TOOLS = Path("results/tools/tor")
"""Where builds of tor are kept."""
