"""A verifier of the host's own reads before the model: it may deny, and never accepts alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, strategies as st
from reading import Exchange, careful, replace, said, told

from agentcore.errors import InvalidOptionsError
from dream.domain.reasons import Refused
from dream.domain.verification import Assertion, Reading, SecondReading
from dream.options import DreamOptions, VerificationMode
from dream.passes.host_verifier import HostVerifier
from tests.bench.second_readings import context_of

LISBON = told("Ana lives in Lisbon now.", said("I moved to Lisbon in spring.", after=1))
VAN = told("Rui wants to get a van.", said("If the bank agrees I buy that old van.", "Rui", after=2))
TEA = told("Ines is fond of green tea.", said("Green tea is what keeps me going.", "Ines", after=3))
ALL = (LISBON, VAN, TEA)
TEXTS = tuple(one.text for one in ALL)
SAYS = SecondReading(reading=Reading.SAYS)


@dataclass
class Denying:
    """Denies the statements named."""

    denied: Sequence[str] = ()
    quotes: tuple[str, ...] = ()
    seen: list[str] = field(default_factory=list[str])

    async def read(self, assertions: Sequence[Assertion], /) -> Sequence[SecondReading]:
        self.seen += [one.text for one in assertions]
        no = SecondReading(reading=Reading.CONTRADICTS, quotes=self.quotes)
        return [no if one.text in self.denied else SAYS for one in assertions]


@dataclass
class Answering:
    """Answers what it is told to."""

    answer: Callable[[Sequence[Assertion]], Any]

    async def read(self, assertions: Sequence[Assertion], /) -> Any:
        return self.answer(assertions)


def exchange(verifier: Any, mode: VerificationMode = VerificationMode.VERIFIED, **fields: Any) -> Exchange:
    context = context_of(mode)
    options = DreamOptions(verification=mode, verifier=HostVerifier(verifier))
    return Exchange(ALL, context=replace(context, options=options), **fields)


def _down(_: Sequence[Assertion]) -> Any:
    raise ConnectionError("password is hunter2hunter2!")


async def test_what_it_denies_is_denied_with_its_reason_and_the_model_is_not_asked_about_it():
    verifier = Denying([VAN.text], ("If the bank agrees", "as everybody knows"))
    found, rounds = await exchange(verifier).lived(careful())
    assert (found.denied, len(found.settled)) == ((VAN.text,), 2)
    assert rounds[1].asked.about == (1, 3)
    (refusal,) = found.refused
    assert refusal.code == Refused.DENIED
    assert "contradicts" in refusal.detail
    assert "If the bank agrees" in refusal.detail
    assert "everybody" not in refusal.detail


async def test_what_it_accepts_alone_is_not_taken():
    found, _ = await exchange(Denying()).lived(careful(*TEXTS))
    assert (found.settled, found.denied) == ((), TEXTS)


@pytest.mark.parametrize(
    "answer",
    [_down, lambda _: [], lambda _: None, lambda asked: ["no"] * len(asked), lambda asked: [SAYS] * (len(asked) + 1)],
    ids=["down", "nothing", "none", "no readings", "too many"],
)
async def test_its_failure_changes_nothing_and_is_told_without_its_words(answer: Any, caplog: Any):
    found, rounds = await exchange(Answering(answer)).lived(careful())
    alone, asked_alone = await Exchange(ALL).lived(careful())
    assert (found.settled, found.refused) == (alone.settled, alone.refused)
    assert [one.asked for one in rounds] == [one.asked for one in asked_alone]
    assert "verifier_failed" in caplog.text
    assert "hunter2" not in caplog.text


async def test_no_secret_stands_in_its_reasons():
    secret = "the password is hunter2hunter2!"
    line = said(f"Ask Rui, {secret}")
    leaking = told("Rui was asked about the house.", line)
    asked = exchange(Denying([leaking.text], (secret,)))
    asked.asked = (leaking,)
    found, _ = await asked.lived(careful())
    assert found.denied == (leaking.text,)
    assert "hunter2" not in str(found.refused)


async def test_it_is_asked_about_each_assertion_once():
    verifier = Denying([VAN.text])
    await exchange(verifier).lived(careful())
    assert sorted(verifier.seen) == sorted(TEXTS)


async def test_it_reads_what_a_repair_gave():
    better = told("Rui buys that old van if the bank agrees to it.", *VAN.evidence)
    verifier = Denying([VAN.text])
    found, _ = await exchange(verifier, repaired={2: better}).lived(careful())
    assert better.text in verifier.seen
    assert better.text in [one.value for one in found.settled]
    assert found.denied == ()


@pytest.mark.parametrize("mode", [VerificationMode.STRICT, VerificationMode.OFF])
async def test_where_nothing_is_read_a_second_time_it_is_not_asked(mode: VerificationMode):
    verifier = Denying(TEXTS)
    await exchange(verifier, mode).lived(careful())
    assert verifier.seen == []


@given(before=st.sets(st.sampled_from(TEXTS)), after=st.sets(st.sampled_from(TEXTS)))
async def test_a_resumed_run_keeps_what_the_model_read_whatever_the_verifier_says_by_then(
    before: set[str], after: set[str]
):
    found, rounds = await exchange(Denying(sorted(before))).lived(careful())
    again, _ = await exchange(Denying(sorted(after))).lived(careful(), rounds)
    assert {one.value for one in again.settled} >= {one.value for one in found.settled}


def test_what_has_no_such_method_is_refused_as_an_option():
    wrong: Any = object()
    with pytest.raises(InvalidOptionsError, match="verifier"):
        DreamOptions(verifier=wrong)


def test_options_show_it_by_its_name():
    assert DreamOptions(verifier=HostVerifier(Denying())).model_dump(mode="json")["verifier"] == "Denying"
