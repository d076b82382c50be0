"""The OpenAPI document of the documentation, and the table of routes on the page of REST, which is made of it.

`python -m tests.docs.openapi_document` writes both anew.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from dream.interfaces.rest.api import api

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
PAGE = DOCUMENT.with_name("rest.md")
HEADING = "## Every route\n"
_INTRODUCTION = """
Below `/api/v1`. `?` stands after what a body need not hold; the [document](openapi.json) has the parameters too.

| method | path | body | what it does |
|---|---|---|---|
"""
_PLAIN = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


def described() -> bytes:
    """Return the document as the server gives it, but for the version."""
    document = api().openapi()
    return orjson.dumps({**document, "info": {**document["info"], "version": "0"}}, option=_PLAIN)


def table_of_routes() -> str:
    """Return what stands on the page of REST below its heading."""
    return _INTRODUCTION + "".join(f"{row}\n" for row in _rows(api().openapi()))


def _rows(document: dict[str, Any]) -> Iterator[str]:
    for path, methods in sorted(document["paths"].items()):
        for method, route in methods.items():
            told = route["description"].split("\n\n")[0].partition(". ")[0].rstrip(".").replace("\n", " ")
            body = _body(document, route)
            yield f"| {method.upper()} | `{path.removeprefix('/api/v1')}` | {body} | {told} |"


def _body(document: dict[str, Any], route: dict[str, Any]) -> str:
    """Return the fields of a route's body; what it is called where it has none, as a stream of lines has none."""
    content = route.get("requestBody", {}).get("content", {})
    for kind, one in content.items():
        named = one.get("schema", {})
        named = next((part for part in named.get("allOf", [named]) if "$ref" in part), named)
        schema = document["components"]["schemas"].get(named.get("$ref", "").rpartition("/")[2])
        if schema is None:
            return kind
        needed = schema.get("required", ())
        fields = ", ".join(f"`{name}`{'' if name in needed else '?'}" for name in schema["properties"])
        return fields if route["requestBody"].get("required") else f"{fields}; or no body"
    return ""


if __name__ == "__main__":
    DOCUMENT.write_bytes(described())
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(HEADING)
    PAGE.write_text(before + HEADING + table_of_routes(), encoding="utf-8")
