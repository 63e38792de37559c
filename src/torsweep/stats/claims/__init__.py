"""Claims: each test of an experiment.yaml is a class here, and is found by being here."""
