"""Everything that a run's processes read: who is where, their keys and torrcs, and the links between them."""
