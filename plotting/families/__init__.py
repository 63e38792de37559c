"""Figures that share their drawing: a module for each family, whose ``FIGURES`` has them by name."""
