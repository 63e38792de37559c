"""Where builds of tor are kept."""

from pathlib import Path

TOOLS = Path("results/tools/tor")
