"""Tests of labs/error_rates, and the systems they are tried on."""
