"""Everything that exists only during a run: processes, their control ports, traffic, and the watching of
them."""
