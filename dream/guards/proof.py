"""Tells whether evidence says a text itself, sentence by sentence.

A sentence proves only as a whole, and only where it is meant as it stands: no question, no item of a list, nothing
inside a quotation, nothing that its speaker doubts, jokes about, denies or takes back in the same text or a later one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentcore.lexicon.language import languages
from dream.guards.denials import denied_by, has_denial
from dream.guards.languages import CORRECTION, TAKES_BACK, answered
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern
from dream.guards.shown_text import EvidenceText
from dream.guards.speakers import Voices, are_same
from dream.guards.wording import is_item, is_question, plain, sentences_of, words_of

if TYPE_CHECKING:
    import regex

_SIGNS = r"[\U0001F600-\U0001F64F\U0001F910-\U0001F97A]|[;:]-?[)pPD](?!\w)|(?<!\S)/s(?!\S)|x[dD]\b|\(\?\)|\(!\)"


def _not_meant() -> str:
    spaced: list[str] = []
    inside: list[str] = []
    for one in languages():
        unspaced = one.code in {"zh", "ja"}
        (inside if unspaced else spaced).extend(pattern.replace(" ", r"\s+") for pattern in one.not_meant)
    return rf"(?<!\p{{L}})(?:{'|'.join(spaced)})(?!\p{{L}})|{'|'.join(inside)}|{_SIGNS}"


_NOT_MEANT: Final = lazy_pattern(_not_meant())
_CLOSED = lazy_pattern(r"\"[^\"]*\"|„[^“”„]*[“”]|“[^“”]*”|«[^«»]*»|「[^「」]*」|『[^『』]*』|\([^()]*\)|\[[^\[\]]*\]")
_QUOTE_OPENS, _QUOTE_CLOSES = lazy_pattern(r"(?<!\w)['‘](?=\w)"), lazy_pattern(r"(?<=[\w.,!?])['’](?!\w)")
_OPEN = lazy_pattern(r"[\"„“”«»「」『』(\[]")


@dataclass(frozen=True, slots=True)
class _Text:
    """One text of the evidence, and all that was shown."""

    shown: EvidenceText
    everything: Sequence[EvidenceText]
    voices: Voices
    sentences: tuple[str, ...]

    @classmethod
    def of(cls, one: EvidenceText, everything: Sequence[EvidenceText]) -> "_Text":
        return cls(one, everything, Voices.of(one, everything), sentences_of(one.text))

    def says(self, sentence: str, place: int) -> bool:
        """Tell whether the sentence at a place of this text is another one."""
        return place < len(self.sentences) and are_same(sentence, self.sentences[place], self.voices)

    def is_meant(self, place: int) -> bool:
        """Tell whether the sentence at a place is meant as it stands."""
        return (
            self.shown.is_person
            and not is_question(self.sentences[place])
            and not _is_quoted(self.sentences, place)
            and not _is_framed(self.sentences, place)
            and not _is_turned(self.sentences[place + 1 :])
            and not _is_doubted(self.shown, self.sentences, self.everything)
        )


def is_said(
    statement: str, evidence: Sequence[EvidenceText], beside: Sequence[EvidenceText] = (), *, whole: bool = False
) -> bool:
    """Tell whether a text is made of whole sentences of its evidence, up to who says I and you.

    Args:
        statement: The text.
        evidence: What it is made from.
        beside: What else was shown; it proves nothing, but may take back.
        whole: Whether it must be all sentences of all of the evidence, those of one text side by side and in order.

    Example:
        >>> said = [EvidenceText(text="I moved to Porto. I love the old town.", speaker="Ana")]
        >>> is_said("Ana moved to Porto.", said), is_said("I moved.", said)
        (True, False)
    """
    told = sentences_of(statement)
    everything = [*evidence, *beside]
    texts = [_Text.of(one, everything) for one in dict.fromkeys(evidence)]
    if whole:
        is_made = all(one.is_person for one in evidence) and _tells_all(told, texts)
    else:
        is_made = not any(map(is_question, told)) and _is_made_of(told, texts)
    return bool(told) and is_made and all(denied_by(one, everything) is None for one in told)


def is_told(sentence: str, evidence: Sequence[EvidenceText]) -> bool:
    """Tell whether a person says a sentence anywhere in the evidence, meant or not."""
    return any(
        are_same(sentence, said, Voices.of(one, evidence))
        for one in evidence
        if one.is_person
        for said in sentences_of(one.text)
    )


def _is_doubted(one: EvidenceText, sentences: Sequence[str], everything: Iterable[EvidenceText]) -> bool:
    """Tell whether a text is not meant as it stands, or a later one of the talk takes something back."""
    if any(map(is_item, sentences)) or _has(_NOT_MEANT, one.text):
        return True
    return one.speaker is not None and any(
        other != one and other.speaker is not None and _is_later(other, one) and _takes_back(other.text)
        for other in everything
    )


def _is_later(one: EvidenceText, other: EvidenceText) -> bool:
    return one.said_at is None or other.said_at is None or one.said_at >= other.said_at


def _takes_back(text: str) -> bool:
    return _BACK[text]


def _is_taking_back(text: str) -> bool:
    sentences = sentences_of(text)
    return _has(_NOT_MEANT, text) or any(
        _has(TAKES_BACK, one) or _has(CORRECTION, one) or (_is_fragment(one) and has_denial(one)) for one in sentences
    )


_BACK: Final = TextCache(_is_taking_back, room=TEXT_ROOM)


def _is_framed(sentences: Sequence[str], place: int) -> bool:
    """Tell whether a sentence stands beside a few words that may change it, as `Maybe.`, or behind a colon."""
    before, after = sentences[:place][-1:], sentences[place + 1 :][:1]
    return any(_COLON.search(one) for one in sentences[:place]) or any(map(_is_fragment, (*before, *after)))


def _is_fragment(sentence: str) -> bool:
    words = words_of(sentence)
    return len(words) < _LEAST_WORDS and len("".join(words)) < _LEAST_LETTERS


_COLON = lazy_pattern(r"[:：](?=\s|$)")
_LEAST_WORDS, _LEAST_LETTERS = 4, 16


def _is_turned(following: Sequence[str]) -> bool:
    """Tell whether one of the sentences behind a sentence may take it back, as `But that was years ago` does."""
    return any(
        _has(_TURNING, one) or _has(TAKES_BACK, one) or _has(CORRECTION, one) or answered(one)[0] is False
        for one in following
    )


_TURNING: Final = lazy_pattern(
    r"(?i)^\W*(?:but|or|not|unless|except|if|well|only|though|although|provided|assuming|as\s+long|maybe|perhaps|probably|hopefully|at\s+least|aber|vielleicht|peut-être|quizás?|tal\s+vez|talvez|forse"
    r"|misschien|może|belki|ربما|может|возможно|oder|nicht|außer|wenn|nur|mais|ou|pas|sauf|si"
    r"|pero|o|no|salvo|mas|não|se|ma|non|tranne|maar|of|niet|als|но|или|не|если|ale|lub|albo|nie|jeśli|ama|fakat|değil"
    r"|لكن|أو|إلا)(?!\p{L})|^\W*(?:但|不|除非|可是|でも|しかし|ただし|하지만)"
)


def _has(pattern: "regex.Pattern[str]", text: str) -> bool:
    return pattern.search(plain(text).casefold()) is not None


def _is_quoted(sentences: Sequence[str], place: int) -> bool:
    """Tell whether a bracket or a quotation is open where a sentence begins or ends."""
    return any(_is_open(" ".join(sentences[:end])) for end in (place, place + 1))


def _is_open(text: str) -> bool:
    quotes = len(_QUOTE_OPENS.findall(text)) - len(_QUOTE_CLOSES.findall(text))
    return quotes > 0 or _OPEN.search(_CLOSED.sub("", text)) is not None


def _is_made_of(told: Sequence[str], texts: Sequence[_Text]) -> bool:
    """Tell whether a text is a row of runs of sentences that each stand side by side in one text of the evidence."""
    reached = {0}
    for start in range(len(told)):
        if start in reached:
            reached.update(start + length for one in texts for length in _runs(told[start:], one))
    return len(told) in reached


def _runs(told: Sequence[str], one: _Text) -> Iterator[int]:
    for first in range(len(one.sentences)):
        for length, sentence in enumerate(told, 1):
            place = first + length - 1
            if not (one.says(sentence, place) and one.is_meant(place)):
                break
            yield length


def _tells_all(told: Sequence[str], texts: Sequence[_Text], at: int = 0) -> bool:
    """Tell whether a text is all the texts, one behind the other, without the sentences that were told before."""
    if not texts:
        return at == len(told)
    ends = [_end_of(told, one, at) for one in texts]
    if at in ends:
        place = ends.index(at)
        return _tells_all(told, [*texts[:place], *texts[place + 1 :]], at)
    return any(
        _tells_all(told, [*texts[:place], *texts[place + 1 :]], end)
        for place, end in enumerate(ends)
        if end is not None
    )


def _end_of(told: Sequence[str], one: _Text, at: int) -> int | None:
    """Return where a text ends that is told from a place on; None if it is not told there."""
    for sentence in one.sentences:
        if at < len(told) and are_same(told[at], sentence, one.voices):
            at += 1
        elif not any(are_same(before, sentence, one.voices) for before in told[:at]):
            return None
    return at
