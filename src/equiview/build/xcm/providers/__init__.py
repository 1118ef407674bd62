"""Where images come from, and how a provider of somebody else's is added."""

from equiview.build.xcm.providers.base import PROVIDERS, Found, Provider, Query, load_provider, register

__all__ = ["PROVIDERS", "Found", "Provider", "Query", "load_provider", "register"]
