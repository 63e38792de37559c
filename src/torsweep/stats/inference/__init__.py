"""Intervals over networks, also of comparisons that grow, and what so many networks can show."""
