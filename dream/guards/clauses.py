"""What a text affirms and what it denies, clause by clause."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from agentcore.lexicon.language import language
from dream.guards.folding import ELISION, fold, one_form, word_key
from dream.guards.languages import (
    ABBREVIATED,
    ANAPHOR,
    ARABIC_AFFIX,
    CONTENT,
    CONTRAST,
    CORRECTION,
    EXCEPTION,
    FUNCTION_WORDS,
    HAN_BUILDING,
    LINKS,
    LITTLE,
    OR,
    OTHER_MARKS,
    QUESTION,
    SENTENCE,
    SHORTENED,
    SHORTEST,
    SUBJECTS,
    TOKEN,
    UNREAL,
    UNSPACED,
    UNSURE,
    UNTABLED,
    UNTIL,
    WITHOUT,
    answered,
    clause_ends,
    language_of_all,
)
from dream.guards.negations import (
    IRREGULAR,
    blurs,
    in_one_word,
    is_negation,
    looks_onward,
    negated_from,
    turns,
    unspaced_negation,
    without_idioms,
)

_ENGLISH_STOP_WORDS: Final = frozenset(language("en").stop_words)
_LITTLE: Final = FUNCTION_WORDS | LITTLE
_TWO_SIDED: Final = frozenset({"de", "nl", "", UNTABLED})
_FRAGMENT: Final = 3
_ENGLISH: Final = 0.25
_SHORT, _LONG = 3, 5
_VOWELS: Final = frozenset("aeiouy")
_LEFT: Final = " ,.;:!-"
_EARLY: Final = 3
_SHORTLY: Final = 2
_AFTER_ANSWER: Final = "answer"


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause: its content words, each with 1 if affirmed, -1 if denied, 0 if neither.

    Args:
        text: As it stands.
        signs: The words.
        negated: Whether a negation stands in it.
        over: Words of the clause before that it takes over, as in `not in Porto, in Lisbon`.
        whole: Whether it may take over all of them and put none in their place.
        corrects: Whether it takes something back.
        nearest: The words right behind `no`, `without` or `stopped`, whatever else the clause says.
    """

    text: str
    signs: Mapping[str, int]
    negated: bool = False
    over: Mapping[str, int] = field(default_factory=dict[str, int])
    whole: bool = False
    corrects: bool = False
    nearest: frozenset[str] = frozenset()

    @property
    def denies(self) -> bool:
        """Whether it denies anything, by a negation or by a word such as `stopped`."""
        return self.negated or any(sign < 0 for sign in self.signs.values())


@dataclass(frozen=True, slots=True)
class ClauseReader:
    """Reads texts of one language.

    Args:
        language: It; blank if no table knows it.
        beginnings: How the words of all texts begin; only where the language is not known.
    """

    language: str
    beginnings: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Sequence[str]) -> "ClauseReader":
        """Return the reader of texts that belong together."""
        words = [fold(word) for text in texts for word in TOKEN.findall(one_form(text))]
        language = language_of_all(texts, "")
        if language != "de" and any(OTHER_MARKS.search(text.casefold()) for text in texts):
            language = UNTABLED
        elif not language and sum(word in _ENGLISH_STOP_WORDS for word in words) > _ENGLISH * len(words):
            language = "en"
        return cls(language) if language not in {"", UNTABLED} else cls(language, frozenset(word[:2] for word in words))

    def clauses(self, text: str, asked: str = "") -> list[Clause]:
        """Return the clauses of a text; for a yes or no, those of the question that it answers.

        Args:
            text: What was said.
            asked: What was said before it by somebody else.
        """
        before = self._asked(asked)
        own = False
        found: list[Clause] = []
        for place, sentence in enumerate(sentences_of(text)):
            reply, rest = self._reply(sentence) if before else (None, sentence)
            if reply is not None and (own or self._is_answer(place, reply, rest)):
                given = [_as_answered(clause, affirmed=reply) for clause in before]
                if place and answered(sentence)[0] is None:
                    # "They say I smoke. I don't."
                    given += self._of_sentence(sentence[: len(sentence) - len(rest)], last=_last(found))
                while (again := answered(rest.lstrip(_LEFT))) and again[0] is reply:
                    rest = again[1]
                found += [*given, *self._of_sentence(rest, given[-1])]
                before = []
            else:
                found += self._of_sentence(sentence, last=_last(found))
            own = QUESTION.search(sentence) is not None
            if own:
                before = self._of_sentence(QUESTION.sub("", sentence))
        return found

    def answers(self, text: str) -> bool:
        """Tell whether a text holds a yes or a no: in its first sentences, or as the whole of a later one."""
        return any(self._is_answer(place, *self._reply(one)) for place, one in enumerate(sentences_of(text)))

    @staticmethod
    def _is_answer(place: int, reply: bool | None, rest: str) -> bool:  # noqa: FBT001
        return reply is not None and (place < _EARLY or CONTENT.search(rest) is None)

    def _asked(self, text: str) -> list[Clause]:
        """Return the clauses of the last question of a text, or of its last sentence."""
        asked = question_of(text)
        return self._of_sentence(QUESTION.sub("", asked)) if asked else []

    def _reply(self, sentence: str) -> tuple[bool | None, str]:
        reply, rest = answered(sentence)
        if reply is None:
            # "I'm not, I left in spring."
            end, following, _ = next(clause_ends(sentence, LINKS[self.language]))
            signs, negated = self._signs(sentence[:end])
            # "Luckily not." and "Lieber nicht.", "I never made it."
            words = TOKEN.findall(sentence[:end])
            short = len(signs) == 1 and bool(words) and (self._negates(words[-1]) or words[-1].casefold() in ANAPHOR)
            if (negated and (not signs or short)) or (signs and all(map(turns, signs))):
                return False, sentence[following:]
        return reply, rest

    def _of_sentence(self, sentence: str, before: Clause | None = None, last: Clause | None = None) -> list[Clause]:
        """Return the clauses of one sentence.

        Args:
            sentence: It, or what follows an answer in it.
            before: The answer.
            last: The clause before it, for which a bare "He isn't any more." stands.
        """
        asks = QUESTION.search(sentence) is not None
        found: list[Clause] = []
        prior, link, done = before, "" if before is None else _AFTER_ANSWER, 0
        for end, following, next_link in clause_ends(sentence, LINKS[self.language]):
            clause = self._clause(sentence[done:end], link, next_link, prior)
            if done == 0 and last is not None and clause.signs and all(map(turns, clause.signs)):
                # "They offered 900. I refused."
                clause = replace(clause, signs={}, over=dict.fromkeys(last.signs, -1), whole=True)
            short = not clause.signs or (len(clause.signs) <= _SHORTLY and self._points_back(clause.text))
            bare = done == 0 and clause.negated and short and not next_link.strip().isalpha()
            if bare and last is not None and not asks:
                # "You do not send it. Never!" says it once more.
                over = last.signs if last.negated else dict.fromkeys(last.signs, -1)
                clause = replace(clause, over=over, whole=not clause.signs)
            done = following
            if asks and not clause.negated:
                # A question affirms nothing.
                clause = replace(clause, signs=dict.fromkeys(clause.signs, 0), over={})
            if clause.signs or clause.negated or clause.over or clause.corrects:
                found.append(clause)
            if clause.signs or link != _AFTER_ANSWER:
                link = next_link
            prior = clause if clause.signs else prior
        return _listed(found)

    def _clause(self, piece: str, link: str, next_link: str, prior: Clause | None) -> Clause:
        signs, negated = self._signs(piece)
        unreal = not negated and UNREAL.search(piece) is not None
        if unreal or UNSURE.search(link) or (negated and UNTIL.search(next_link)):
            signs, prior = dict.fromkeys(signs, 0), None
        clause = Clause(
            " ".join(piece.split()),
            signs,
            negated,
            corrects=CORRECTION.search(piece) is not None,
            nearest=frozenset(word for word in self._nearest(piece, signs) if signs.get(word, 0) < 0),
        )
        if prior is not None and signs and EXCEPTION.search(link):
            sign = 1 if prior.negated else -1
            over = dict.fromkeys(prior.signs, sign)
            return replace(clause, signs=dict.fromkeys(signs, sign), over=over, whole=True)
        if prior is None or not CONTENT.search(piece) or len(signs) > _FRAGMENT or prior.negated == negated:
            return clause
        around = f"{link} {piece}"
        contrasts = (
            negated
            or clause.corrects
            or (link == _AFTER_ANSWER and bool(signs) and self._is_fragment(piece, signs))
            or CONTRAST.search(around) is not None
        )
        if contrasts:
            over = dict.fromkeys(prior.signs, -1 if negated else 1)
            return replace(clause, over=over, whole=clause.corrects and not signs)
        if signs and self._is_fragment(piece, signs) and not self._is_parallel(piece, prior):
            # Of "no meat, fish" nobody knows whether the fish is one more thing that is denied.
            return replace(clause, signs=dict.fromkeys(signs, -1 if OR.search(around) else 0))
        return clause

    def _points_back(self, text: str) -> bool:
        return any(word.casefold() in ANAPHOR for word in TOKEN.findall(text)[-1:])

    def _is_parallel(self, piece: str, prior: Clause) -> bool:
        """Tell whether a piece begins as a word of the clause before: `no somos de Madrid, somos de Bilbao`."""
        return any(word in TOKEN.findall(prior.text) for word in TOKEN.findall(piece)[:1])

    def _is_fragment(self, piece: str, signs: Mapping[str, int]) -> bool:
        """Tell whether a piece is no clause of its own: it has neither a subject nor one of the commonest verbs."""
        if self.language in {"", UNTABLED}:
            return len(signs) == 1
        return not any(word.casefold() in SUBJECTS for word in TOKEN.findall(piece))

    def _signs(self, piece: str) -> tuple[dict[str, int], bool]:
        """Return the content words of a clause with their signs, and whether a negation stands in it."""
        plain = in_one_word(without_idioms(one_form(piece)))
        signs, last, negated = self._said(TOKEN.findall(plain))
        if last:
            # Nothing stands behind what denies: it denies what stands before it.
            signs |= {word: last for word in signs if not turns(word)}
        if not piece.isascii() and UNSPACED.search(piece):
            return self._unspaced(plain, signs, negated=negated)
        return signs, negated

    def _nearest(self, piece: str, signs: Mapping[str, int]) -> Iterator[str]:
        words = TOKEN.findall(in_one_word(without_idioms(one_form(piece))))
        # "Nobody hurt, luckily."
        awaited = bool(words) and len(signs) <= _SHORTLY and self._negates(words[0])
        for written in words:
            word = _stem(written, self.language)
            if turns(written) or (self._negates(written) and looks_onward(written, self.language)):
                awaited = True
            elif word is not None and awaited and not self._negates(written):
                awaited = False
                yield word

    def _said(self, words: Sequence[str]) -> tuple[dict[str, int], int, bool]:
        """Return the content words with their signs, the sign that no word stands behind, and whether one negates."""
        signs: dict[str, int] = {}
        now, negated, behind = 1, False, -1
        without: int | None = None
        for written in words:
            if self._negates(written):
                if not negated and written.casefold() in WITHOUT:
                    now, without = -now, len(signs)
                elif not negated:
                    signs, now, behind = self._before(written, signs, now), -now, len(signs)
                elif without is None and written.casefold() in WITHOUT:
                    # "Nothing without asking me": it is to be asked.
                    now = 1
                elif without is not None:
                    # "Without glasses I see nothing."
                    signs = {word: sign if place < without else 0 for place, (word, sign) in enumerate(signs.items())}
                    now, without = -1, None
                negated = True
            elif (word := _stem(written, self.language)) is not None:
                signs.setdefault(word, now)
                # "Ohne Brille lesen": the verb comes last and is not meant.
                now = -now if without == len(signs) - 1 and self.language in _TWO_SIDED else now
                now, behind = _after(written, now, behind, len(signs), denied=negated)
        return signs, now if behind == len(signs) else 0, negated

    def _unspaced(self, plain: str, signs: dict[str, int], *, negated: bool) -> tuple[dict[str, int], bool]:
        """Return what `_signs` does, of a clause in a script without spaces."""
        hard, soft = unspaced_negation(plain)
        if not (hard or soft):
            return signs, negated
        behind = [_stem(written, self.language) for written in TOKEN.findall(plain[negated_from(plain) :])]
        sign = 1 if hard and soft else -1
        return {word: sign if word in behind else 0 for word in signs}, hard

    def _before(self, written: str, signs: dict[str, int], now: int) -> dict[str, int]:
        """Return the signs of the words before a negation: it may mean them or not, but for the nearest one."""
        before = dict.fromkeys(signs, 0)
        if signs and self.language in _TWO_SIDED and not looks_onward(written, self.language):
            before[next(reversed(signs))] = -now
        return before

    def _negates(self, written: str) -> bool:
        if is_negation(written, self.language):
            return True
        # "Nejím", where another word of the texts is "jí".
        folded = fold(written)
        return (
            self.language in {"", UNTABLED}
            and len(folded) > SHORTEST
            and folded[:2] == "ne"
            and folded[2:4] in self.beginnings
        )


def question_of(text: str) -> str:
    """Return the last question of a text, or its last sentence: what an answer is about.

    Example:
        >>> question_of("The terrace is open. Shall I book it? Just say so.")
        'Shall I book it?'
    """
    sentences = sentences_of(text)
    return next((one for one in reversed(sentences) if QUESTION.search(one)), sentences[-1] if sentences else "")


def content_words(text: str) -> frozenset[str]:
    """Return the content words of a text, as clauses have them."""
    return frozenset(word for written in TOKEN.findall(one_form(text)) if (word := _stem(written, "en")) is not None)


def names_in(text: str) -> frozenset[str]:
    """Return the words of a text that begin with a capital."""
    return content_words(" ".join(written for written in TOKEN.findall(text) if written[0].isupper()))


def are_alike(one: str, other: str) -> bool:
    """Tell whether two words may be forms of one: they begin alike."""
    if one == other or one[0] != other[0]:
        return one == other
    short, long = sorted((one, other), key=len)
    shared = next((place for place, letter in enumerate(short) if letter != long[place]), len(short))
    if "\uac00" <= one[0] <= "\ud7a3":
        return shared > 1 or (len(short) == 1 and len(long) <= _SHORT)
    if shared < _SHORT or len(long) > len(short) + _LONG:
        return False
    if len(long) > _LONG:
        return shared >= min(len(short), max(_SHORT + 1, len(short) - 2))
    return shared == len(short) or not one.isascii() or {short[shared], long[shared]} <= _VOWELS


def _after(written: str, now: int, behind: int, place: int, *, denied: bool) -> tuple[int, int]:
    """Return the sign of what follows a word, and the place from which the last word that denies counts."""
    if turns(written):
        return -now, place
    return (0, behind) if blurs(written, denied=denied) else (now, behind)


def _last(clauses: Sequence[Clause]) -> Clause | None:
    return next((one for one in reversed(clauses) if one.signs), None)


def _as_answered(clause: Clause, *, affirmed: bool) -> Clause:
    # A "no" to "Don't you eat meat?" denies it as well.
    turned = not affirmed and not clause.negated
    signs = {word: -sign if turned else sign for word, sign in clause.signs.items()}
    return replace(clause, signs=signs, negated=clause.negated or not affirmed, over={})


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text."""
    found: list[str] = []
    for piece in SENTENCE.split(text):
        if found and ABBREVIATED.search(found[-1]):
            found[-1] += f" {piece}"
        elif piece.strip():
            found.append(piece)
    return found


def _listed(clauses: list[Clause]) -> list[Clause]:
    """Deny each item of a denied list whose last one is joined by an "or"."""
    for place in range(len(clauses) - 1, 0, -1):
        one, other = clauses[place - 1], clauses[place]
        is_item = bool(other.signs) and not other.negated and set(other.signs.values()) == {-1}
        if is_item and not one.negated and set(one.signs.values()) == {0}:
            clauses[place - 1] = replace(one, signs=dict.fromkeys(one.signs, -1))
    return clauses


def _stem(written: str, language: str) -> str | None:
    """Return what of a word is compared; None of a little word."""
    folded, plain = word_key(SHORTENED.sub("", ELISION.sub("", written, count=1))), written.casefold()
    # A little word of one language is no little word of another.
    little = HAN_BUILDING if language == UNTABLED else _LITTLE
    if not little.isdisjoint((folded, plain)) or folded in HAN_BUILDING:
        return None
    if len(folded) == 1 and folded.lower() != folded.upper():
        return None
    if "\u0600" <= folded[:1] <= "\u06ff":
        return ARABIC_AFFIX.sub("", folded, count=1)
    return IRREGULAR.get(folded, folded)
