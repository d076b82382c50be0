"""The OpenAPI document of the documentation: `python -m tests.docs.openapi_document` writes it anew."""

from pathlib import Path

import orjson

from dream.interfaces.rest.api import api

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
_PLAIN = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


def described() -> bytes:
    """Return the document as the server gives it, but for the version."""
    document = api().openapi()
    return orjson.dumps({**document, "info": {**document["info"], "version": "0"}}, option=_PLAIN)


if __name__ == "__main__":
    DOCUMENT.write_bytes(described())
