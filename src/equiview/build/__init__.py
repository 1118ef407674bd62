"""Making new benchmarks, and the page on which people review them."""
