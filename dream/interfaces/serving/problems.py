"""Says errors to clients: a status, a code, and one sentence (RFC 9457, `application/problem+json`)."""

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from agentcore.errors import (
    AgentcoreError,
    ForbiddenTransitionError,
    HostNotStartedError,
    InvalidInputError,
    LeaseLostError,
    RetiredEntryError,
    ServiceMissingError,
    StaleVersionError,
    StorageError,
    StorageTooNewError,
    TakenNameError,
    UnknownRecordError,
)
from agentcore.llm.errors import ChatError
from dream.errors import (
    AnsweredQuestionError,
    LostSourceError,
    NoModelError,
    NotAdmittedError,
    NothingToRestoreError,
    UnknownChangeError,
    UnknownDirectiveError,
    UnknownMemberError,
    UnknownPassError,
    UnknownPlanError,
    UnknownProposalError,
    UnknownQuestionError,
    UnknownRunError,
    UnknownSessionError,
)
from dream.interfaces.answers import dumps
from dream.interfaces.serving.caller import NotAllowedError
from dream.interfaces.serving.remedies import ROUTES, reworded

MEDIA_TYPE: Final = "application/problem+json"
_log = logging.getLogger(__name__)
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_FULL = "disk is full"
_NEWER: Final = "A later version upgraded the database of this server: upgrade the server too; nothing was changed."
_RETRY_SECONDS: Final = 2

_STATUSES: Mapping[type[BaseException], int] = {
    NotAllowedError: 403,
    UnknownRecordError: 404,
    UnknownRunError: 404,
    UnknownSessionError: 404,
    UnknownPlanError: 404,
    UnknownQuestionError: 404,
    UnknownProposalError: 404,
    UnknownChangeError: 404,
    UnknownDirectiveError: 404,
    UnknownMemberError: 404,
    UnknownPassError: 404,
    ServiceMissingError: 404,
    StaleVersionError: 409,
    ForbiddenTransitionError: 409,
    LostSourceError: 409,
    LeaseLostError: 409,
    RetiredEntryError: 409,
    TakenNameError: 409,
    NotAdmittedError: 409,
    NoModelError: 409,
    AnsweredQuestionError: 409,
    NothingToRestoreError: 409,
    InvalidInputError: 422,
    HostNotStartedError: 503,
    ChatError: 503,
    StorageError: 503,
}
"""The first that fits decides; what is none of these is a fault of ours."""


class Problem(HTTPException):
    """What is wrong with a request, as the client is told it; an `HTTPException`, so that no framework hides it.

    Args:
        status: The HTTP status.
        code: A name that never changes, for programs.
        detail: One sentence, for people.
        headers: More headers of the answer.
        more: More fields of the document.
    """

    def __init__(
        self,
        *,
        status: int,
        code: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.code = code
        self.more = more or {}

    def document(self, detail: str | None = None) -> dict[str, Any]:
        """Return the document, with another sentence if one is given."""
        title = self.code.replace("_", " ").capitalize()
        return {
            "type": f"urn:agentcore-dream:{self.code}",
            "title": title,
            "status": self.status_code,
            "code": self.code,
            "detail": self.detail if detail is None else detail,
            **self.more,
        }

    def response(self, detail: str | None = None) -> Response:
        """Return the answer, with another sentence if one is given."""
        headers = {"Cache-Control": "no-store", **(self.headers or {})}
        return Response(dumps(self.document(detail)), self.status_code, headers, MEDIA_TYPE)


def code_of(error: BaseException) -> str:
    """Return the code of an error.

    Example:
        >>> code_of(UnknownRecordError(kind="entry", value="e1"))
        'unknown_record'
    """
    return _WORDS.sub("_", type(error).__name__.removesuffix("Error")).lower()


def problem_of(error: BaseException) -> Problem:
    """Return what a client is told of *error*; of one that nobody foresaw it learns no more than that."""
    if isinstance(error, Problem):
        return error
    first = next(_flattened(error))
    status = next((status for kind, status in _STATUSES.items() if isinstance(first, kind)), None)
    if status is None or not isinstance(first, AgentcoreError):
        _log.error("request_failed", exc_info=error)
        return Problem(status=500, code="internal", detail="Something unexpected happened; the server's log says what.")
    if status == 503:
        full, is_newer = _FULL in str(first), isinstance(first, StorageTooNewError)
        # Paths of the server are nobody's business outside.
        _log.warning("request_unanswered", extra={"error": str(first)})
        said = "The disk of the server is full" if full else "The server cannot do this now"
        detail = _NEWER if is_newer else f"{said}: nothing was changed, try again later."
        headers = {"Retry-After": str(_RETRY_SECONDS)}
        return Problem(status=507 if full else 503, code=code_of(first), detail=detail, headers=headers)
    return Problem(status=status, code=code_of(first), detail=str(first))


def _flattened(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _flattened(one)
    else:
        yield error


async def answer_problem(_: Request, error: Exception) -> Response:
    """Answer a request whose handler raised, without the commands that a sentence of the library names."""
    problem = problem_of(error)
    return problem.response(reworded(problem.detail, ROUTES))
