"""The conversation log."""

from agentcore.domain.memory import Trust
from agentcore.errors import InvalidContentError, StaleVersionError
from agentcore.stores.storage import Origin, Storage
from agentcore.stores.values import TurnMaterial
from agentcore.testing.contracts.samples import (
    DAY,
    OTHER_SCOPE,
    SCOPE,
    START,
    a_turn,
    expect_equal,
    expect_error,
    expect_some,
)


class TurnContract:
    """What a store of turns owes."""

    async def test_a_turn_comes_back_as_it_was_added(self, storage: Storage) -> None:
        """Every field survives."""
        full = a_turn(
            "full",
            "Olá \N{WAVING HAND SIGN}",
            session_id="s2",
            role="tool",
            speaker="Ana",
            occurred_at=START - DAY,
            consumed_at=START,
            trust=Trust.UNTRUSTED,
            generated=True,
        )
        await storage.write(SCOPE, lambda unit: unit.turns.add([full, a_turn("plain")]))
        found = await storage.read(SCOPE, lambda view: view.turns.get_many(["plain", "full", "unknown"]))
        expect_equal(found, [full, a_turn("plain")])
        expect_equal([turn.version for turn in found], [1, 1])
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.get("unknown")), None)

    async def test_a_session_is_read_in_the_order_it_was_said(self, storage: Storage) -> None:
        """A limit keeps the newest; turns of one instant keep the order in which they came."""
        turns = [
            a_turn("late", occurred_at=START + DAY),
            a_turn("z"),
            a_turn("a"),
            a_turn("early", occurred_at=START - DAY),
            a_turn("elsewhere", session_id="s2"),
        ]
        await storage.write(SCOPE, lambda unit: unit.turns.add(turns))
        expect_equal(await _session(storage, None), ["early", "z", "a", "late"])
        expect_equal(await _session(storage, 2), ["a", "late"])
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.session("unknown")), [])

    async def test_sessions_are_listed_by_their_last_words(self, storage: Storage) -> None:
        """The newest first, with all their turns; a prefix is taken letter by letter."""
        turns = [
            a_turn("a", session_id="dream:of mine"),
            a_turn("b", session_id="Dream:aloud", occurred_at=START + DAY, generated=True),
            a_turn("c", session_id="dream:of mine", occurred_at=START - DAY, consumed_at=START),
            a_turn("d", session_id="d%", occurred_at=START + 2 * DAY),
            a_turn("e", session_id="dx", occurred_at=START),
        ]
        await storage.write(SCOPE, lambda unit: unit.turns.add(turns))
        for prefix, limit, expected in (
            ("", 9, ["d%", "Dream:aloud", "dream:of mine", "dx"]),
            ("", 2, ["d%", "Dream:aloud"]),
            ("dream:", 9, ["dream:of mine"]),
            ("d%", 9, ["d%"]),
            ("unknown", 9, []),
        ):
            found = await storage.read(
                SCOPE, lambda view, prefix=prefix, limit=limit: view.turns.sessions(prefix=prefix, limit=limit)
            )
            expect_equal([one.session_id for one in found], expected)
        (one,) = await storage.read(SCOPE, lambda view: view.turns.sessions(prefix="dream:", limit=1))
        expect_equal((one.turns, one.first_at, one.last_at), (2, START - DAY, START))

    async def test_a_session_opens_with_the_first_words_of_a_user(self, storage: Storage) -> None:
        """Of the sessions begun last; consumed turns count, generated ones and other roles do not."""
        turns = [
            a_turn("late", session_id="s1", occurred_at=START + DAY),
            a_turn("first", session_id="s1", consumed_at=START),
            a_turn("tool", session_id="s2", role="tool", occurred_at=START - DAY),
            a_turn("made", session_id="s2", generated=True, occurred_at=START - DAY),
            a_turn("second", session_id="s2", occurred_at=START + DAY),
            a_turn("oldest", session_id="s3", occurred_at=START - DAY),
        ]
        await storage.write(SCOPE, lambda unit: unit.turns.add(turns))
        for limit, expected in ((9, ["oldest", "first", "second"]), (2, ["first", "second"])):
            found = await storage.read(SCOPE, lambda view, limit=limit: view.turns.openings(limit=limit))
            expect_equal([turn.id for turn in found], expected)

    async def test_what_was_said_before_a_turn_is_found_in_its_session_alone(self, storage: Storage) -> None:
        """The nearest ones, in the order they were said; turns of one instant keep the order in which they came."""
        turns = [
            a_turn("late", occurred_at=START + DAY),
            a_turn("z"),
            a_turn("a"),
            a_turn("early", occurred_at=START - DAY),
            a_turn("elsewhere", session_id="s2", occurred_at=START - DAY),
        ]
        await storage.write(SCOPE, lambda unit: unit.turns.add(turns))
        expect_equal(await _before(storage, "late", 9), ["early", "z", "a"])
        expect_equal(await _before(storage, "late", 2), ["z", "a"])
        expect_equal(await _before(storage, "a", 9), ["early", "z"])
        expect_equal(await _before(storage, "z", 9), ["early"])
        expect_equal(await _before(storage, "early", 9), [])
        expect_equal(await _before(storage, "unknown", 9), [])

    async def test_what_users_said_lately_is_the_newest_of_it(self, storage: Storage) -> None:
        """In the order they were said; consumed turns count, generated ones and other roles do not."""
        turns = [
            a_turn("late", occurred_at=START + DAY),
            a_turn("first", session_id="s2", consumed_at=START),
            a_turn("tool", role="tool"),
            a_turn("made", generated=True),
            a_turn("old", occurred_at=START - DAY),
        ]
        await storage.write(SCOPE, lambda unit: unit.turns.add(turns))
        for limit, expected in ((9, ["first", "late"]), (1, ["late"])):
            found = await storage.read(SCOPE, lambda view, limit=limit: view.turns.said_since(START, limit=limit))
            expect_equal([turn.id for turn in found], expected)

    async def test_new_turns_are_read_in_the_order_of_arrival(self, storage: Storage) -> None:
        """Not of ids or of what was said first; what a reader let lie comes back by its id."""
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("c"), a_turn("a", occurred_at=START - DAY)]))
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("b", session_id="s2")]), origin=Origin.IMPORT)
        found = await _material(storage)
        expect_equal([(item.id, item.session_id) for item in found], [("c", "s1"), ("a", "s1"), ("b", "s2")])
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.last_position()), found[-1].position)
        after = found[1].position
        expect_equal([item.id for item in await _material(storage, after=after)], ["b"])
        also = ("c", "b", "unknown")
        expect_equal([item.id for item in await _material(storage, after=after, also=also)], ["c", "b"])
        expect_equal([item.id for item in await _material(storage, after=after, also=also, limit=1)], ["c"])

    async def test_consumed_turns_are_read_no_more(self, storage: Storage) -> None:
        """Evidence and recall still find them, passes do not; their place stays taken."""
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("a"), a_turn("b")]))
        last = await storage.read(SCOPE, lambda view: view.turns.last_position())
        await storage.write(SCOPE, lambda unit: unit.turns.mark_consumed(["b"], START))
        expect_equal([item.id for item in await _material(storage)], ["a"])
        expect_equal(await _material(storage, after=last, also=("b",)), [])
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.last_position()), last)

    async def test_an_empty_log_has_no_last_position(self, storage: Storage) -> None:
        """A cursor begins there."""
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.last_position()), 0)
        expect_equal(await _material(storage), [])

    async def test_a_taken_turn_id_is_refused_with_all_that_came_along(self, storage: Storage) -> None:
        """An addition is whole or nothing."""
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("a")]))
        again = [a_turn("b"), a_turn("a", "Another text.")]
        await expect_error(StaleVersionError, storage.write(SCOPE, lambda unit: unit.turns.add(again)))
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.count()), 1)

    async def test_a_turn_of_another_scope_is_refused(self, storage: Storage) -> None:
        """A unit of work is bound to one scope."""
        foreign = [a_turn("a", scope=OTHER_SCOPE)]
        await expect_error(InvalidContentError, storage.write(SCOPE, lambda unit: unit.turns.add(foreign)))

    async def test_a_turn_is_consumed_once(self, storage: Storage) -> None:
        """The first instant stays; what was not set is not counted."""
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("a"), a_turn("b")]))
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.count_unread()), 2)
        marked = await storage.write(SCOPE, lambda unit: unit.turns.mark_consumed(["a", "unknown"], START))
        again = await storage.write(SCOPE, lambda unit: unit.turns.mark_consumed(["a"], START + DAY))
        expect_equal((marked, again), (1, 0))
        turn = expect_some(await storage.read(SCOPE, lambda view: view.turns.get("a")))
        expect_equal((turn.consumed_at, turn.version), (START, 2))
        counts = await storage.read(SCOPE, lambda view: (view.turns.count(), view.turns.count_unread()))
        expect_equal(counts, (2, 1))

    async def test_a_session_is_silent_since_its_last_turn(self, storage: Storage) -> None:
        """The longest silent first; what a dream or the host wrote is not said by anybody."""
        turns = [
            a_turn("a", session_id="early", occurred_at=START),
            a_turn("b", session_id="late", occurred_at=START + DAY),
            a_turn("c", session_id="late", occurred_at=START),
            a_turn("d", session_id="late", occurred_at=START + 3 * DAY, generated=True),
            a_turn("e", session_id="still", occurred_at=START + 2 * DAY),
            a_turn("f", session_id="old", occurred_at=START - DAY),
        ]
        await storage.write(SCOPE, lambda unit: unit.turns.add(turns))
        for limit, expected in ((9, ["early", "late"]), (1, ["early"])):
            found = await storage.read(
                SCOPE, lambda view, limit=limit: view.turns.silent(since=START, until=START + DAY, limit=limit)
            )
            expect_equal(found, expected)

    async def test_a_consumed_turn_can_be_unread_again(self, storage: Storage) -> None:
        """As an undo does; passes read it again, and its version grows."""
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("a", consumed_at=START), a_turn("b")]))
        emptied = await storage.write(SCOPE, lambda unit: unit.turns.mark_unread(["a", "b", "unknown"]))
        expect_equal(emptied, 1)
        turn = expect_some(await storage.read(SCOPE, lambda view: view.turns.get("a")))
        expect_equal((turn.consumed_at, turn.version), (None, 2))
        expect_equal([item.id for item in await _material(storage)], ["a", "b"])

    async def test_retention_takes_the_consumed_first_then_the_oldest(self, storage: Storage) -> None:
        """Age counts from storing, not from saying."""
        turns = [
            a_turn("unread-old", recorded_at=START - 3 * DAY, occurred_at=START),
            a_turn("read-young", recorded_at=START - DAY, consumed_at=START),
            a_turn("read-old", recorded_at=START - 2 * DAY, consumed_at=START),
            a_turn("new", recorded_at=START, occurred_at=START - 9 * DAY),
        ]
        await storage.write(SCOPE, lambda unit: unit.turns.add(turns))
        order = ["read-old", "read-young", "unread-old"]
        expired = await storage.read(SCOPE, lambda view: view.turns.expired(recorded_before=START, limit=9))
        expect_equal([turn.id for turn in expired], order)
        first = await storage.read(SCOPE, lambda view: view.turns.expired(recorded_before=START, limit=1))
        expect_equal([turn.id for turn in first], order[:1])
        surplus = await storage.read(SCOPE, lambda view: view.turns.surplus(keep=1, limit=9))
        expect_equal([turn.id for turn in surplus], order)
        bounded = await storage.read(SCOPE, lambda view: view.turns.surplus(keep=1, limit=2))
        expect_equal([turn.id for turn in bounded], order[:2])
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.surplus(keep=4, limit=9)), [])

    async def test_the_oldest_turn_is_known(self, storage: Storage) -> None:
        """From it the date of the next purge follows."""
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.oldest_recorded()), None)
        turns = [a_turn("a"), a_turn("b", recorded_at=START - DAY)]
        await storage.write(SCOPE, lambda unit: unit.turns.add(turns))
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.oldest_recorded()), START - DAY)
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.turns.newest_recorded()), None)
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.newest_recorded()), a_turn("a").recorded_at)

    async def test_a_clock_that_was_set_back_shows_in_the_order_of_turns(self, storage: Storage) -> None:
        """What came later says that it was stored earlier."""
        turns = [a_turn("a", recorded_at=START), a_turn("b", recorded_at=START - 9 * DAY)]
        await storage.write(SCOPE, lambda unit: unit.turns.add(turns))
        for before, by, is_so in ((START, DAY, True), (START, 9 * DAY, False), (START - 9 * DAY, DAY, False)):
            found = await storage.read(
                SCOPE, lambda view, before=before, by=by: view.turns.is_set_back(recorded_before=before, by=by)
            )
            expect_equal(found, is_so)

    async def test_a_deleted_turn_is_gone(self, storage: Storage) -> None:
        """Deletion counts what was there."""
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("a"), a_turn("b")]))
        expect_equal(await storage.write(SCOPE, lambda unit: unit.turns.delete(["a", "unknown"])), 1)
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.get("a")), None)
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.count()), 1)


async def _session(storage: Storage, limit: int | None) -> list[str]:
    found = await storage.read(SCOPE, lambda view: view.turns.session("s1", limit=limit))
    return [turn.id for turn in found]


async def _before(storage: Storage, turn_id: str, limit: int) -> list[str]:
    found = await storage.read(SCOPE, lambda view: view.turns.preceding(turn_id, limit=limit))
    return [turn.id for turn in found]


async def _material(
    storage: Storage, *, after: int = 0, also: tuple[str, ...] = (), limit: int = 99
) -> list[TurnMaterial]:
    """Return the material, having checked that the count agrees with it."""
    found, count = await storage.read(
        SCOPE,
        lambda view: (
            view.turns.material(after=after, also=also, limit=limit),
            view.turns.count_material(after=after, also=also),
        ),
    )
    expect_equal(len(found), min(count, limit))
    return found
