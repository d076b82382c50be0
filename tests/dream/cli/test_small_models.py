"""The profile for models of 8,192 tokens: no question with its answer exceeds them, whatever the tokenizer."""

import math
import shutil
from pathlib import Path

import pytest
from commandline import EXAMPLES, CommandLine

from agentcore.testing import ServedRequest
from agentcore.testing.chat_replies import ServerReply, answer, counted
from dream.domain.built_in_passes import BUILT_IN
from dream.options import DreamOptions, ModelOptions, ModelProfile
from tests.demo.model import answer as told_by_the_demo
from tests.demo.serving import MODEL, demo_server

CONTEXT = 8_192


def needed(request: ServedRequest) -> int:
    """Tokens of prompt and longest answer at worst, by what six tokenizers took of texts in thirteen languages.

    Of directives, which are English prose, none took more than 1.2 tokens for four bytes, and of lines of data none
    more than 2.1 (Arabic).
    """
    system, *others = (len(message["content"].encode()) for message in request.body["messages"])
    return math.ceil(system / 4 * 1.2 + sum(others) / 4 * 2.1) + request.body["max_tokens"]


def cutting(request: ServedRequest) -> ServerReply:
    """Answer as the demo's model does; of a prompt and answer that do not fit, the prompt is cut silently."""
    said = told_by_the_demo(request)
    if needed(request) <= CONTEXT:
        return counted(said, prompt=request.prompt)
    return answer(said, usage={"prompt_tokens": CONTEXT // 4, "completion_tokens": 1})


def test_no_question_of_any_pass_exceeds_a_small_model(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    notes = tmp_path / "notes"
    notes.mkdir()
    shutil.copy(EXAMPLES / "MEMORY.md", notes)
    monkeypatch.setenv("AGENTCORE_MODEL", MODEL)
    monkeypatch.setenv("AGENTCORE_DREAMING__MODEL__PROFILE", "small")
    monkeypatch.setenv("AGENTCORE_DREAMING__MODEL__TOKENS_PER_RUN", "null")
    monkeypatch.setenv("AGENTCORE_DREAMING__DOCUMENTS__PROTECT_USER_TEXT", "false")
    monkeypatch.setenv("AGENTCORE_DREAMING__MODES__DEDUCTION", "apply")
    monkeypatch.setenv("AGENTCORE_DREAMING__MODES__INDUCTION", "apply")
    monkeypatch.setenv("AGENTCORE_DREAMING__MODES__HYPOTHESES", "apply")
    monkeypatch.setenv("AGENTCORE_DREAMING__MODES__CLAIMS", "apply")
    with demo_server(cutting) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        first = cli("--json", "demo").document["report"]
        for word in ("Ines", "Biscoito", "knee", "invoice"):
            cli.good("recall", word)
        second = cli("--json", "--workspace", notes, "run").document
    reports = [*first["passes"], *second["passes"]]
    asked = {one["name"] for one in reports if one["calls"]}
    # A hypothesis is weighed against what is said after it, which nothing is here.
    assert {one.name for one in BUILT_IN if one.directives} - asked <= {"rem", "re-evaluate"}
    assert {one["code"] for report in reports for one in report["refused"]}.isdisjoint({"prompt_truncated"})
    assert max(needed(request) for request in server.requests) <= CONTEXT


def test_the_small_profile_gives_way_to_what_is_said(monkeypatch: pytest.MonkeyPatch):
    assert ModelOptions(profile=ModelProfile.SMALL, answer_tokens=900).answer_tokens == 900
    assert ModelOptions(profile=ModelProfile.SMALL).prompt_tokens == 1_500
    assert DreamOptions(model={"profile": "small"}).model == ModelOptions(profile=ModelProfile.SMALL)


def test_a_profile_is_chosen_after_all_and_left_again():
    small = ModelOptions(max_rounds=7).replace(profile=ModelProfile.SMALL)
    assert small == ModelOptions(profile=ModelProfile.SMALL, max_rounds=7)
    assert small.replace(answer_tokens=900).prompt_tokens == 1_500
    assert small.replace(profile=ModelProfile.LARGE) == ModelOptions(max_rounds=7)
