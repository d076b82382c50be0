"""What may stand in MEMORY.md, whatever it scores."""

from dataclasses import dataclass, field

from agentcore.domain.memory import MemoryEntry, SourceKind
from agentcore.domain.text import without_hidden
from agentcore.recall.tokenizer import Tokenizer
from agentcore.workspace.document import Document
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.change_guards import is_under
from dream.guards.merge_coverage import coverage
from dream.guards.secrets import secret_in
from dream.guards.vocabulary import builtin_vocabulary
from dream.options.promotion import PromotionOptions
from dream.passes.promotion.blocks import said_by


def unfit(entry: MemoryEntry, options: PromotionOptions) -> Refusal | None:
    """Return why an entry must not stand in MEMORY.md, None if it may."""
    if entry.trust < options.least_trust:
        return Refusal(Refused.UNTRUSTED, entry.id)
    if is_under(entry.category, options.never) or any(ref.kind is SourceKind.DOCUMENT for ref in entry.sources):
        return Refusal(Refused.OWN_OUTPUT, entry.id)
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
class Said:
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
            bool(either) and shared / either >= self.likeness and coverage([text], other, builtin_vocabulary()).faithful
        )
