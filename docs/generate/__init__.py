"""The reference in ``docs/reference``, generated from the code's own declarations."""
