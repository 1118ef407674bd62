"""How often each audit's verdict is wrong, measured on systems whose truth is known.

`labs/error_rates/AUDIT.py` holds the systems of one audit as `SYSTEMS`. `python -m labs.error_rates` runs the
audit's own functions on them and counts the findings; docs/error-rates.md shows the counts.
"""
