"""What lives while a run does: processes, their control ports, traffic, and what looks after them."""
