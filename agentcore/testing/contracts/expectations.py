"""What a contract test says when it is not met; the same with and without pytest's own rewriting of `assert`."""

from collections.abc import Awaitable
from typing import TypeVar

E = TypeVar("E", bound=BaseException)
T = TypeVar("T")


def expect_equal(found: T, wanted: T) -> None:
    """Fail unless *found* equals *wanted*.

    Raises:
        AssertionError: it does not; the message shows both.

    Example:
        >>> expect_equal(len("tea"), 3)
    """
    if found != wanted:
        raise AssertionError(f"The storage gave\n    {found!r}\nwhere the contract wants\n    {wanted!r}")


def expect_within(part: str, text: str) -> None:
    """Fail unless *part* stands somewhere in *text*.

    Raises:
        AssertionError: it does not.
    """
    if part not in text:
        raise AssertionError(f"The storage said\n    {text!r}\nwhere the contract wants\n    {part!r}")


def expect_some(found: T | None) -> T:
    """Return *found*, which must not be None.

    Raises:
        AssertionError: it is.
    """
    if found is None:
        raise AssertionError("The storage gave None where the contract wants a record")
    return found


async def expect_error(kind: type[E], call: Awaitable[object]) -> E:
    """Return the error of that *kind* that *call* has to end in; any other passes unchanged.

    Raises:
        AssertionError: *call* ended well.
    """
    try:
        result = await call
    except kind as error:
        return error
    raise AssertionError(f"The storage gave\n    {result!r}\nwhere the contract wants {kind.__name__}")
