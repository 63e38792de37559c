"""Measures of runs beside the times of downloads: each is declared once, and all share two statistics."""
