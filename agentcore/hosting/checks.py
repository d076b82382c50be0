"""Checks words, instants and pairs that hosts hand to services."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from agentcore.domain.memory import SourceRef, Trust
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.temporal import to_micros
from agentcore.domain.text import MAX_CONTENT, clean_content
from agentcore.errors import InvalidContentError, InvalidOptionsError

E = TypeVar("E", bound=StrEnum)

MAX_NAME = 256
"""Longest name of a session, skill, speaker or wisp, in characters."""

_JUDGED = (1900, 3000)
"""Years that a dream can judge by: what is years before or after them is on the calendar, too."""


def clean_text(field: str, text: object, *, most: int = MAX_CONTENT) -> str:
    """Return *text* stripped, if it can be stored as the *field* of a record, with *most* characters at most.

    Raises:
        InvalidContentError: it is no text or blank, or `clean_content` refuses it.

    Example:
        >>> clean_text("summary", " Sends mail. ")
        'Sends mail.'
    """
    if not isinstance(text, str):
        raise InvalidContentError(field=field, problem=f"it is {type(text).__name__}, not text")
    if not text.strip():
        raise InvalidContentError(field=field, problem="it is blank; give at least one visible character")
    return clean_content(text, most=most)


def clean_name(field: str, text: object, *, most: int = MAX_NAME) -> str:
    """Return *text* stripped, if it can name something: one line of at most *most* characters.

    Raises:
        InvalidContentError: it is no text, blank, too long, or holds a control character.

    Example:
        >>> clean_name("session id", " s1 ")
        's1'
    """
    name = clean_text(field, text)
    if len(name) > most:
        raise InvalidContentError(field=field, problem=f"it has {len(name):,} characters; give at most {most}")
    if not name.isprintable():
        raise InvalidContentError(field=field, problem="it holds a line break or a control character; remove it")
    return name


def optional_text(field: str, text: object) -> str | None:
    """Return *text* as `clean_text` does; None and blank give None."""
    return None if text is None or (isinstance(text, str) and not text.strip()) else clean_text(field, text)


def optional_name(field: str, text: object) -> str | None:
    """Return *text* as `clean_name` does; None and blank give None."""
    return None if text is None or (isinstance(text, str) and not text.strip()) else clean_name(field, text)


def clean_limit(limit: object) -> int:
    """Return *limit* if so many answers can be given at most.

    Raises:
        InvalidOptionsError: it is no whole number of 1 or more.

    Example:
        >>> clean_limit(3)
        3
    """
    if not isinstance(limit, int) or limit < 1:
        raise InvalidOptionsError(field="k", value=limit, allowed="give 1 or more, as a whole number")
    return limit


def clean_instant(instant: object) -> datetime | None:
    """Return *instant* in UTC, None staying None.

    Raises:
        InvalidContentError: it is no datetime, has no time zone or lies outside the years 1 to 9999.
    """
    if instant is None:
        return None
    if not isinstance(instant, datetime):
        raise InvalidContentError(field="instant", problem=f"it is {type(instant).__name__}; give an aware datetime")
    to_micros(instant)
    return instant.astimezone(UTC)


def clean_as_of(instant: object) -> datetime | None:
    """Return an instant to judge by in UTC, None staying None.

    Raises:
        InvalidContentError: it is none, or lies so far away that no time before or after it can be counted.
    """
    as_of = clean_instant(instant)
    if as_of is not None and not _JUDGED[0] <= as_of.year < _JUDGED[1]:
        problem = f"{as_of.isoformat()} is too far away to judge by; give one from {_JUDGED[0]} to {_JUDGED[1] - 1}"
        raise InvalidContentError(field="instant", problem=problem)
    return as_of


def clean_importance(value: object) -> float:
    """Return *value* as an importance.

    Raises:
        InvalidContentError: it is no number from 0 to 1.

    Example:
        >>> clean_importance(1)
        1.0
    """
    if not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        raise InvalidContentError(field="importance", problem=f"{value!r} is not a number from 0 to 1")
    return float(value)


def clean_metadata(metadata: Mapping[str, str] | None) -> dict[str, str]:
    """Return *metadata* as a dictionary of its own.

    Raises:
        InvalidContentError: a key or value is no text, a key is blank, or a text cannot be stored.

    Example:
        >>> clean_metadata({"source": "mail"})
        {'source': 'mail'}
    """
    cleaned: dict[str, str] = {}
    for key, value in (metadata or {}).items():
        name = clean_name("metadata key", key)
        # An empty value is a value: it says that the key is known and holds nothing.
        cleaned[name] = optional_text(f"metadata value of {name}", value) or ""
    return cleaned


def clean_subject_time(value: SubjectTime | str | None) -> SubjectTime | None:
    """Return the subject time that *value* names; None and blank give None.

    Raises:
        InvalidSubjectTimeError: it cannot be read.

    Example:
        >>> str(clean_subject_time("2025-05"))
        '2025-05'
    """
    if isinstance(value, str):
        return SubjectTime.parse(value.strip()) if value.strip() else None
    return value


def clean_sources(sources: Iterable[SourceRef]) -> tuple[SourceRef, ...]:
    """Return *sources* sorted and distinct; refuse what is none.

    Raises:
        InvalidContentError: one is no `SourceRef`.
    """
    given = set(sources)
    for one in given:
        if not isinstance(one, SourceRef):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without types
            problem = f"{one!r} is no source: give SourceRef(SourceKind.TURN, id) or another kind"
            raise InvalidContentError(field="sources", problem=problem)
    return tuple(sorted(given))


def clean_query(query: object) -> str:
    """Return *query* if it is text, of any kind and length.

    Raises:
        InvalidOptionsError: it is no text.
    """
    if not isinstance(query, str):
        raise InvalidOptionsError(field="query", value=query, allowed="give text")
    return query


def clean_count(field: str, value: object) -> int:
    """Return *value* as a whole number of 0 or more.

    Raises:
        InvalidContentError: it is none.

    Example:
        >>> clean_count("step count", 3)
        3
    """
    if not isinstance(value, int) or not 0 <= value < 2**63:
        raise InvalidContentError(field=field, problem=f"{value!r} is not a whole number of 0 or more")
    return value


def clean_member(kind: type[E], field: str, value: str) -> E:
    """Return the member of *kind* that *value* is or names.

    Raises:
        InvalidContentError: it is none.
    """
    try:
        return kind(value)
    except ValueError:
        problem = f"{str(value)[:80]!r} is none; give one of {', '.join(kind)}"
        raise InvalidContentError(field=field, problem=problem) from None


def clean_trust(value: object) -> Trust:
    """Return *value* as a trust.

    Raises:
        InvalidContentError: it is none.

    Example:
        >>> clean_trust(2)
        <Trust.STATED: 2>
    """
    if isinstance(value, int) and value in set(Trust):
        return Trust(value)
    choice = ", ".join(f"Trust.{member.name}" for member in Trust)
    raise InvalidContentError(field="trust", problem=f"{value!r} is none; give one of {choice}")


def refuse_missing(given: Iterable[str], required: Iterable[str]) -> None:
    """Refuse a call that lacks keyword arguments, as Python itself would.

    Raises:
        TypeError: one of *required* is not *given*.
    """
    missing = sorted(set(required) - set(given))
    if missing:
        raise TypeError(f"There is an argument missing: give {', '.join(missing)}.")


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse keyword arguments that a call does not have, as Python itself would.

    Raises:
        TypeError: one of *given* is not *known*.
    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise TypeError(f"There is no argument {unknown[0]!r}: use one of {', '.join(sorted(known))}.")
