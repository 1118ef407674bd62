"""`python -m equiview` is `equiview`."""

from equiview.cli import main

main()
