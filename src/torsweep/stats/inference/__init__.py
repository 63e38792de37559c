"""Intervals over networks, how many more networks would decide something, and intervals of a growing
sweep."""
