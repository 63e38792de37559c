"""From what a run saw to its tables."""
