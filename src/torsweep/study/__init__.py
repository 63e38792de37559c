"""Studies: folders of the user's own, in which the pipeline runs."""
