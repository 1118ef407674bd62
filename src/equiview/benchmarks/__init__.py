"""Benchmarks: one reader for each data set, those that come with equiview included."""

from equiview.benchmarks.base import (
    BENCHMARKS,
    Benchmark,
    benchmark,
    load_benchmark,
    same_attribute,
    same_image,
)

__all__ = ["BENCHMARKS", "Benchmark", "benchmark", "load_benchmark", "same_attribute", "same_image"]
