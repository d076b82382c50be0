"""What stands where an answer cites records."""

from typing import cast


def cited(given: object) -> tuple[str, ...] | None:
    """Return the handles of a list, each once; none if it is no list, None if something in it is no handle.

    Example:
        >>> cited(["[t1]", "t2", "t1"]), cited("t1"), cited([7])
        (('t1', 't2'), (), None)
    """
    values = cast("list[object]", given) if isinstance(given, list) else []
    handles = [value.strip().strip("[]") for value in values if isinstance(value, str)]
    return tuple(dict.fromkeys(handles)) if len(handles) == len(values) else None
