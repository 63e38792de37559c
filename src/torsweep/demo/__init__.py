"""A small study that ships: eight runs of real tor, and what torsweep makes of them."""
