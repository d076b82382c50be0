"""What says a text is found by its words, wherever it stands in a sentence, and nothing of them stays when it goes."""

from dataclasses import replace

from hypothesis import example, given, strategies as st
from sqlalchemy import select

from agentcore.domain import Evidence, normalise
from agentcore.stores import UnitOfWork
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.evidence_words import evidence_saying, kept_words, words_of, words_within
from agentcore.stores.sql.rows import to_evidence
from agentcore.stores.sql.schema import entries, evidence_words, turns
from agentcore.stores.sql.stored_texts import said_key
from agentcore.testing.contracts.samples import SCOPE, a_turn, an_entry, some_evidence

FAR = "\u0130\u0436\ud55c\uae00\u6771\u4eac\u3055\u3063\u0e33\u0e19"
letters = st.text(alphabet=f"abcdefgh \u00e9\u00df9-'.,!{FAR}", max_size=14)


@given(letters, letters, letters)
@example("Julia", "na has epilepsy", "s")
@example("\u6771", "\u4eac\u6771\u4eac", "\u4eac")
def test_whatever_holds_a_text_has_its_words(before: str, text: str, after: str):
    wanted, sentence = normalise(text), normalise(f"{before}{text}{after}")
    if wanted in sentence:
        assert words_within(wanted) <= words_of(sentence)


def indexed(unit: UnitOfWork) -> bool:
    """Whether the index holds the words of the evidence that is stored, and nothing else, and turns have their keys."""
    connection = unit.transaction.connection
    stored = connection.execute(select(entries.c.pk, entries.c.evidence)).all()
    wanted = {(word, key) for key, evidence in stored for word in kept_words(to_evidence(evidence))}
    said = connection.execute(select(turns.c.content, turns.c.fold_key)).all()
    kept = connection.execute(select(evidence_words.c.word, evidence_words.c.entry_pk)).all()
    return set(map(tuple, kept)) == wanted and all(said_key(content) == key for content, key in said)


async def test_the_index_follows_what_is_added_changed_forgotten_and_deleted(storage: SqlStorage):
    def told(*sentences: str) -> tuple[Evidence, ...]:
        return tuple(map(some_evidence, sentences))

    one = an_entry("e1", "Ana has epilepsy.", evidence=told("I have epilepsy.", "I take two pills a day."))
    other = an_entry("e2", "Ana sails.", evidence=told("Ana has epilepsy, and sails all the same."))
    last = an_entry("e3", "Ana lives in Lisbon.", evidence=told("I live in Lisbon, near the river."))

    def add(unit: UnitOfWork) -> bool:
        unit.turns.add(
            [a_turn("t1", content="I have epilepsy. I sail. Ana has epilepsy."), a_turn("t2", content="Hi.")]
        )
        unit.entries.add([one, other, last])
        return indexed(unit)

    assert await storage.write(SCOPE, add)

    def change(unit: UnitOfWork) -> bool:
        (stored,) = unit.entries.get_many(["e3"])
        moved = replace(stored, evidence=told("I moved to Porto."))
        again = replace(moved, version=stored.version + 1)
        unit.entries.replace([(stored, moved), (again, replace(again, content="Ana lives in Porto."))])
        return indexed(unit)

    assert await storage.write(SCOPE, change)

    def forget(unit: UnitOfWork) -> bool:
        unit.forget("e1")
        assert unit.entries.get_many(["e2"])[0].evidence == ()
        return indexed(unit)

    assert await storage.write(SCOPE, forget)

    def delete(unit: UnitOfWork) -> bool:
        unit.entries.delete(["e2", "e3"])
        return indexed(unit) and not unit.transaction.connection.execute(select(evidence_words)).all()

    assert await storage.write(SCOPE, delete)


async def test_a_text_of_words_that_many_say_is_found_among_them(storage: SqlStorage):
    said = [f"Ana says that she likes tea number {number}." for number in range(300)]
    new = [an_entry(f"e{place:03}", one, evidence=(some_evidence(one),)) for place, one in enumerate(said)]

    def find(unit: UnitOfWork) -> set[str]:
        unit.entries.add(new)
        return set(evidence_saying(unit.transaction, {"that she likes tea number 77"}))

    assert "e077" in await storage.write(SCOPE, find)
