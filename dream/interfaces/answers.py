"""Writes JSON for clients."""

from typing import Any

import orjson


def dumps(document: Any) -> bytes:
    """Return a document as JSON; texts that no UTF-8 can hold are shown by their escapes."""
    try:
        return orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, orjson.JSONEncodeError):
        return orjson.dumps(_clean(document), option=orjson.OPT_NON_STR_KEYS)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {_clean(name): _clean(one) for name, one in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_clean(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return value
