"""What figures share: marks of levels and style, facets, axes, the source of numbers."""
