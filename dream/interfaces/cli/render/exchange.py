"""Shows what an import added and an export wrote."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from agentcore.domain.records import RECORD_TYPES, RecordKind
from dream.interfaces.cli.render.text import Line, Lines, Tone, clip, counted, one_line, paragraph
from dream.interfaces.cli.session import CommandSession
from dream.interfaces.exchange.import_report import ImportReport

_FIELDS: Final = 5
"""Unknown fields that are named; the others are counted."""
_NAME: Final = 40


def import_lines(session: CommandSession, report: ImportReport) -> Lines:
    """Yield what an import added, what was here already, and what it left out and why."""
    width = session.screen.width
    sessions = f" of {counted(report.sessions, 'session')}" if report.sessions else ""
    added = f"{amounts(report.added) or 'nothing new'}{sessions if report.added else ''}"
    yield from paragraph(f"Imported {report.path} ({report.format.value}) into {session.scope}: {added}.", width)
    if report.known:
        yield Line(f"  here already: {amounts(report.known)}")
    for kind, reasons in sorted(report.skipped.items()):
        text = ", ".join(f"{count:,} {_words(reason)}" for reason, count in sorted(reasons.items()))
        yield from paragraph(f"{text} ({_words(kind)})", width, first="  left out: ", tone=Tone.WARNING)
    if report.notes:
        text = ", ".join(f"{count:,} {_words(note)}" for note, count in sorted(report.notes.items()))
        yield from paragraph(text, width, first="  taken with: ", tone=Tone.WARNING)

    told = [
        f"unknown field {clip(field.name, _NAME)!r} in {counted(count, 'line')}"
        + (f": did you mean {field.meant}?" if field.meant else "")
        for field, count in report.unknown_fields.items()
    ]
    more = [f"{len(told) - _FIELDS:,} more unknown fields"] if len(told) > _FIELDS else []
    for text in (*told[:_FIELDS], *more):
        yield from paragraph(text, width, first="  left out: ", tone=Tone.WARNING)


def _words(code: StrEnum) -> str:
    return code.value.replace("_", " ")


def amounts(counts: Mapping[RecordKind, int]) -> str:
    """Return how many of each kind, in words."""
    found = [(counts[kind], of) for kind, of in RECORD_TYPES.items() if counts.get(kind)]
    return ", ".join(counted(count, of.singular, of.plural) for count, of in found)


def exported_lines(session: CommandSession, path: Path, records: int) -> Lines:
    """Yield what an export wrote, and how to read it back."""
    width = session.screen.width
    yield from paragraph(f"Exported {counted(records, 'record')} of {session.scope} to {path}.", width)
    yield Line(one_line(f"Read it back: {session.command('import', str(path), '--format', 'export')}"), Tone.FAINT)
