"""Benchmarks: one reader for each data set, the embedded one included."""

from equiview.benchmarks.base import BENCHMARKS, Benchmark, benchmark, load_benchmark, same_image

__all__ = ["BENCHMARKS", "Benchmark", "benchmark", "load_benchmark", "same_image"]
