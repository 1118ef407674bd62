"""Taking objects out of pictures, so that a retriever can be asked whether it still sees them (O)."""

from equiview.build.removal.build import build_removal
from equiview.build.removal.fill import filling
from equiview.build.removal.images import RemovalSettings
from equiview.build.removal.rules import RemovalRules

__all__ = ["RemovalRules", "RemovalSettings", "build_removal", "filling"]
