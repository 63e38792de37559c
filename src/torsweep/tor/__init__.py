"""tor from its release source: fetched, verified, patched and built, one binary for every variant."""
