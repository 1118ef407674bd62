"""Engines: where independent parts of slow work are done, in this process or by the workers of a cluster.

Whoever has parts of work asks `current()` to do them; `using` says which engine that is. A part gives the
same result wherever it is done, and results come in the order of the parts: an engine changes no byte.
"""

from equiview.engine.base import Engine, Local, current, current_for, using
from equiview.engine.named import opened

__all__ = ["Engine", "Local", "current", "current_for", "opened", "using"]
