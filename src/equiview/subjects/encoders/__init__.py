"""Encoders: what makes vectors of images and texts. A file for each family."""
