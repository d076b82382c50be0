"""What Schemathesis sends where the OpenAPI document names a format of ours; loaded by `fuzz.py`."""

from datetime import UTC
from uuid import uuid4

import schemathesis
from hypothesis import strategies as st

from dream.interfaces.rest.requests import cursor_of

_VISIBLE = st.characters(exclude_categories=("C", "Z"), exclude_characters="/")
_PART = st.text(_VISIBLE, min_size=1, max_size=12)
_NAMED = st.from_regex(r"[a-z]{1,12}|\*", fullmatch=True)
_NAMES = st.text(_VISIBLE | st.sampled_from("/ "), min_size=1, max_size=12).map(lambda text: f"x{text}")
_DAYS = st.dates().map(str)
_TIMES = st.dates().map(lambda day: f"{day.year:04}-{day.month:02}")

schemathesis.openapi.format("scope", st.builds("{}/{}/{}".format, _PART, _PART, _PART))
schemathesis.openapi.format("scope-pattern", st.builds("{}/{}/{}".format, _NAMED, _NAMED, _NAMED))
schemathesis.openapi.format("scope-part", _PART)
schemathesis.openapi.format("cursor", st.builds(cursor_of, st.datetimes(timezones=st.just(UTC)), st.text(max_size=20)))
schemathesis.openapi.format("name", _NAMES)
schemathesis.openapi.format("visible-text", _NAMES)
schemathesis.openapi.format("subject-time", _DAYS | _TIMES)
schemathesis.openapi.format("card-line", _NAMES.map("IDENTITY: {}".format))
schemathesis.openapi.format("etag", st.just("*"))


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict) -> None:
    """Do as a client that means well, where a request is meant to be one that is accepted.

    It names each request anew, does not mind what it writes over, and imports files that can be imported. It follows no
    page of hypotheses, whose cursors hold for one search; and whatever it means, it does not revoke its own token.
    """
    if case.operation.path == "/api/v1/tokens/{name}" and case.path_parameters.get("name") == "fuzz":
        case.path_parameters["name"] = "nobody"
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = str(uuid4())
    if "If-Match" in case.headers:
        case.headers["If-Match"] = "*"
    if (case.operation.path, case.method) == ("/api/v1/dreams", "GET"):
        case.query.pop("cursor", None)
    if (case.operation.path, case.method) == ("/api/v1/options", "PATCH"):
        case.body = {"said": {"alarm_after": 5}}
    if case.operation.path == "/api/v1/import":
        case.query["format"] = "memory-jsonl"
        case.body = b'{"content": "Ana likes tea"}'
