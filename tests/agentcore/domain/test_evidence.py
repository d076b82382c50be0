"""Evidence: the sentences that an entry rests on, and their union."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentcore.domain import (
    Evidence,
    EvidenceVerdict,
    MemoryEntry,
    SourceKind,
    SourceRef,
    absorb,
    exact_words,
    merged_fields,
    united_evidence,
)
from agentcore.domain.evidence import MAX_EVIDENCE, MAX_SENTENCE
from agentcore.errors import InvalidContentError
from agentcore.testing.contracts.samples import START, an_entry, some_evidence

pieces = st.builds(
    Evidence,
    source=st.builds(SourceRef, st.sampled_from(SourceKind), st.sampled_from("ab")),
    speaker=st.sampled_from([None, "Ana"]),
    said_at=st.integers(0, 40).map(lambda hours: START + timedelta(hours=hours)),
    sentence=st.sampled_from(["I drink tea.", "I moved."]),
    verdict=st.sampled_from(EvidenceVerdict),
    written_by=st.sampled_from(["", "a-model", "another"]),
    verified_by=st.sampled_from(["", "host", "a-model"]),
    round=st.integers(0, 2),
)
evidence = st.lists(pieces, max_size=30)
sources = st.lists(
    st.builds(
        an_entry,
        st.uuids().map(str),
        evidence=st.one_of(st.lists(pieces, max_size=4), evidence).map(tuple),
    ),
    min_size=1,
    max_size=5,
)


def said(hour: int, sentence: str = "I drink tea.", **fields: Any) -> Evidence:
    return some_evidence(sentence, said_at=START + timedelta(hours=hour), **fields)


@given(evidence, evidence, evidence)
def test_a_union_is_associative_commutative_and_idempotent(
    one: list[Evidence], two: list[Evidence], three: list[Evidence]
) -> None:
    whole = united_evidence([one, two, three])
    assert united_evidence([united_evidence([one, two]), three]) == whole
    assert united_evidence([one, united_evidence([three, two])]) == whole
    assert united_evidence([whole, whole, two]) == whole


@given(sources, st.randoms(use_true_random=False))
def test_folds_and_merges_carry_the_union_of_their_sources_in_whatever_order(entries: list[MemoryEntry], random: Any):
    union = united_evidence(entry.evidence for entry in entries)
    shuffled = random.sample(entries, len(entries))
    assert merged_fields(shuffled).evidence == union
    assert absorb(shuffled[0], shuffled[1:]).evidence == union
    one_by_one = shuffled[0]
    for copy in shuffled[1:]:
        one_by_one = absorb(one_by_one, [copy])
    assert one_by_one.evidence == union


def test_the_earliest_and_the_latest_sentences_stay():
    kept = united_evidence([[said(hour) for hour in range(50)]])
    assert [one.said_at for one in kept] == [said(hour).said_at for hour in [*range(10), *range(40, 50)]]
    assert len(kept) == MAX_EVIDENCE


def test_an_entry_keeps_its_evidence_in_order_once_and_bounded():
    assert an_entry("a", evidence=(said(2), said(1), said(2))).evidence == (said(1), said(2))
    assert len(an_entry("a", evidence=tuple(map(said, range(99)))).evidence) == MAX_EVIDENCE


def test_a_sentence_with_two_verdicts_keeps_the_weaker_one():
    proven = said(1, verdict=EvidenceVerdict.PROVEN, verified_by="host")
    verified = said(1, verdict=EvidenceVerdict.VERIFIED, verified_by="a-model", round=2)
    assert united_evidence([[proven], [verified]]) == (verified,)


def test_an_entry_is_as_well_founded_as_its_weakest_sentence():
    verdicts = list(EvidenceVerdict)
    assert verdicts == ["proven", "verbatim", "verified", "unverified"]
    spans = tuple(said(hour, verdict=verdict) for hour, verdict in enumerate(verdicts))
    for last, verdict in enumerate(verdicts, 1):
        assert an_entry("a", evidence=spans[:last]).verdict is verdict
    assert an_entry("a").verdict is EvidenceVerdict.UNVERIFIED


def test_a_less_trusted_copy_gives_no_evidence():
    stranger = an_entry("b", trust=0, evidence=(said(1),))
    assert absorb(an_entry("a"), [stranger]).evidence == ()


def test_the_instant_is_kept_in_utc_and_an_empty_name_is_none():
    noon = datetime(2025, 5, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    piece = some_evidence("I moved.", said_at=noon, speaker="")
    assert piece.said_at.tzinfo is UTC
    assert piece.said_at == noon
    assert piece.speaker is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"sentence": " "},
        {"sentence": "a" * (MAX_SENTENCE + 1)},
        {"said_at": datetime(2025, 5, 1)},  # noqa: DTZ001 - what is refused
        {"round": -1},
    ],
)
def test_what_is_no_evidence_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidContentError, match="evidence"):
        some_evidence(**({"sentence": "I moved."} | wrong))


@given(st.text(min_size=1).filter(str.strip))
def test_exact_words_are_the_beginning_of_what_was_said(text: str) -> None:
    words = exact_words(text * 40)
    assert 0 < len(words) <= MAX_SENTENCE
    assert (text * 40).strip().startswith(words)
    assert some_evidence(words).sentence == words


def test_a_long_sentence_is_cut_between_words():
    assert exact_words("word " * 100) == ("word " * 60).strip()
    assert exact_words("x" * 400) == "x" * MAX_SENTENCE
