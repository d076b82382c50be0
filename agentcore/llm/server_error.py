"""Reads what a server's error says."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import cast

import orjson

_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TOO_LONG = re.compile(
    r"context[ _]length|maximum context|context (?:window|size)|available context|too many tokens"
    r"|prompt is too long|input is too long|exceeds? the (?:model'?s )?(?:maximum )?(?:context|number of tokens)",
    re.IGNORECASE,
)
_USED_UP = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerError:
    """A server's error: untrusted, never shown to anybody but for its code.

    Args:
        status: The HTTP status, or the one that stands in the error itself.
        code: Its short code, of `[A-Za-z0-9_.-]`; empty without one.
        param: The parameter it names, or empty.
        text: What it says.
    """

    status: int
    code: str = ""
    param: str = ""
    text: str = ""

    def is_about(self, param: str, words: Iterable[str]) -> bool:
        """Tell whether the server names *param*, or says one of *words*."""
        text = self.text.casefold()
        return self.param.split(".")[0] == param or (not self.param and any(word in text for word in words))

    @property
    def is_context_too_long(self) -> bool:
        """Whether prompt and answer did not fit."""
        if self.status not in {400, 413, 422, 500}:
            return False
        return self.code in {"context_length_exceeded", "exceed_context_size_error"} or bool(
            _TOO_LONG.search(self.text),
        )

    @property
    def is_used_up(self) -> bool:
        """Whether waiting does not help, because the account has no credit."""
        return self.code in _USED_UP


def read_server_error(status: int, body: bytes) -> ServerError:
    """Return what an error's body says; never raises.

    Example:
        >>> read_server_error(400, b'{"error": {"code": "context_length_exceeded"}}').is_context_too_long
        True
    """
    try:
        document: object = orjson.loads(body)
    except ValueError:
        return ServerError(status=status, text=body.decode("utf-8", "replace"))
    return refusal_in(status, document)


def refusal_in(status: int, document: object) -> ServerError:
    """Return what the parsed body of an error says."""
    error = _mapping(document).get("error", document)
    fields = _mapping(error)
    text = error if isinstance(error, str) else fields.get("message") or fields.get("detail") or ""
    return ServerError(
        status=status,
        code=_code(fields.get("code")) or _code(fields.get("type")),
        param=_code(fields.get("param")),
        text=str(text),
    )


def read_retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Return how long a server asks to wait; None where it does not say, or nothing sensible.

    Args:
        headers: Of its reply; `retry-after-ms` (milliseconds), `retry-after` (seconds or an HTTP date).
        now: What a date is counted from.

    Example:
        >>> read_retry_after({"retry-after": "2.5"}, datetime(2025, 6, 14, tzinfo=UTC))
        datetime.timedelta(seconds=2, microseconds=500000)
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        wait = _seconds(headers.get(name, ""), unit)
        if wait is not None:
            return wait
    try:
        then = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    aware = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(timedelta(), aware - now)


def _seconds(text: str, unit: float) -> timedelta | None:
    try:
        seconds = float(text) * unit
    except ValueError:
        return None
    return timedelta(seconds=min(seconds, 1e9)) if isfinite(seconds) and seconds >= 0 else None


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _code(value: object) -> str:
    text = str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
    return text if _CODE.fullmatch(text) else ""
