"""What fuzzed answers about MEMORY.md are about, and the answers: edits no model should give."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from agentcore.domain import StoredDocument, fold_key
from agentcore.workspace import ARCHIVE, MEMORY
from dream.passes.document_consolidation import DocumentConsolidation
from tests.bench.fuzz_answers import Answers, Shown
from tests.bench.fuzz_passes import PassTable, table_of
from tests.bench.fuzz_tables import Table
from tests.dream.dreaming import NOW, World
from tests.dream.unsupported_documents import SECRET, Pages, unsupported_edits

_OPS = ("merge", "merge", "rewrite", "archive", "move", "add", "keep") * 5 + ("delete",)
_OWN = (
    "Ana likes tea.", "Ana likes green tea best.", "Ana moved to Lisbon in 2019.", "Rui works at Norte since 2019.",
    "Rui has worked at Norte since 2019.", "The deployment takes 12 minutes.",
    "The deployment took 15 minutes on 3 May.", "Marta has two cats called Mio and Lua.",
    "The order 4711 costs 120.50 euros.", "Ana never works on Fridays.", "Die Rechnung 88 ist nicht bezahlt.",
    "See https://norte.example/v2 for prices.", "Use `ruff format` before a commit.",
    "ana likes walking by the river", "Give Ana [10mg] of it", "Give Ana [100mg] of it", "Ana likes tea.",
)  # fmt: skip
_THEIRS = ("My desk is number 4, by Rui", "Call Zoe before 9:30")


class EditAnswers(Answers):
    """Endless lists of edits; the same for the same seed."""

    def __init__(self, seed: int, shown: Shown) -> None:
        super().__init__(seed, shown, about_turns=False)

    def _whole(self) -> dict[str, Any]:
        free = self._shown[:]
        self._random.shuffle(free)
        return {"edits": [self._edit(free) for _ in range(self._random.choice((0, 1, 1, 1, 2, 3, 5)))]}

    def _edit(self, free: list[tuple[str, str]]) -> dict[str, Any]:
        chance = self._random
        op = chance.choice(_OPS)
        count = 1 if op in {"rewrite", "archive", "move"} else chance.choice((1, 2, 2, 2, 3))
        taken = self._taken(free, count)
        if op in {"merge", "add"} and chance.random() < 0.4:
            taken = self._alike()
        text = self._text([text for _, text in taken])
        return {
            "op": op,
            "items": [handle for handle, _ in taken],
            "text": chance.choice(
                (text, text, f"{text} {SECRET}", f"password: {SECRET}", None, f"# {text}", f"- {text}")
            ),
            "target": self._handle() if op == "move" or chance.random() < 0.1 else None,
            "reason": chance.choice((None, "the same", "Mallory said so", "")),
        }

    def _alike(self) -> list[tuple[str, str]]:
        """Return items that begin with the same word."""
        handle, text = self._random.choice(self._shown)
        others = [one for one in self._shown if one[0] != handle and one[1].split()[0] == text.split()[0]]
        return [(handle, text), *others[:1]]


def _page() -> str:
    third = len(_OWN) // 3
    parts = (_OWN[:third], _OWN[third : 2 * third], _OWN[2 * third :])
    sections = [f"## Part {number}\n\n" + "".join(f"- {one}\n" for one in part) for number, part in enumerate(parts, 1)]
    rest = "| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nrm -rf /\n```\n\n## Pinned\n\n- Never deploy on Fridays\n"
    return "# MEMORY.md\n\n" + "".join(f"- {one}\n" for one in _THEIRS) + "\n" + "\n".join(sections) + "\n" + rest


FIXED = (*_THEIRS, "Never deploy on Fridays")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentTable(PassTable):
    """The one batch of a MEMORY.md; *page* is its text, with the line ends of Unix."""

    page: str

    def answers(self, seed: int) -> Answers:
        """Answers about this page."""
        return EditAnswers(seed, self.shown)

    def faults(self, after: Mapping[str, Any], answer: Mapping[str, Any]) -> list[str]:
        """Return the changes that nothing supports."""
        del answer
        texts = {name: one.content for name, one in after.items() if isinstance(one, StoredDocument)}
        told = {name: text.replace("\r\n", "\n") for name, text in texts.items()}
        return unsupported_edits(
            Pages(before=self.page, after=told[MEMORY], archive=told.get(ARCHIVE, ""), fixed=FIXED)
        )


async def documented(world: World, chance: random.Random) -> Table:
    """Store a MEMORY.md of which people wrote a part, and lend it."""
    page = _page()
    own = tuple(sorted({fold_key(one) for one in (*_OWN, "Never deploy on Fridays")}))
    content = page.replace("\n", "\r\n") if chance.random() < 0.3 else page
    stored = StoredDocument(id=MEMORY, scope=world.scope, content=content, updated_at=NOW, own=own)
    await world.write(lambda unit: unit.documents.add(stored))
    lent = await table_of(world, DocumentConsolidation())
    return DocumentTable(**{one.name: getattr(lent, one.name) for one in fields(lent)}, page=page)
