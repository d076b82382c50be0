"""Converts the fields of records to JSON and back, by the names of the fields."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar, cast

from agentcore.domain.card import CardSection
from agentcore.domain.claim import ClaimState, Entailment
from agentcore.domain.conclusion import Confidence, Pattern, Premise
from agentcore.domain.evidence import Evidence, EvidenceVerdict, SourceRef
from agentcore.domain.hypothesis import (
    Bearing,
    Factor,
    HypothesisDecision,
    HypothesisSource,
    HypothesisState,
    LoggedDecision,
    WeighedEntry,
)
from agentcore.domain.memory import Level, Status, Trust
from agentcore.domain.question import QuestionCause, QuestionState, QuestionVerdict
from agentcore.domain.signals import FailureCategory, FeedbackKind, Rating
from agentcore.domain.subject_time import PartialDate, SubjectTime
from agentcore.domain.temporal import from_text, to_text

Image = dict[str, Any]
T = TypeVar("T")


def plain_value(value: Any) -> Any:
    """Return a field as JSON has it."""
    write = _WRITERS.get(value.__class__)
    if write is not None:
        return write(value)
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, tuple):
        return [plain_value(item) for item in cast("tuple[Any, ...]", value)]
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, str]", value)
        return {key: mapping[key] for key in sorted(mapping)}
    return value


def typed_value(name: str, value: Any, own: Mapping[str, Callable[[Any], Any]] = MappingProxyType({})) -> Any:
    """Return what a field of this name holds, read from JSON; *own* are converters that go before the usual ones."""
    convert = own.get(name) or _CONVERTERS.get(name)
    if convert is not None:
        return convert(value)
    return from_text(_text(value)) if name.endswith("_at") else _text(value)


def _text(value: Any) -> str:
    return _checked(value, str)


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{value} stands where a number belongs")
    return _checked(value, int)


def _flag(value: Any) -> bool:
    return _checked(value, bool)


def _items(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return list(cast("tuple[Any, ...]", value))
    return cast("list[Any]", _checked(value, list))


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(item) for item in _items(value))


def _counts(value: Any) -> tuple[tuple[str, int], ...]:
    return tuple((_text(entry), _whole(count)) for entry, count in _items(value))


def _pairs(value: Any) -> dict[str, str]:
    return {_text(key): _text(item) for key, item in cast("dict[Any, Any]", _checked(value, dict)).items()}


def _sources(value: Any) -> tuple[SourceRef, ...]:
    return tuple(sorted(SourceRef.parse(_text(item)) for item in _items(value)))


def evidence_image(evidence: Evidence) -> Image:
    """Return *evidence* as images and rows hold it, what is empty left out."""
    whole = {name: plain_value(getattr(evidence, name)) for name in _EVIDENCE_FIELDS}
    return {name: value for name, value in whole.items() if value}


def evidence_of(image: Mapping[str, Any]) -> Evidence:
    """Read what `evidence_image` wrote; KeyError, ValueError or TypeError if it describes none.

    Example:
        >>> image = {"source": "turn:4f00c2", "said_at": "2025-05-01T00:00:00Z", "sentence": "I moved to Lisbon.",
        ...          "verdict": "proven", "verified_by": "host"}
        >>> evidence_image(evidence_of(image)) == image
        True
    """
    values = {name: _EVIDENCE_FIELDS[name](image[name]) for name in _EVIDENCE_FIELDS if image.get(name) is not None}
    return Evidence(**values)


def _evidence(value: Any) -> tuple[Evidence, ...]:
    return tuple(evidence_of(cast("dict[str, Any]", _checked(item, dict))) for item in _items(value))


def premise_image(premise: Premise) -> Image:
    """Return *premise* as images and rows hold it, what is empty left out."""
    whole = {name: plain_value(getattr(premise, name)) for name in _PREMISE_FIELDS}
    return {name: value for name, value in whole.items() if value}


def premise_of(image: Mapping[str, Any]) -> Premise:
    """Read what `premise_image` wrote; KeyError, ValueError or TypeError if it describes none.

    Example:
        >>> image = {"entry_id": "a", "text_key": "4f00c2", "said_at": "2025-05-01T00:00:00Z", "against": True}
        >>> premise_image(premise_of(image)) == image
        True
    """
    return Premise(**{name: read(image[name]) for name, read in _PREMISE_FIELDS.items() if name in image})


def _premises(value: Any) -> tuple[Premise, ...]:
    return tuple(sorted(premise_of(cast("dict[str, Any]", _checked(item, dict))) for item in _items(value)))


def decision_image(logged: LoggedDecision) -> Image:
    """Return a line of the log of decisions as images and rows hold it."""
    return {name: plain_value(getattr(logged, name)) for name in _DECISION_FIELDS if getattr(logged, name)}


def decision_of(image: Mapping[str, Any]) -> LoggedDecision:
    """Read what `decision_image` wrote; KeyError, ValueError or TypeError if it describes none.

    Example:
        >>> image = {"decision": "reject", "by": "person", "at": "2025-05-01T00:00:00Z", "feedback": "They never met."}
        >>> decision_image(decision_of(image)) == image
        True
    """
    return LoggedDecision(**{name: read(image[name]) for name, read in _DECISION_FIELDS.items() if name in image})


def _decisions(value: Any) -> tuple[LoggedDecision, ...]:
    return tuple(decision_of(cast("dict[str, Any]", _checked(item, dict))) for item in _items(value))


def weighed_image(weighed: WeighedEntry) -> Image:
    """Return a weighed entry as images and rows hold it, what is empty left out."""
    return {name: plain_value(value) for name in _WEIGHED_FIELDS if (value := getattr(weighed, name))}


def weighed_of(image: Mapping[str, Any]) -> WeighedEntry:
    """Read what `weighed_image` wrote; KeyError, ValueError or TypeError if it describes none.

    Example:
        >>> image = {"entry_id": "a", "text_key": "4f00c2", "bearing": "supports", "counts": True, "quote": "She did."}
        >>> weighed_image(weighed_of(image)) == image
        True
    """
    return WeighedEntry(**{name: read(image[name]) for name, read in _WEIGHED_FIELDS.items() if name in image})


def _weighed(value: Any) -> tuple[WeighedEntry, ...]:
    return tuple(sorted(weighed_of(cast("dict[str, Any]", _checked(item, dict))) for item in _items(value)))


def _subject_time(value: Any) -> SubjectTime:
    return SubjectTime.parse(_text(value))


def _trust(value: Any) -> Trust:
    return Trust[_text(value).upper()]


def _checked(value: Any, wanted: type[T]) -> T:
    if not isinstance(value, wanted):
        raise TypeError(f"{type(value).__name__} stands where {wanted.__name__} belongs")
    return value


_EVIDENCE_FIELDS: dict[str, Callable[[Any], Any]] = {
    "source": lambda value: SourceRef.parse(_text(value)),
    "speaker": _text,
    "said_at": lambda value: from_text(_text(value)),
    "sentence": _text,
    "verdict": EvidenceVerdict,
    "written_by": _text,
    "verified_by": _text,
    "round": _whole,
}

_PREMISE_FIELDS: dict[str, Callable[[Any], Any]] = {
    "entry_id": _text,
    "text_key": _text,
    "said_at": lambda value: from_text(_text(value)),
    "session": _text,
    "against": _flag,
    "past": _flag,
}

_DECISION_FIELDS: dict[str, Callable[[Any], Any]] = {
    "decision": HypothesisDecision,
    "by": _text,
    "at": lambda value: from_text(_text(value)),
    "feedback": _text,
}

_WEIGHED_FIELDS: dict[str, Callable[[Any], Any]] = {
    "entry_id": _text,
    "text_key": _text,
    "bearing": Bearing,
    "counts": _flag,
    "quote": _text,
    "by": _text,
}

_WRITERS: dict[type, Callable[[Any], Any]] = {
    datetime: to_text,
    Trust: lambda trust: trust.name.lower(),
    SubjectTime: str,
    PartialDate: str,
    SourceRef: str,
    Evidence: evidence_image,
    Premise: premise_image,
    HypothesisSource: str,
    Factor: str,
    LoggedDecision: decision_image,
    WeighedEntry: weighed_image,
}

_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "tags": _texts,
    "see_also": _texts,
    "own": _texts,
    "absorbed": _counts,
    "subject_time": _subject_time,
    "metadata": _pairs,
    "level": Level,
    "status": Status,
    "sources": _sources,
    "evidence": _evidence,
    "pattern": Pattern,
    "confidence": Confidence,
    "premises": _premises,
    "valid_until": lambda value: PartialDate.parse(_text(value)),
    "trust": _trust,
    "kind": FeedbackKind,
    "rating": Rating,
    "failure_category": FailureCategory,
    "base": float,
    "own_count": _whole,
    "step_count": _whole,
    "steps_completed": _whole,
    "duration_ms": _whole,
    "pinned": _flag,
    "generated": _flag,
    "observers": _texts,
    "learning": _flag,
    "cause": QuestionCause,
    "state": QuestionState,
    "section": CardSection,
    "verdict": QuestionVerdict,
    "members": _sources,
    "result": lambda value: SourceRef.parse(_text(value)),
    "similarity": float,
    "succeeded": _flag,
}

CONVERTERS_OF_CLAIMS: Mapping[str, Callable[[Any], Any]] = {
    "negated": _flag,
    "confidence": float,
    "entailment": Entailment,
    "state": ClaimState,
}
CONVERTERS_OF_HYPOTHESES: Mapping[str, Callable[[Any], Any]] = {
    "likelihood": float,
    "confidence": float,
    "source_refs": lambda value: tuple(sorted(HypothesisSource.parse(_text(item)) for item in _items(value))),
    "factors": lambda value: tuple(Factor.parse(_text(item)) for item in _items(value)),
    "quotes": _texts,
    "support": _whole,
    "touching": _sources,
    "weighed": _weighed,
    "state": HypothesisState,
    "decisions": _decisions,
}
"""Of fields whose names mean something else in other kinds."""
