"""Words what a forget and an erasure are going to do, and what they did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentcore.domain.evidence import SourceKind
from agentcore.domain.records import RecordKind
from agentcore.stores.forgetting import TurnsChoice
from dream.interfaces.cli.render.entries import entry_lines
from dream.interfaces.cli.render.text import Line, Tone, counted, one_line, paragraph, when
from dream.interfaces.likeness_words import LIKENESS_WORDS, told_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentcore.domain.memory import MemoryEntry
    from agentcore.hosting.erasing import ErasureCertificate
    from agentcore.hosting.restatements import Restatement
    from agentcore.stores.forgetting import Forgotten, KnownCopy
    from dream.interfaces.cli.render.text import Lines
    from dream.interfaces.cli.session import CommandSession

OUT_OF_REACH: Final = ("what says it in other words and was not found", "git history", "backups", "exports")
_CALLED: Final = {
    SourceKind.TURN: ("turn", "turns"),
    SourceKind.ENTRY: ("entry", "entries"),
    RecordKind.SKILL: ("skill", "skills"),
}


def forgetting_lines(
    session: CommandSession,
    gone: Sequence[MemoryEntry],
    meant: Forgotten,
    found: Sequence[Restatement],
    choice: TurnsChoice,
    *,
    back: Sequence[MemoryEntry],
) -> Lines:
    """Yield what a forget is going to remove and to bring back, and what else says it, for a person to decide."""
    width = session.screen.width
    turns = counted(len(meant.withheld), "turn")
    yield Line(f"To be forgotten for good: {counted(len(gone), 'entry', 'entries')} and what {turns} said.", Tone.TITLE)
    for entry in gone:
        yield from entry_lines(entry, width)
    yield from _back_lines(session, back)
    if meant.skills:
        told = f"{counted(len(meant.skills), 'skill')} will lose what they say of it: {', '.join(meant.skills)}."
        yield from paragraph(told, width)
    if choice is TurnsChoice.NONE:
        yield from paragraph("No turn is redacted: whoever reads the log or an export finds it there.", width)
    if found:
        yield from _found_lines(found, choice, width)


def _found_lines(found: Sequence[Restatement], choice: TurnsChoice, width: int) -> Lines:
    goes = "goes too" if choice is TurnsChoice.ALL else "stays; give --turns all to have it go too"
    yield Line(f"Found besides, which {goes}: {', '.join(_counts(found))}.", Tone.WARNING)
    yield from _restatement_lines(found, width)


def _restatement_lines(found: Sequence[Restatement], width: int) -> Lines:
    """Yield each of them, and of each all that goes if it is chosen: what nobody sees, nobody can decide."""
    for one in found:
        day = one.said_at and f"{one.said_at:%Y-%m-%d}"
        who = ", ".join(one_line(part) for part in (one.name, one.speaker, day) if part)
        told = f"{one.kind.value} {one.id}, {LIKENESS_WORDS[one.likeness]}{who and f', {who}'}"
        yield from paragraph(f"{told}: {one_line(told_whole(one.text))}", width, first="  ", rest="    ")


def _back_lines(session: CommandSession, back: Sequence[MemoryEntry]) -> Lines:
    if not back:
        return
    told = f"Brought back: {counted(len(back), 'entry', 'entries')}, as only their merge goes. They may say the same."
    yield from paragraph(told, session.screen.width, tone=Tone.WARNING)
    for entry in back:
        yield from entry_lines(entry, session.screen.width)
        yield Line(f"    To forget it too: {session.command('forget', entry.id)}")


def _counts(found: Sequence[Restatement]) -> list[str]:
    kinds = [one.kind for one in found]
    called = {kind: _CALLED.get(kind, ("piece of feedback", "pieces of feedback")) for kind in dict.fromkeys(kinds)}
    return [counted(kinds.count(kind), *names) for kind, names in called.items()]


def forgotten_lines(
    session: CommandSession,
    done: Forgotten,
    restored: Sequence[MemoryEntry],
    left: Sequence[Restatement],
    copies: Sequence[KnownCopy],
) -> Lines:
    """Yield what a forget removed, brought back and withheld, and where the text may still stand."""
    width = session.screen.width
    yield Line(f"Forgotten for good: {counted(len(done.removed), 'entry', 'entries')}.", Tone.TITLE)
    for entry_id in done.removed:
        yield Line(f"    {one_line(entry_id)}", Tone.REMOVED)
    yield from _back_lines(session, restored)
    if done.withheld:
        turns = counted(len(done.withheld), "turn")
        told = f"Withheld from recall and from dreams: {turns} of the conversation log"
        redacted = f"{len(done.redacted)} of them redacted" if done.redacted else "none of them redacted"
        yield from paragraph(f"{told}, {redacted}.", width)
    if done.skills:
        told = f"Taken out of {counted(len(done.skills), 'skill')}: {', '.join(map(one_line, done.skills))}."
        yield from paragraph(told, width)
    if left:
        yield from paragraph(f"Found and left as they are: {', '.join(_counts(left))}.", width, tone=Tone.WARNING)
        yield from _restatement_lines(left, width)
        for kind, words in ((SourceKind.TURN, ("--turn", "ID")), (SourceKind.ENTRY, ("ID",))):
            if any(one.kind is kind for one in left):
                yield Line(f"To forget such {_CALLED[kind][1]} too: {session.command('forget', *words)}")
    yield from paragraph(
        f"Out of reach, look there yourself if it matters: {', '.join(OUT_OF_REACH)}.", width, tone=Tone.FAINT
    )
    for copy in copies:
        told = f"{copy.called} of {when(copy.made_at)}: {one_line(copy.place)}"
        yield from paragraph(told, width, first="  - ", rest="    ", tone=Tone.FAINT)


def erasure_lines(certificate: ErasureCertificate, width: int, *, is_done: bool) -> Lines:
    """Yield what an erasure removes, by kind and count, and what it does not reach."""
    scopes = counted(len(certificate.erasures), "scope")
    yield Line(f"{'Erased for good' if is_done else 'To be erased for good'}: {scopes}.", Tone.TITLE)
    for one in certificate.erasures:
        yield from paragraph(f"{one.scope}: {_told(one.removed)}", width, first="  ", rest="    ")
    if certificate.documents:
        yield from paragraph(
            f"Files: {', '.join(map(one_line, certificate.documents))}", width, first="  ", rest="    "
        )
    yield Line("Beyond its reach:", Tone.WARNING)
    for place in certificate.beyond_reach():
        yield from paragraph(one_line(place), width, first="  - ", rest="    ")


def _told(removed: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in removed.items()) or "nothing"
