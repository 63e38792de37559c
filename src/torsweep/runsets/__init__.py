"""Sets of runs, whoever made them: runs × dimensions (knobs, tor, source, import) × networks, and the tables
of a plan that are gathered from them."""
