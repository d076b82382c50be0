"""Imports dependency-injector without the web framework that it would import for those who inject into routes."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

_UNWANTED: Final = "fastapi"
"""Half a second, where it is installed; nothing is injected into routes here."""


@contextmanager
def _as_if_missing(name: str) -> Generator[None]:
    """Have an optional import fail within the block, unless the module is there already."""
    is_there = name in sys.modules
    if not is_there:
        sys.modules[name] = None  # pyright: ignore[reportArgumentType] - how Python says that there is none
    try:
        yield
    finally:
        if not is_there:
            del sys.modules[name]


with _as_if_missing(_UNWANTED):
    from dependency_injector import containers, providers

__all__ = ["containers", "providers"]
