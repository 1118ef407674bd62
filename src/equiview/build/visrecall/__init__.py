"""VisRecall from new places (T, section 3): well-known places with names in every language, and pictures."""

from equiview.build.visrecall.build import VisRecallSettings, build_visrecall

__all__ = ["VisRecallSettings", "build_visrecall"]
