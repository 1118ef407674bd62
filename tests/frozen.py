"""Imported last before a process forks: all rooms of equiview; what is there by then is no garbage."""

import gc
import importlib
import pkgutil

import equiview

for _room in pkgutil.iter_modules(equiview.__path__, "equiview."):
    if _room.ispkg:
        for _module in pkgutil.walk_packages(importlib.import_module(_room.name).__path__, f"{_room.name}."):
            importlib.import_module(_module.name)

gc.collect()
gc.freeze()
