"""Says an error to a person, and chooses the exit code."""

import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from enum import IntEnum
from typing import Final, cast

from cyclopts import CycloptsError, UnknownCommandError, UnknownOptionError, UnusedCliTokensError

from agentcore.errors import AgentcoreError, InvalidInputError
from dream.interfaces.cli.app import COMMANDS, EVERYWHERE
from dream.interfaces.cli.render.text import one_line

_MAX_DETAIL = 300
_SENTENCE_END = re.compile(r"[.?] ([A-Z])")
_DESTROYING = frozenset({"forget"})
"""Commands that nothing takes back: whoever mistyped another one is not led to them."""
_OTHER_WORDS = {"forecast": "plan --forecast"}
"""What people call a thing that is an option of a command, and how it is written."""


class Exit(IntEnum):
    """Exit codes."""

    OK = 0
    FAILED = 1
    """The run failed, or the storage did."""
    BAD_INPUT = 2
    INTERRUPTED = 130
    """As shells report a process ended by Ctrl+C."""
    UNREAD = 141
    """As shells report a process whose reader went away."""


INTERRUPTED = "Interrupted: what was committed so far stands, run the command again to go on."


def exit_code(error: BaseException) -> Exit:
    """Return the exit code of *error*; of a group the gravest.

    Example:
        >>> from agentcore.errors import InvalidContentError
        >>> exit_code(InvalidContentError(field="content", problem="it is blank"))
        <Exit.BAD_INPUT: 2>
    """
    return min(_exit_code(one) for one in _together(error))


def _exit_code(error: BaseException) -> Exit:
    return Exit.BAD_INPUT if isinstance(error, (InvalidInputError, CycloptsError)) else Exit.FAILED


def sentence(error: BaseException) -> str:
    """Return one line that says what is wrong and what to do.

    Example:
        >>> sentence(KeyError("x"))
        "Something unexpected happened (KeyError: 'x'): run it again with --debug and report what that shows."
    """
    first, *others = dict.fromkeys(map(_sentence, _together(error)))
    return first + (f" (And {len(others)} more.)" if others else "")


def _together(error: BaseException) -> list[BaseException]:
    """Return the errors of a group, of groups within it too, or the error itself."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    group = cast("BaseExceptionGroup[BaseException]", error)
    return [one for inner in group.exceptions for one in _together(inner)]


def _sentence(error: BaseException) -> str:
    if isinstance(error, AgentcoreError):
        return one_line(str(error))
    if isinstance(error, CycloptsError):
        return _usage(error)
    if isinstance(error, OSError):
        return _system(error)
    detail = one_line(str(error))[:_MAX_DETAIL]
    what = f"{type(error).__name__}: {detail}" if detail else type(error).__name__
    return f"Something unexpected happened ({what}): run it again with --debug and report what that shows."


_INSTEAD: Final = {"dream backup": "name the folder for the copy by --to"}
"""What is said of an argument too many of some commands."""


def _usage(error: CycloptsError) -> str:
    chain = " ".join(("dream", *(error.command_chain or ())))
    tokens = error.unused_tokens or [""]
    if isinstance(error, UnknownCommandError):
        meant = "".join(f", perhaps you mean {one}" for one in _near(tokens[0], error.command_chain or ()))
        said = f"There is no command {tokens[0]!r}{meant}"
    elif isinstance(error, UnusedCliTokensError):
        hint = _INSTEAD.get(chain, "a text of several words is put in quotes")
        said = f"{tokens[0]!r} is one argument too many; {hint}"
    elif isinstance(error, UnknownOptionError):
        word = error.token.keyword or error.token.value
        known = {*EVERYWHERE, *(name for one in error.argument_collection if one.parse for name in one.names)}
        said = f"Unknown option: {word}" + "".join(f", perhaps you mean {one}" for one in _alike(word, known))
    else:
        said = _SENTENCE_END.sub(lambda end: f"; {end[1].lower()}", str(error)).rstrip(".? ")
    return one_line(f"{said}: `{chain} --help` shows how it is written.")


def _near(word: str, chain: Sequence[str]) -> list[str]:
    """Return what was probably meant by a word that is no command here; nothing if that would destroy."""
    if not chain and word in _OTHER_WORDS:
        return [_OTHER_WORDS[word]]
    return _alike(word, _words_after(chain) - _DESTROYING)


def _alike(word: str, known: Collection[str]) -> list[str]:
    return get_close_matches(word, sorted(known), n=1)


def _words_after(chain: Sequence[str]) -> set[str]:
    """Return the words that may follow the first words of a command."""
    place = len(chain)
    written = [name.split() for name in COMMANDS]
    return {words[place] for words in written if words[:place] == list(chain) and len(words) > place}


def _system(error: OSError) -> str:
    where = f" for {error.filename!r}" if error.filename is not None else ""
    problem = error.strerror or type(error).__name__
    return one_line(f"The system refused it{where} ({problem}): check the path, its permissions and the free space.")
