"""The Shadow engine: real, patched tor and TGen under the Shadow simulator; see :mod:`.run`."""
