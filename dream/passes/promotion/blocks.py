"""Writes promoted entries as blocks of documents, and decides which entries may stand there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from agentcore.domain.evidence import EvidenceVerdict
from agentcore.domain.memory import MemoryEntry, SourceKind
from agentcore.domain.text import without_hidden
from agentcore.recall.tokenizer import Tokenizer
from agentcore.workspace.document import Document
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.change_guards import is_under
from dream.guards.secrets import secret_in
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.options import PromotionOptions
from dream.passes.document_changes import NEW_DIARY, appended

_FIGURES: Final = re.compile(r"\s*_\(score=[\d.]+, hits=\d+, days=\d+\)_\s*$")
_NEW_MEMORY: Final = "# MEMORY.md\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotedLine:
    """One entry that is promoted.

    Args:
        entry: The entry.
        text: What it says, on one line.
        score: What it scored.
        hits: How often it was recalled.
        days: On how many days.
        needed_at: When it was recalled last.
    """

    entry: MemoryEntry
    text: str
    score: float
    hits: int
    days: int
    needed_at: datetime

    @property
    def entry_id(self) -> str:
        """The entry's id."""
        return self.entry.id

    @property
    def written(self) -> str:
        """How it stands in MEMORY.md."""
        return f"{self.text} _(score={self.score:.2f}, hits={self.hits}, days={self.days})_"


def said_by(item: str) -> str:
    """Return what an item of MEMORY.md says, without the figures behind it.

    Example:
        >>> said_by("Luis lives in Bogota _(score=0.42, hits=5, days=3)_")
        'Luis lives in Bogota'
    """
    return _FIGURES.sub("", item)


def with_block(text: str, lines: Sequence[PromotedLine], heading: str) -> str:
    """Return MEMORY.md with a block at its end; whatever stood there stays as it is, byte for byte."""
    return appended(text or _NEW_MEMORY, [f"## Dreamed {heading}", "", *(f"- {line.written}" for line in lines)])


def with_diary(text: str, lines: Sequence[PromotedLine], heading: str, *, scanned: int, skipped: int) -> str:
    """Return DREAMS.md with the sweep's entry at its end.

    Args:
        text: The diary so far; empty for a new one.
        lines: What was promoted.
        heading: When.
        scanned: How many entries had been recalled.
        skipped: How many of those that met every gate stood in MEMORY.md already.
    """
    told = [
        f"## Deep Sleep {heading}",
        "",
        f"- candidates: {scanned}",
        f"- promoted: {len(lines)}",
        f"- skipped (already promoted): {skipped}",
        "",
        "### Promoted",
        "",
        *(f"- {line.text} — score {line.score:.2f}, hits {line.hits}" for line in lines),
    ]
    return appended(text or NEW_DIARY, told)


def unfit(entry: MemoryEntry, options: PromotionOptions) -> Refusal | None:
    """Return why an entry must not stand in MEMORY.md, None if it may."""
    if entry.trust < options.min_trust:
        return Refusal(Refused.UNTRUSTED, entry.id)
    if is_under(entry.category, options.never) or any(ref.kind is SourceKind.DOCUMENT for ref in entry.sources):
        return Refusal(Refused.OWN_OUTPUT, entry.id)
    if entry.verdict is EvidenceVerdict.VERBATIM:
        return Refusal(Refused.VERBATIM, entry.id)
    line = one_line(entry)
    secret = secret_in(entry.content) or secret_in(line)
    if secret is not None:
        return Refusal(Refused.SECRET, f"{entry.id} looks like it holds a {secret}")
    items = Document(f"- {line}\n").items
    if len(items) != 1 or items[0].text != line:
        return Refusal(Refused.INVALID_CONTENT, f"{entry.id} would not stay one item of a document")
    return None


def one_line(entry: MemoryEntry) -> str:
    """Return what an entry says, on one line, without characters that nobody sees but that do something."""
    return " ".join(without_hidden(entry.content).split())


@dataclass(slots=True)
class DocumentTexts:
    """What MEMORY.md says, and what this sweep adds to it.

    Args:
        likeness: Share of words from which two texts are taken to say the same, if none has a detail of its own.
    """

    likeness: float
    _tokenizer: Tokenizer = field(default_factory=Tokenizer)
    _texts: list[tuple[str, frozenset[str]]] = field(default_factory=list[tuple[str, frozenset[str]]])

    def add(self, *texts: str) -> None:
        """Take note of items."""
        for text in map(said_by, texts):
            self._texts.append((text, frozenset(self._tokenizer.tokens(text))))

    def holds(self, text: str) -> bool:
        """Tell whether an item says *text* already."""
        terms = frozenset(self._tokenizer.tokens(text))
        return any(text == other or self._is_same(text, terms, other, theirs) for other, theirs in self._texts)

    def _is_same(self, text: str, terms: frozenset[str], other: str, theirs: frozenset[str]) -> bool:
        shared, either = len(terms & theirs), len(terms | theirs)
        return (
            bool(either)
            and shared / either >= self.likeness
            and judge(text, [EvidenceText(text=other)], whole=True).verdict is Verdict.PROVEN
        )
