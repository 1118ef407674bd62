"""KnowRecall from new places (T, section 2): questions from articles, checked, translated, selected."""

from equiview.build.knowrecall.build import (
    KnowRecallModels,
    KnowRecallSettings,
    build_knowrecall,
    plan_knowrecall,
)

__all__ = ["KnowRecallModels", "KnowRecallSettings", "build_knowrecall", "plan_knowrecall"]
