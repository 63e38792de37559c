"""What figures share: style, looks of levels, facets, the source of numbers."""
