"""Asks the model for the themes of a diary entry, and reads and judges its answer."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.text import without_hidden
from agentcore.llm.chat import ChatRequest, estimate_tokens
from agentcore.recall.tokenizer import Tokenizer
from agentcore.workspace.document import Document
from dream.domain.phases import Phase
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.names import Vocabulary
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.passes.answers import AnswerItem, Handles, Otherwise, Text, answer_form, item_schema, read_items as read_list
from dream.passes.conversation.evidence import not_shown
from dream.passes.conversation.statement import secret_told, statement
from dream.passes.prompts import build_request, entry_line, fenced, importance_at
from dream.passes.protocol import ModelContext
from dream.passes.rem.diary import DiaryItem

MOST_ITEMS: Final = 50
"""More than this are no answer but a flood."""
LONGEST: Final = 300
"""Characters of a theme; a longer one is a retelling."""
LEAST_CITED: Final = 2
"""Entries behind a theme at least."""


class ReflectionItem(AnswerItem):
    """One theme as the model gave it."""

    called: ClassVar[str] = "theme {}"

    text: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no text")]
    handles: Annotated[Handles, Otherwise(Refused.NO_SOURCES, "{} cites nothing")] = Field(validation_alias="sourceIds")
    """The entries that it cites."""


def read_items(answer: Mapping[str, Any]) -> tuple[list[ReflectionItem], list[Refusal]]:
    """Return the themes that can be read, and why others cannot; an answer in another shape is used in no part."""
    return read_list(answer, "themes", ReflectionItem, what="themes", most=MOST_ITEMS)


def judged(
    item: ReflectionItem,
    shown: Mapping[str, MemoryEntry],
    told: Collection[str],
    vocabulary: Vocabulary,
    tokenizer: Tokenizer,
) -> DiaryItem | Refusal:
    """Return a theme that the entries it cites bear out, or why it is not told.

    Args:
        item: It.
        shown: The entries by handle.
        told: Ids of those that earlier summaries rest on.
        vocabulary: Which words are ordinary.
        tokenizer: Tells which words two texts share.
    """
    unknown = [handle for handle in item.handles if handle not in shown]
    if unknown:
        return not_shown(item.label, unknown[0])
    sources = [shown[handle] for handle in item.handles]
    if len(sources) < LEAST_CITED:
        return Refusal(Refused.TOO_FEW_CITATIONS, f"{item.label} cites one entry")
    if all(source.id in told for source in sources):
        return Refusal(Refused.TOO_FEW_CITATIONS, f"{item.label} cites nothing that was not told before")
    text = statement(without_hidden(item.text), item.label)
    if isinstance(text, Refusal):
        return text
    if len(text) > LONGEST or "<!--" in text or [one.text for one in Document(f"- {text}\n").items] != [text]:
        return Refusal(Refused.INVALID_CONTENT, f"{item.label} is not one line of {LONGEST} characters at most")
    refusal = _borne_out(item, text, sources, vocabulary, tokenizer)
    return refusal or DiaryItem(text, tuple(source.id for source in sources))


def _borne_out(
    item: ReflectionItem, text: str, sources: list[MemoryEntry], vocabulary: Vocabulary, tokenizer: Tokenizer
) -> Refusal | None:
    """Return why the sources do not say so: each must share a word with the text, and all its details be theirs."""
    said = set(tokenizer.tokens(text))
    apart = [source.id for source in sources if said.isdisjoint(tokenizer.tokens(source.content))]
    if apart:
        return Refusal(Refused.UNRELATED, f"{item.label} and {Refusal.of(Refused.UNRELATED, apart).detail}")
    found = judge(text, [EvidenceText(text=source.content) for source in sources], vocabulary=vocabulary)
    if found.verdict is Verdict.REFUTED:
        return Refusal(Refused.INVENTED_DETAIL, f"{item.label}: {', '.join(map(str, found.details))}")
    return secret_told(item.label, f"entry {sources[0].id}", text)


TOLD_BEFORE: Final = "told-before"
"""Marks entries that earlier summaries rest on."""

_FORM: Final = answer_form("themes", themes=item_schema(ReflectionItem))
_CONTRACT: Final = """\
Answer with {{"themes": [...]}}, {limit} at most, the most telling first; an empty list is a good answer. Each item has:
- "text": the theme in one sentence of {longest} characters at most, in the language of the entries;
- "sourceIds": the handles of all entries behind it, two or more, such as ["e2", "e7"]; at least one of them is not
  marked {told}. Each must have a word in common with the text.
Names, numbers and dates of "text" must stand in what is cited."""

_ENTRIES: Final = "Entries that were recalled lately:"


async def lines_of(context: ModelContext, shown: Mapping[str, MemoryEntry]) -> list[str]:
    """Return the line of each entry, given by handle."""
    importance = await context.read(lambda view: importance_at(view.decay, context.as_of))
    told = await context.read(lambda view: view.books.phases.met(Phase.REM))
    return [
        entry_line(handle, entry, importance, TOLD_BEFORE if entry.id in told else "")
        for handle, entry in shown.items()
    ]


async def fitting(context: ModelContext, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Return as many of the entries as one prompt has room for, the first first."""
    named = {f"e{place}": entry for place, entry in enumerate(entries, 1)}
    room, fit = context.options.model.prompt_tokens - estimate_tokens(_asked(context, ())), list[MemoryEntry]()
    for entry, line in zip(entries, await lines_of(context, named), strict=True):
        needed = estimate_tokens(f"{line}\n")
        if needed <= room:
            room -= needed
            fit.append(entry)
    return fit


def question(context: ModelContext, lines: Sequence[str], *, directives: Sequence[str], purpose: str) -> ChatRequest:
    """Return the request about these lines."""
    return build_request(context, directives=directives, blocks=[_asked(context, lines)], answer=_FORM, purpose=purpose)


def _asked(context: ModelContext, lines: Sequence[str]) -> str:
    values: Mapping[str, Any] = {"limit": context.options.rem.limit, "longest": LONGEST, "told": TOLD_BEFORE}
    return f"{_CONTRACT.format(**values)}\n\n{fenced(context.marker, _ENTRIES, lines)}"
