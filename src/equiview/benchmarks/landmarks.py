"""Landmarks: places that a model describes from memory, their names by language, and how it is asked.

A benchmark of landmarks has images with `landmark_id`, and tables `landmarks` and `names`. With the table
`appearance_prompts` it says in its own words how to ask; without it an audit has words for buildings.
"""

from __future__ import annotations

import polars as pl

from equiview.io.tables import Column, Schema

LANDMARKS = Schema(
    "landmarks",
    (
        Column("landmark_id", pl.String, "a distinct name of the landmark", unique=True),
        Column("region", pl.String, "the language of the region where it stands, an ISO 639 code"),
    ),
)
NAMES = Schema(
    "names",
    (
        Column("landmark_id", pl.String, "the landmark"),
        Column("language", pl.String, "a language"),
        Column("name", pl.String, "what the landmark is called in it"),
    ),
)
APPEARANCE_PROMPTS = Schema(
    "appearance_prompts",
    (
        Column("language", pl.String, "a language; each has as many rows"),
        Column("text", pl.String, "what is asked in it; {landmark_name} stands for the name"),
    ),
)
