"""Shows a second reader the records that statements rest on: each once, whichever statements cite it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, Self

from agentcore.domain.evidence import SourceRef
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.wording import sentences_of
from dream.passes.prompts import quoted
from dream.passes.terms import terms_of

_ASSISTANT: Final = "assistant"
_LONGEST: Final = 400
"""Characters shown of what an assistant said: it proves nothing, and is there for what a person affirms of it."""
_GAP: Final = " [...] "


@dataclass(frozen=True, slots=True)
class CitedRecords:
    """The records of one call.

    Args:
        handles: By line, in the order in which they were said.
        whole: Records that are shown whole, by their source: what stands beside another statement is then no excerpt.
        texts: What is shown of a line, where that is not all of it.
    """

    handles: Mapping[EvidenceLine, str]
    whole: Mapping[SourceRef, EvidenceLine]
    texts: Mapping[EvidenceLine, str]

    @classmethod
    def of(cls, assertions: Sequence[Assertion]) -> Self:
        """Number the records of these statements."""
        cited = [line for one in assertions for line in one.evidence]
        whole = {line.source: line for line in cited if line.source is not None and not line.is_beside}
        distinct = dict.fromkeys(_plain(line, whole) for line in cited)
        ordered = sorted(
            distinct, key=lambda line: (line.said_at is None, line.said_at and line.said_at.timestamp(), line.text)
        )
        told: dict[EvidenceLine, list[str]] = {}
        for one in assertions:
            for line in one.evidence:
                told.setdefault(_plain(line, whole), []).append(one.text)
        texts = {line: _shortened(line.text, told[line]) for line in ordered if line.role == _ASSISTANT}
        return cls({line: f"r{place}" for place, line in enumerate(ordered, 1)}, whole, texts)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the records, each day under one heading."""
        for day, lines in groupby(self.handles, lambda line: line.said_at and line.said_at.date()):
            if day is not None:
                yield f"{day:%A %Y-%m-%d}"
            for line in lines:
                by = [line.role] if line.speaker is None or line.role != "user" else []
                by += [] if line.speaker is None else [quoted(line.speaker)]
                by += [] if line.about is None else [f"about={line.about}"]
                yield f"[{self.handles[line]}] {' '.join(by)}: {quoted(self.texts.get(line, line.text))}"

    def statement(self, handle: str, assertion: Assertion) -> str:
        """Return the line of a statement, with the handles of what it rests on."""
        evidence, beside = (
            " ".join(dict.fromkeys(self.handles[_plain(line, self.whole)] for line in lines))
            for lines in _sides(assertion)
        )
        marks = "".join(f" {mark}" for mark, is_set in (("whole", assertion.whole), ("adds", assertion.adds)) if is_set)
        return f"[{handle}] {evidence}{f' ({beside})' if beside else ''}{marks}: {quoted(assertion.text)}"


def _sides(assertion: Assertion) -> tuple[list[EvidenceLine], list[EvidenceLine]]:
    evidence = [line for line in assertion.evidence if not line.is_beside]
    return evidence, [line for line in assertion.evidence if line.is_beside]


def _plain(line: EvidenceLine, whole: Mapping[SourceRef, EvidenceLine]) -> EvidenceLine:
    """Return the line that is shown for one: it does not matter in which statement's place it stands."""
    known = line if line.source is None else whole.get(line.source, line)
    return replace(known, is_beside=False)


def _shortened(text: str, statements: Iterable[str]) -> str:
    """Return the sentences of a long text that have most words of what is said of it, in their order."""
    if len(text) <= _LONGEST:
        return text
    told = {term for one in statements for term in terms_of(one)}
    sentences = sentences_of(text)
    weights = [len(told.intersection(terms_of(one))) for one in sentences]
    room, kept = _LONGEST, set[int]()
    for place in sorted(range(len(sentences)), key=lambda place: (-weights[place], place)):
        room -= len(sentences[place])
        if kept and room < 0:
            break
        kept.add(place)
    runs = [(place, sentences[place][:_LONGEST]) for place in sorted(kept)]
    parts = [f"{_GAP.strip()} {one}" if place and place - 1 not in kept else one for place, one in runs]
    return " ".join(parts) + ("" if len(sentences) - 1 in kept else _GAP.rstrip())
