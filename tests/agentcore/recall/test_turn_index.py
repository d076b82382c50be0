"""Turns are ranked with what stands around them: every score against one worked out plainly."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import TypeVar

import pytest
from hypothesis import given, settings, strategies as st

from agentcore.domain import TurnFilter, from_micros
from agentcore.errors import InvalidOptionsError
from agentcore.recall import Ranking, Snapshot, Tokenizer, TurnIndex, TurnOptions, cut_passages, turn_index
from agentcore.stores import TurnRow

K = TypeVar("K")

WORDS = ("tea", "lisbon", "chess", "garden")
TOKENIZER = Tokenizer()


@dataclass(frozen=True)
class Plain:
    """The documented formula, worked out turn by turn."""

    rows: list[TurnRow]
    options: TurnOptions

    def scores(self, query: str) -> dict[int, float]:
        sessions: dict[str, list[TurnRow]] = {}
        for row in sorted(self.rows, key=lambda row: (row.occurred_us, row.key)):
            sessions.setdefault(row.session_id, []).append(row)
        options = self.options
        parts = {
            (row.key, place): Counter(TOKENIZER.tokens(row.heading + row.content[start:end]))
            for row in self.rows
            for place, (start, end) in enumerate(cut_passages(row.content, options.passage_tokens))
        }
        counts = {row.key: Counter[str]() for row in self.rows}
        for (key, _), words in parts.items():
            counts[key] += words
        whole = {name: sum((counts[row.key] for row in rows), Counter[str]()) for name, rows in sessions.items()}
        terms = list(dict.fromkeys(TOKENIZER.query_tokens(query)))
        of_parts = _bm25(parts, terms, options.k1, options.b)
        own = {row.key: max(score for (key, _), score in of_parts.items() if key == row.key) for row in self.rows}
        of_session = _bm25(whole, terms, options.session_k1, options.session_b)
        found: dict[int, float] = {}
        for name, rows in sessions.items():
            for place, row in enumerate(rows):
                near = sum(
                    weight * own[rows[place + step].key]
                    for step, weight in zip(range(-2, 3), self._weights(), strict=True)
                    if 0 <= place + step < len(rows)
                )
                if near > 0:
                    passages = len(row.content.encode()) / (4 * options.passage_tokens)
                    share = 1 / (1 + options.length_weight * math.log2(max(1, passages)))
                    found[row.key] = (near + options.session_weight * of_session[name]) * share
        return found

    def _weights(self) -> tuple[float, ...]:
        one, two = self.options.next_weight, self.options.second_weight
        return (two, one, 1.0, one, two)


def _bm25(documents: dict[K, Counter[str]], terms: list[str], k1: float, b: float) -> dict[K, float]:
    mean = sum(document.total() for document in documents.values()) / max(1, len(documents))
    scores = dict.fromkeys(documents, 0.0)
    for term in terms:
        having = sum(term in document for document in documents.values())
        idf = math.log1p((len(documents) - having + 0.5) / (having + 0.5))
        for key, document in documents.items():
            norm = k1 * (1 - b + b * document.total() / mean)
            if term in document:
                scores[key] += idf * document[term] / (document[term] + norm)
    return scores


rows_of_talk = st.lists(
    st.tuples(
        st.sampled_from(["s1", "s2", "s3"]),
        st.lists(st.sampled_from([*WORDS, "tea. Chess", "garden\n- tea"]), min_size=1, max_size=30).map(" ".join),
        st.integers(0, 6),
    ),
    min_size=1,
    max_size=14,
).map(lambda said: [TurnRow(key, *one, live=True) for key, one in enumerate(said, start=1)])


@given(
    rows=rows_of_talk,
    gone=st.sets(st.integers(1, 14), max_size=5),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    b=st.sampled_from([0.0, 0.5]),
    kept=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_scores_are_the_documented_ones_whatever_came_and_went(
    rows: list[TurnRow], gone: set[int], query: str, b: float, kept: bool
):
    options = TurnOptions(b=b, passage_tokens=16)
    index = TurnIndex(TOKENIZER, options)
    index.take(rows[::2])
    index.rank(query, limit=3)
    index.take(rows)
    index.drop(gone)
    index._sessions.close_gaps()
    if kept:
        whole, index = index, TurnIndex(TOKENIZER, options)
        index.adopt(Snapshot(whole.kept(), whole.position, seal=""))
    index.take([row for row in rows if row.key in gone and row.key % 2])
    left = [row for row in rows if row.key not in gone or row.key % 2]
    wanted = Plain(left, options).scores(query)
    ranking = index.rank(query, limit=99)
    found = by_key(ranking)
    assert found == pytest.approx(wanted, abs=1e-9)
    assert ranking.keys == sorted(found, key=lambda key: (-found[key], key))
    assert index.rank(query, limit=3).keys == ranking.keys[:3]
    assert len(index) == len(left)


def said(*texts: str, session: str = "s1", first: int = 1) -> list[TurnRow]:
    return [TurnRow(first + n, session, text, (first + n) * 1_000_000, live=True) for n, text in enumerate(texts)]


def by_key(ranking: Ranking) -> dict[int, float]:
    return dict(zip(ranking.keys, ranking.scores, strict=True))


def indexed(*rows: TurnRow) -> TurnIndex:
    index = TurnIndex(TOKENIZER, TurnOptions())
    index.take(rows)
    return index


def test_the_answer_after_a_question_is_found_by_the_question_s_words():
    index = indexed(*said("Good morning", "Which city did you move to?", "Porto", "Lovely", "Bye"))
    assert (
        index.rank("what city did Ana move to", limit=3).keys[:2] == [2, 3]
        or 3 in index.rank("city move", limit=3).keys
    )


def test_a_turn_without_a_word_of_the_query_nearby_is_not_returned():
    index = indexed(*said("tea", "one", "two", "three", "four"))
    assert sorted(index.rank("tea", limit=9).keys) == [1, 2, 3]


def test_filters_bound_the_answer_and_not_the_scores():
    index = indexed(*said("tea", "tea with milk"), *said("tea", "cold tea", session="s2", first=3))
    scores = by_key(index.rank("tea", limit=9))
    for where, keys in (
        (TurnFilter(session_id="s2"), {3, 4}),
        (TurnFilter(besides="s2"), {1, 2}),
        (TurnFilter(session_id="none"), set()),
        (TurnFilter(said_after=from_micros(2_000_000), said_before=from_micros(4_000_000)), {2, 3}),
    ):
        ranking = index.rank("tea", limit=9, where=where)
        assert by_key(ranking) == {key: scores[key] for key in keys}


def test_turns_asked_for_besides_are_told_with_their_scores_where_they_match():
    index = indexed(*said("lisbon", "x", "y", "z", "w"), *said("lisbon lisbon tea", session="s2", first=6))
    whole = by_key(index.rank("lisbon tea", limit=9))
    where = TurnFilter(session_id="s2")
    ranking, scores = index.rank_and_score("lisbon tea", [2, 5, 6, 77], limit=1, where=where)
    assert (ranking.keys, ranking.scores) == ([6], [whole[6]])
    assert scores == {2: whole[2], 6: whole[6]}


def test_many_removals_leave_no_gaps_and_the_same_ranking(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turn_index, "_WASTE_WORTH_CLOSING", 4)
    rows = said(*(f"tea {WORDS[n % 4]}" for n in range(40)))
    index = indexed(*rows)
    index.drop(range(1, 21))
    before = index.rank("tea chess", limit=99)
    while index.tidy():
        pass
    assert len(index._sessions) == 20
    assert index.rank("tea chess", limit=99) == before


def test_what_was_never_said_is_not_there_and_a_repeated_row_changes_nothing():
    (row,) = said("tea")
    index = indexed(row, row, TurnRow(9, "s1", "tea", 5, live=False))
    assert index.rank("tea", limit=9).keys == [1]


@pytest.mark.parametrize(
    "bad",
    [{"k1": -1.0}, {"next_weight": math.inf}, {"session_b": 1.5}, {"session_weight": math.nan}, {"passage_tokens": 15}],
)
def test_options_without_meaning_are_refused(bad: dict[str, float]):
    with pytest.raises(InvalidOptionsError):
        TurnOptions(**bad)


def test_the_passage_that_matched_is_told_and_a_short_turn_is_its_own():
    long = "We talked about the weather for a long while today. " * 8
    index = indexed(*said(f"{long}\n\nAna moved to Porto in May.\n\n{long}", "Porto is nice"))
    ranking = index.rank("when did Ana move to Porto", limit=2)
    text = {1: f"{long}\n\nAna moved to Porto in May.\n\n{long}", 2: "Porto is nice"}
    shown = dict(zip(ranking.keys, ranking.spans, strict=True))
    assert shown[1] is not None
    assert "Ana moved to Porto in May." in text[1][slice(*shown[1])]
    assert len(text[1][slice(*shown[1])]) <= 320
    assert shown[2] is None


def test_a_long_turn_with_the_words_somewhere_stands_behind_a_short_one_with_the_same_words():
    filler = "".join(f"This is sentence {n} about nothing in particular at all. " for n in range(60))
    index = indexed(
        *said(f"{filler}The dentist is in Lisbon."), *said("The dentist is in Lisbon.", session="s2", first=2)
    )
    assert index.rank("dentist Lisbon", limit=2).keys == [2, 1]


def test_date_and_speaker_are_found_with_each_passage_of_a_turn():
    text = "Nothing happened. " * 30 + "\nThe boiler broke."
    index = indexed(TurnRow(1, "s1", text, 10, live=True, heading="[7 May 2023] Ana: "), *said("boiler", first=2))
    ranking = index.rank("Ana boiler May", limit=1)
    (span,) = ranking.spans
    assert span is not None
    assert (ranking.keys, text[slice(*span)].endswith("The boiler broke.")) == ([1], True)
