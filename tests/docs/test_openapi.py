import re
from pathlib import Path

import orjson
from openapi_document import DOCUMENT, HEADING, described, table_of_routes

REST = Path(DOCUMENT).with_name("rest.md")


def test_the_openapi_document_is_what_the_server_gives():
    same = DOCUMENT.read_bytes() == described()
    assert same, (
        "the routes changed: if that is meant, `python -m tests.docs.openapi_document` writes the document anew"
    )


def test_the_page_of_rest_names_every_route():
    paths = {path.removeprefix("/api/v1") for path in orjson.loads(DOCUMENT.read_bytes())["paths"]}
    roots = {f"/{path.split('/')[1]}" for path in paths} - {"/dreaming"}
    named = set(re.findall(r"`(/[a-z-]+)`", REST.read_text(encoding="utf-8")))
    assert roots - named == set()


def test_the_page_of_rest_has_every_method_with_its_path_and_body():
    _, _, table = REST.read_text(encoding="utf-8").partition(HEADING)
    same = table == table_of_routes()
    assert same, "the routes changed: if that is meant, `python -m tests.docs.openapi_document` writes the table anew"
