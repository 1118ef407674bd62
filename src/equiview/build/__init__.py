"""Builders of new benchmarks."""
