"""Asks which claims new entries make, and reads the answer."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.predicates import DEFAULT, PredicateRule
from agentcore.llm.chat import ChatRequest
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.answers import AnswerItem, LooseHandle, Otherwise, Text, answer_form, item_schema, read_items
from dream.passes.prompts import build_request, fenced, quoted
from dream.passes.protocol import ModelContext

MOST_ITEMS: Final = 60
"""Claims in one answer at most."""


class ClaimItem(AnswerItem):
    """One claim as the model gave it."""

    called: ClassVar[str] = "claim {}"

    subject: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no subject")]
    predicate: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no predicate")]
    object: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no object")]
    negated: Annotated[bool, Field(strict=True), Otherwise(Refused.INVALID_CONTENT, "{} has no negated, true or false")]
    when: Annotated[str | None, Otherwise(Refused.INVALID_CONTENT, "{} has a time that is no text")] = None
    handle: Annotated[LooseHandle, Otherwise(Refused.NO_SOURCES, "{} cites nothing")] = Field(
        validation_alias="sourceId"
    )
    """The entry that says it."""
    quote: Annotated[Text, Otherwise(Refused.QUOTE_NOT_FOUND, "{} quotes nothing")]


_FORM: Final = answer_form("claims", claims=item_schema(ClaimItem))
_CONTRACT: Final = """\
Answer with {{"claims": [...]}}, {most} at most; an empty list is a good answer. Each item has:
- "subject", "object": words of the record, as they stand there;
- "predicate": one of {predicates}{others};
- "negated": true if the record says that it is not so, else false;
- "when": the years in which it is so, as the record gives them, such as "2014..2016"; null if it gives none;
- "sourceId": the handle of the record; "quote": the words of it that say it, as they stand there."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,59}")


def is_predicate(name: str, rules: Mapping[str, PredicateRule]) -> bool:
    """Tell whether a claim may have a predicate of this name: a row names it, or there is one for all others."""
    return name in rules or (DEFAULT in rules and _NAME.fullmatch(name) is not None)


def question(
    context: ModelContext,
    entries: Mapping[str, MemoryEntry],
    rules: Mapping[str, PredicateRule],
    directives: Sequence[str],
) -> ChatRequest:
    """Return the request about these entries, given by their handles."""
    names = ", ".join(f'"{name}"' for name in rules if name != DEFAULT)
    others = ", or another such name where none of them fits" if DEFAULT in rules else ""
    contract = _CONTRACT.format(most=MOST_ITEMS, predicates=names, others=others)
    lines = [f"[{handle}] {quoted(entry.content)}" for handle, entry in entries.items()]
    block = fenced(context.marker, "Records:", lines)
    return build_request(
        context, directives=directives, blocks=[f"{contract}\n\n{block}"], answer=_FORM, purpose=context.pass_name
    )


def read_claims(answer: Mapping[str, Any]) -> tuple[list[ClaimItem], list[Refusal]]:
    """Return the claims that can be read, and why others cannot; an answer in another shape is used in no part."""
    return read_items(answer, "claims", ClaimItem, what="claims", most=MOST_ITEMS)
