"""Shows a model pairs of records, and reads and judges the hypotheses that it words."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from agentcore.domain.text import normalise, without_hidden
from agentcore.llm.chat import ChatRequest
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.names import Vocabulary
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.passes.answers import AnswerItem, Handles, Otherwise, Text, TextList, answer_form, item_schema, read_items
from dream.passes.commonplace import commonplace
from dream.passes.conversation.evidence import not_shown
from dream.passes.conversation.quotes import holds_quote, on_one_line
from dream.passes.conversation.statement import secret_told, statement
from dream.passes.hypotheses.pairs import Pair
from dream.passes.hypotheses.wording import Guess, said_as
from dream.passes.prompts import build_request, fenced, quoted
from dream.passes.protocol import ModelContext
from dream.passes.terms import terms_of

LONGEST: Final = 300
"""Characters of each of its sentences."""
_LEAST_WORDS: Final = 3
"""Words of a quote at least, or all words of a shorter record."""
_MOST_ITEMS: Final = 50
_HEDGES: Final = frozenset(
    term
    for word in ("may", "might", "maybe", "perhaps", "possibly", "probably", "could", "likely", "seems", "true", "if")
    for term in terms_of(word)
)


class GuessItem(AnswerItem):
    """One hypothesis as the model gave it."""

    called: ClassVar[str] = "hypothesis {}"

    hypothesis: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no text")]
    what_if: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no what_if")]
    possible_outcome: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no possible_outcome")]
    question: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no question")]
    handles: Annotated[Handles, Otherwise(Refused.NO_SOURCES, "{} cites nothing")] = Field(validation_alias="sourceIds")
    """The two records of the pair."""
    quotes: Annotated[TextList, Otherwise(Refused.QUOTE_NOT_FOUND, "{} quotes nothing")]
    """What of each it rests on, in the order of the handles."""


_FORM: Final = answer_form("hypotheses", hypotheses=item_schema(GuessItem))
_CONTRACT: Final = """\
Answer with {{"hypotheses": [...]}}, {most} at most; an empty list is a good answer. Each item has:
- "hypothesis": what might be true of both records together, in one sentence of {longest} characters at most;
- "what_if": the question that it asks; "possible_outcome": what would change if it were true;
- "question": what to ask somebody to settle it;
- "sourceIds": the two handles of one pair, such as ["e1", "e2"];
- "quotes": words of each of the two, as they stand there, in the same order."""


def question(
    context: ModelContext, pairs: Mapping[tuple[str, str], Pair], directives: Sequence[str], purpose: str
) -> ChatRequest:
    """Return the request about these pairs, given by their handles."""
    lines: list[str] = []
    for (one, other), pair in pairs.items():
        lines.append(f"A pair that shares {quoted(said_as(pair))}:")
        lines += [f"[{handle}] {quoted(text)}" for handle, text in zip((one, other), pair.texts, strict=True)]
    contract = _CONTRACT.format(most=len(pairs), longest=LONGEST)
    block = fenced(context.marker, "Pairs of records:", lines)
    return build_request(
        context, directives=directives, blocks=[f"{contract}\n\n{block}"], answer=_FORM, purpose=purpose
    )


def read_guesses(answer: Mapping[str, Any]) -> tuple[list[GuessItem], list[Refusal]]:
    """Return the hypotheses that can be read, and why others cannot; an answer in another shape is used in no part."""
    return read_items(answer, "hypotheses", GuessItem, what="hypotheses", most=_MOST_ITEMS)


def judged(
    item: GuessItem, pairs: Mapping[tuple[str, str], Pair], vocabulary: Vocabulary, generator: str
) -> Guess | Refusal:
    """Return a hypothesis about a pair that quotes both of it and says more than either, or why it is not taken.

    Args:
        item: It.
        pairs: What was shown and still stands as it was, by the handles of the two.
        vocabulary: Which words are ordinary.
        generator: Who worded it.
    """
    shown = {handle for both in pairs for handle in both}
    unknown = [handle for handle in item.handles if handle not in shown]
    if unknown:
        return not_shown(item.label, unknown[0])
    both = next((one for one in pairs if set(one) == set(item.handles)), None)
    if both is None or len(item.handles) != 2:
        return Refusal(Refused.TOO_FEW_SOURCES, f"{item.label} does not cite the two records of one pair")
    pair = pairs[both]
    texts = dict(zip(both, pair.texts, strict=True))
    quotes = tuple(map(on_one_line, item.quotes))
    if len(quotes) != 2 or not all(
        _is_quoted(texts[handle], quote) for handle, quote in zip(item.handles, quotes, strict=True)
    ):
        return Refusal(Refused.QUOTE_NOT_FOUND, f"{item.label} does not quote both records")
    return _worded(item, pair, quotes, vocabulary, generator)


def _worded(
    item: GuessItem, pair: Pair, quotes: tuple[str, ...], vocabulary: Vocabulary, generator: str
) -> Guess | Refusal:
    told = (item.hypothesis, item.what_if, item.possible_outcome, item.question)
    sentences = [statement(without_hidden(text), item.label) for text in told]
    broken = next((one for one in sentences if isinstance(one, Refusal)), None)
    if broken is not None:
        return broken
    texts = [one for one in sentences if isinstance(one, str)]
    if any(len(text) > LONGEST for text in texts):
        return Refusal(Refused.INVALID_CONTENT, f"{item.label} has a sentence of more than {LONGEST} characters")
    refusal = secret_told(item.label, str(pair.refs[0]), *texts, *quotes) or _restating(item.label, texts[0], pair)
    if refusal is not None:
        return refusal
    found = judge(texts[0], [EvidenceText(text=text) for text in pair.texts], vocabulary=vocabulary)
    if found.verdict is Verdict.REFUTED:
        return Refusal(Refused.INVENTED_DETAIL, f"{item.label}: {', '.join(map(str, found.details))}")
    hypothesis, what_if, outcome, ask = texts
    return Guess(
        pair=pair,
        hypothesis=hypothesis,
        what_if=what_if,
        possible_outcome=outcome,
        question=ask,
        quotes=quotes,
        generator=generator,
    )


def _is_quoted(text: str, quote: str) -> bool:
    return holds_quote(text, quote) and len(quote.split()) >= min(_LEAST_WORDS, len(text.split()))


def _restating(label: str, hypothesis: str, pair: Pair) -> Refusal | None:
    """Refuse a text that says no more than one of the records does, with or without a maybe, or leaves one out."""
    said = set(terms_of(hypothesis)) - commonplace() - _HEDGES
    held = [set(terms_of(text)) for text in pair.texts]
    if normalise(hypothesis) in set(map(normalise, pair.texts)) or any(said <= terms for terms in held):
        return Refusal(Refused.RESTATES, f"{label} says what one of its records says")
    if any(said.isdisjoint(terms) for terms in held):
        return Refusal(Refused.UNRELATED, f"{label} takes up nothing of one of its records")
    return None
