"""What figures share: looks of levels and style, facets, axes, the source of numbers."""
