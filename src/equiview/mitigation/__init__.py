"""Mitigation: what adapts a system, or makes it less biased."""
