"""The providers of images that come with equiview."""

from typing import Any

from equiview.data.registry import Registry

PROVIDERS: Registry[Any] = Registry("provider", "equiview.providers", "builtins:type")
PLACES: tuple[tuple[str, ...], ...] = (
    ("local:Collected", "what an earlier `build xcm` in a folder collected", "collected:DIR"),
    ("commons:Commons", "the search of Wikimedia Commons", "commons", "commons:url=API"),
    ("local:Folder", "images in folders CONCEPT/COUNTRY", "folder:DIR"),
    ("local:Table", "addresses or files of images, in a CSV or Parquet file", "table:FILE"),
    ("shards:Shards", "images and .json in tar files", "webdataset:DIR", "webdataset:FILE.tar"),
)

for _where, _about, *_usage in PLACES:
    PROVIDERS.place(f"equiview.build.xcm.providers.{_where}", _about, *_usage)
