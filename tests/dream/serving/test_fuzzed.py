"""A slice of the fuzzing of every route; `python tests/dream/serving/fuzz.py` sends thousands."""

from pathlib import Path

import pytest
from fuzz import run_schemathesis
from served import serving_process


@pytest.mark.parametrize("is_known", [True, False], ids=["with a token", "without one"])
def test_no_answer_deviates_from_the_document(tmp_path: Path, is_known: bool):
    with serving_process(tmp_path) as server:
        secret = server.token("fuzz", "--reach", "*/*/*", "--right", "admin") if is_known else None
        code, requests, told = run_schemathesis(server, tmp_path, examples=2, token=secret, phases="fuzzing")
        log = server.log.read_text(encoding="utf-8")
    assert code == 0, told
    assert requests > 40
    assert "Traceback" not in log
