"""Benchmarks of speed and memory: equiview beside its peers, on the same data, in turns."""
