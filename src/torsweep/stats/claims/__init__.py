"""Claims: each test that an experiment.yaml can name is a class in one of these modules."""
