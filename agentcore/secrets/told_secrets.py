"""Finds secrets that are told in words: a word for one, and beside it what looks like its value.

A text is read statement by statement, once: the words around secrets are marked, and each part that could be a value is
judged by the words that introduce it. So the time grows with the text and no faster.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

import regex

from agentcore.lexicon.lazy_pattern import lazy_pattern
from agentcore.secrets.invented_values import has_invented_value, is_in_pieces, is_keyed_in, lists_codes, spells_out
from agentcore.secrets.secret_lists import (
    counts_out,
    has_column,
    has_label,
    has_login_row,
    has_seed_phrase,
    is_dialled,
)
from agentcore.secrets.secret_values import (
    LONGEST_VALUE,
    PART,
    UNSPACED,
    Shape,
    ValuePart,
    digits_in,
    gives_away,
    is_long,
    is_made_up,
    looks_chosen,
    shape_of,
)
from agentcore.secrets.secret_words import FoldedText, Mark, marks_of, secret_words

_BOUNDARY: Final = lazy_pattern(
    r"(?<=[.!…][\"'»”)\]]?)(?<!(?<!\w)\p{L}\.)\s+(?!\p{Ll})"
    r"|(?<=\?)\s+(?!(?i:it'?s|it is|es ist|sie ist|c'est|es|è|это)\b)|[。！？؟]+"
    r"|(?<![:=：\s])\s*\n+(?!\s*[\"']?value[\"']?\s*[:=])"
)
_QUOTES: Final = "\"'`«»“”„‚‘’「」『』*_ \t\n\r\u00a0("
_COLONS: Final = ("👉", "➡", "➜", "⇥", "⟶", ":", "=", "—", "–", "→", "->", "|", ">", "+", " -", "\t", "⇒")
_ENDS: Final = lazy_pattern(r"[\"'`»”’」』*)\s]*(?:[.,;!?)。，、！？؟،|]|$|\n)")
_CLOSE: Final = 40  # between the name of a secret and what looks like nothing else
_FAR: Final = 160
"""Characters between a word for a secret and its value at most."""
_NEAR: Final = 100
"""Characters between a code and what it opens at most."""

_DIGITS_TO_THE_END: Final = lazy_pattern(
    r"\d{2,8}(?:です|だ|でした|である)?[よね]?[\"'»”」』]?\s*(?:[.,;!?)。，、！？|]|$|\n)"
)
_HAN_DIGITS: Final = lazy_pattern("(?:[零〇一二三四五六七八九幺两][・、， -]?){4,}+(?!年)")
_COMBINATION: Final = lazy_pattern(
    rf"(?<![^\W{UNSPACED}]|[.,/:-])\d{{1,2}}(?:\s?[-–]\s?\d{{1,2}}){{2,5}}+(?![^\W{UNSPACED}]|[/:]|[-.,]\d)", regex.V0
)
_COMMAS: Final = lazy_pattern(r"(?<![\w.,])\d(?:,\s?\d){3,7}+(?![\w.,]\w|\w)")
_RUNS: Final = (_HAN_DIGITS, _COMBINATION, _COMMAS)
_LONG_RUNS: Final = (
    _HAN_DIGITS,
    lazy_pattern(rf"(?<![^\W{UNSPACED}]|[.,/:-])\d(?:\s?[-–]\s?\d){{3,7}}+(?![^\W{UNSPACED}]|[/:]|[-.,]\d)", regex.V0),
)
_PIECE: Final = lazy_pattern(r"[^\W_]+")
_FOUR_DIGITS: Final = lazy_pattern(r"(?<![\w.,/-])\d(?:\s?[-–·/]\s?\d){3,}+(?![\w/])")
_BEHIND_ADDRESS: Final = lazy_pattern(r"(?:@[\w-]+\.\w{2,}\s*(?:[/|,;:]\s*|\s\p{L}{1,3}\s)|[\w.@-]{2,}\s+/\s+)[\"'`]?$")
_SPELLED: Final = lazy_pattern(
    rf"(?<![\w-])[^\W_{UNSPACED}](?:(?:\s?[-–·・,]\s?|\s)(?:[^\W_{UNSPACED}]|[!@#$%&*+])(?!\w)){{4,}}+"
)

_AND: Final = frozenset({"e ", "E ", "e", "E", "e,", "e:"})


def is_told_in(text: FoldedText) -> bool:
    """Tell whether a text tells a secret in words.

    Example:
        >>> is_told_in(FoldedText.of("The door code is 4711.")), is_told_in(FoldedText.of("The postal code is 4711."))
        (True, False)
    """
    # Without its accent `è` is "and".
    marks = [mark for mark in marks_of(text.folded) if text.plain[mark.start : mark.end + 1] not in _AND]
    if has_invented_value(text, marks) or spells_out(text, marks) or is_keyed_in(text, marks):
        return True
    if is_in_pieces(text, marks):
        return True
    if not any(mark.kind in _TELLING for mark in marks):
        return False
    if any(statement.tells() for statement in _statements(text, marks)) or has_seed_phrase(text, marks):
        return True
    if lists_codes(text, marks) or has_label(text, marks) or has_login_row(text, marks):
        return True
    return "\n" in text.plain and has_column(text, marks)


_TELLING: Final = frozenset(
    {"passwords", "tokens", "codes", "keys", "locks", "logins", "as_before", "seeds", "derived", "safes"}
)


def _statements(text: FoldedText, marks: Sequence[Mark]) -> Iterator["_Statement"]:
    starts = [mark.start for mark in marks]
    begin = 0
    for end, after in (*((one.start(), one.end()) for one in _BOUNDARY.finditer(text.plain)), (len(text.plain),) * 2):
        within = marks[bisect_left(starts, begin) : bisect_left(starts, end)]
        if any(mark.kind in _TELLING for mark in within):
            yield _Statement(text, begin, end, within)
        begin = after


class _Statement:
    """A stretch of a text in which a word for a secret and its value belong together.

    Args:
        text: The text.
        start: Where the statement begins.
        end: Where it ends.
        marks: The words around secrets in it.
    """

    def __init__(self, text: FoldedText, start: int, end: int, marks: Sequence[Mark]) -> None:
        self._text = text
        self._start = start
        self._end = end
        self._by_kind: dict[str, list[int]] = {}
        self._by_end: dict[int, set[str]] = {}
        for mark in marks:
            self._by_kind.setdefault(mark.kind, []).append(mark.start)
            self._by_end.setdefault(mark.end, set()).add(mark.kind)
        self._ends = sorted(self._by_end)
        self._named = [mark for mark in marks if mark.kind in {"passwords", "tokens"}]
        self._is_english = any(text.folded[mark.start : mark.end] in {"is", "was"} for mark in marks)

    def tells(self) -> bool:
        """Tell whether it tells a secret."""
        parts = list(self._parts())
        if any(map(self._is_value, parts)) or self._is_worked_out(parts) or self._spells_one():
            return True
        return is_dialled(self._text, self._start, self._end, self._by_kind)

    def _is_worked_out(self, parts: Sequence[ValuePart]) -> bool:
        """Tell whether it is told how a secret is made of the usual one or of what others can find out."""
        if self._is_put_together(parts):
            return True
        is_named = self._has("passwords") or (self._has("as_before") and self._has("logins") and self._has("entering"))
        if not is_named or self._text.plain[self._start : self._end + 1].rstrip().endswith(("?", "？")):
            return False
        says_what = self._has("links") or self._has("using") or ":" in self._text.plain[self._start : self._end]
        numbers = [part for part in parts if part.shape is not Shape.WORD]
        if self._has("as_before"):
            words = _PIECE.findall(self._text.folded[self._start : self._end])
            return bool(numbers) or any(word in secret_words("digits") for word in words)
        is_told = says_what or any(part.shape is Shape.MIXED and is_long(part) for part in numbers)
        is_told = is_told or any(map(self._stands_alone, numbers))
        return self._has("derived") and is_told and any(digits_in(part.text) > 1 for part in numbers)

    def _is_put_together(self, parts: Sequence[ValuePart]) -> bool:
        """Tell whether a number, alone or behind a word, ends what is told of what something opens by."""
        last = parts[-1] if parts else None
        if last is None or not (self._has("derived") or self._has("passwords")):
            return False
        is_named = self._has("passwords") or self._has("codes")
        is_about = is_named or any(map(self._has, ("locks", "logins")))
        if self._stands_alone(last) and (self._has("links") or self._has("namely")):
            is_worked_out = is_about and (is_named or not last.text.startswith(("19", "20")))
        else:
            is_about = is_about or self._has("as_before") or len(self._by_kind.get("derived", ())) > 1
            is_worked_out = is_about and self._has("derived") and _PUT_TOGETHER.fullmatch(last.text) is not None
        if not is_worked_out:
            return False
        before = self._text.plain[self._start : last.start].rstrip(_QUOTES)
        is_introduced = before.endswith((",", ":", "、", "，", "：", "،", "—", "–")) or self._has("namely")
        return is_introduced and _ENDS.match(self._text.plain, last.end) is not None

    def _stands_alone(self, part: ValuePart) -> bool:
        """Tell whether a number ends what is said, right behind what a secret opens: `the PIN of my card 4711`."""
        ends = _ENDS.match(self._text.plain, part.end) is not None
        return part.shape is Shape.DIGITS and 3 < digits_in(part.text) < 9 and ends

    def _stands_alone_in_three(self, part: ValuePart) -> bool:
        """Tell whether three digits, as small locks have, end what is said."""
        return digits_in(part.text) == 3 and _ENDS.match(self._text.plain, part.end) is not None

    def _parts(self) -> Iterator[ValuePart]:
        for match in PART.finditer(self._text.plain, self._start, self._end):
            text = match.group().strip(".!?*_-") if match["word"] else match.group()
            start = match.start() + match.group().find(text) if text else match.start()
            shape = shape_of(text, is_number=match["digits"] is not None) if text else None
            if shape is not None:
                yield ValuePart(start, match.end(), text, shape)

    def _is_value(self, part: ValuePart) -> bool:
        if part.shape is Shape.WORD:
            return self._is_word_value(part) or self._goes_on_in_digits(part)
        by = self._introduced_by(part.start)
        is_told = self._is_followed(part) or self._is_typed(part, by)
        if is_told or (is_made_up(part.text) and self._is_to_get_in(part, by)):
            return True
        if by == "into" and self._before("codes", part.start) and part.shape is Shape.DIGITS and is_long(part):
            return self._is_near("locks", part.start)
        if by is None or by in {"with", "into"}:
            if self._is_signed_in_with(part) or self._is_close_to_its_name(part):
                return True
            return by is not None and self._is_put_to_use(part, by)
        return self._is_secret(part, by) or self._opens(part, by) or self._is_signed_in_with(part)

    def _is_to_get_in(self, part: ValuePart, by: str | None) -> bool:
        """Tell whether what is made up as passwords are is said of what one gets into, or was set anew."""
        if by is None or ("_" in part.text and not self._is_no_name(part, by)):
            return False
        is_opened = self._is_near("logins", part.start) or self._is_near("locks", part.start)
        return (by == "into" and self._has("changed")) or (by in _GETTING_IN and is_opened)

    def _is_no_name(self, part: ValuePart, by: str) -> bool:
        """Tell whether what has an underscore, as names of files and versions have, ends what is said of a use."""
        ends = _ENDS.match(self._text.plain, part.end) is not None
        return ends and digits_in(part.text) > 1 and by in {"with", "using", "entering", ":"}

    def _is_typed(self, part: ValuePart, by: str | None) -> bool:
        """Tell whether a word with digits behind it is used or entered to get into something."""
        is_opened = self._is_near("locks", part.start) and _WORD_AND_DIGITS.fullmatch(part.text) is not None
        return by in {"using", "entering"} and is_opened

    def _is_secret(self, part: ValuePart, by: str) -> bool:
        """Tell whether a value stands behind a word that is secret by its name."""
        if self._before("passwords", part.start):
            if by in {"logins", "locks"}:
                if self._is_of_a_card(part):
                    return True
                return (part.shape is Shape.MIXED and len(part.text) >= _LEAST_UNNAMED) or self._stands_alone(part)
            least = 3 if by in {"passwords", "links", ":"} else 4
            return digits_in(part.text) >= least if part.shape is Shape.DIGITS else len(part.text) > 3
        if self._before("tokens", part.start):
            return part.shape is Shape.MIXED and len(part.text) >= 8
        if by not in {":", "namely"} or part.shape is not Shape.MIXED or len(part.text) < _LEAST_UNNAMED:
            return False
        return self._has("as_before") or (by == "namely" and self._has("derived"))

    def _is_of_a_card(self, part: ValuePart) -> bool:
        """Tell whether it is the three digits of a card: `the CVV of my card 442`."""
        named = self._named_before(part.start)
        is_three = part.shape is Shape.DIGITS and digits_in(part.text) == 3
        return is_three and named is not None and self._text.folded[named.start : named.end].startswith(("cvv", "cvc"))

    def _opens(self, part: ValuePart, by: str) -> bool:
        """Tell whether a value stands behind a code and what it opens, or a key and what it connects to."""
        code, key = self._before("codes", part.start), self._before("keys", part.start)
        is_number = part.shape is Shape.DIGITS and digits_in(part.text) > 2 and by in {":", "links"}
        if not is_long(part) and not is_number:
            return False
        if by == "locks" and self._before("safes", part.start) and self._stands_alone(part):
            return digits_in(part.text) < 7 and not part.text.startswith(("19", "20"))
        if code and ((by == "namely" and is_long(part)) or self._is_near("locks", part.start)):
            return True
        if not is_long(part) or self._is_of_an_address(part.start):
            return False
        return self._fits(part, by, is_key=key)

    def _fits(self, part: ValuePart, by: str, *, is_key: bool) -> bool:
        """Tell whether a value stands behind a safe, or a key, or what is entered."""
        if by in {":", "links"} and self._before("safes", part.start) and part.shape is Shape.DIGITS:
            return True
        if is_key and by == ":" and part.shape is Shape.DIGITS and self._is_near("locks", part.start):
            return True
        if is_key and self._is_near("logins", part.start):
            return by in {"keys", "links", ":", "namely"}
        return (by in {":", "entering"} or (by == "using" and gives_away(part))) and self._is_entered(part)

    def _is_of_an_address(self, place: int) -> bool:
        before = self._text.plain[max(self._start, place - 40) : place]
        return "://" in before.rsplit(maxsplit=1)[-1] if before.strip() else False

    def _is_put_to_use(self, part: ValuePart, by: str) -> bool:
        """Tell whether something is opened with a value, or a secret was changed into it."""
        is_of_a_safe = part.shape is Shape.DIGITS and self._has("safes") and self._stands_alone_in_three(part)
        if not (is_long(part) or is_of_a_safe):
            return False
        named = self._before("passwords", part.start)
        if by == "into":
            return self._has("changed") and (named or (self._before("codes", part.start) and self._has("locks")))
        is_opened = self._is_near("opening", part.start) or self._is_near("entering", part.start)
        return is_opened and (self._has("locks") or self._has("logins") or named)

    def _is_close_to_its_name(self, part: ValuePart) -> bool:
        """Tell whether a value that looks like nothing else stands a few words behind what it is."""
        named = self._named_before(part.start)
        return named is not None and part.start - named.end <= _CLOSE and gives_away(part)

    def _is_entered(self, part: ValuePart) -> bool:
        opened = self._is_near("locks", part.start) or self._is_near("logins", part.start)
        return opened and (self._is_near("entering", part.start) or self._is_near("opening", part.start))

    def _is_signed_in_with(self, part: ValuePart) -> bool:
        """Tell whether something is opened with a value whose look gives it away, or one that is entered at once."""
        if self._is_beside_its_user(part):
            return True
        if self._introduced_by(part.start) in {"using", "with"} and part.shape is Shape.MIXED and looks_chosen(part):
            return self._has("entering") or self._has("opening")
        if not is_long(part) or not self._is_entered(part):
            return False
        return gives_away(part) or self._starts_at(part.end, "entering") or self._starts_at(part.end, "opening")

    def _is_beside_its_user(self, part: ValuePart) -> bool:
        is_login = self._is_near("logins", part.start) or self._before("passwords", part.start)
        before = self._text.plain[max(self._start, part.start - 60) : part.start]
        return is_long(part) and part.shape is Shape.MIXED and is_login and _BEHIND_ADDRESS.search(before) is not None

    def _starts_at(self, place: int, kind: str) -> bool:
        starts = self._by_kind.get(kind, [])
        found = bisect_left(starts, place)
        return (
            found < len(starts)
            and not self._text.folded[place : min(starts[found], place + 9)].strip(_QUOTES + ",でをと")
            and starts[found] < place + 9
        )

    def _goes_on_in_digits(self, part: ValuePart) -> bool:
        """Tell whether a run of letters without spaces is told as a password that ends in digits."""
        plain, end = self._text.plain, part.start + len(part.text)
        digits = _DIGITS_TO_THE_END.match(plain, end)
        is_run = digits is not None and regex.match(f"[{UNSPACED}]", part.text) is not None
        return is_run and self._before("passwords", part.start) and self._introduced_by(part.start) in {":", "links"}

    def _is_followed(self, part: ValuePart) -> bool:
        """Tell whether it is said behind a value that this is a secret: `4711 is my PIN`."""
        if is_long(part) and self._starts_in_brackets(part.end):
            return True
        if not is_long(part) or not self._starts_at(part.end, "links"):
            return False
        named = [*self._by_kind.get("passwords", ()), *(self._by_kind.get("codes", ()) if self._has("locks") else ())]
        return any(part.end < start < part.end + 40 for start in named)

    def _starts_in_brackets(self, place: int) -> bool:
        """Tell whether brackets say that it is a secret: `4711 (PIN)`."""
        begun = _OPENS_BRACKETS.match(self._text.plain, place)
        return begun is not None and begun.end() in self._by_kind.get("passwords", ())

    def _is_word_value(self, part: ValuePart) -> bool:
        """Tell whether a plain word is a value: told as such right behind its name, and nothing that is said of one."""
        by = self._introduced_by(part.start)
        named = self._named_before(part.start)
        if named is None:
            return by == "keys" and "-" in part.text and len(part.text) > 8 and self._is_near("logins", part.start)
        if named.end - named.start < _LEAST_NAME and self._text.folded[named.start : named.end] not in _SHORT_NAMES:
            return False  # a PIN has digits, and `tan` and `pin` are words of many languages
        is_said_of_one = any(part.text.lower() in secret_words(kind) for kind in ("no_values", "passwords"))
        if by not in {":", "links", "namely"} or len(part.text) < 4 or is_said_of_one:
            return False
        if named.kind == "tokens" and not self._text.folded[named.start : named.end].endswith(("key", "-schlussel")):
            return False
        before = self._text.plain[max(0, part.start - 4) : part.start].rstrip(" \t")
        is_quoted = before.endswith(tuple("\"'`«“„‚「『"))
        between = self._text.folded[named.end : part.start]
        words = [one for one in _PIECE.findall(between) if one not in secret_words("links")]
        is_direct = not words or self._has("locks", named.start) or self._has("logins", named.start)
        if len(words) > 5 or not (is_direct or (is_quoted and len(words) < 4)):
            return False
        is_at_end = _ENDS.match(self._text.plain, part.end) is not None or part.end - part.start >= LONGEST_VALUE
        return is_quoted or (is_at_end and self._may_be_a_word(part, by))

    def _may_be_a_word(self, part: ValuePart, by: str) -> bool:
        """Tell whether a word that is not quoted can be a value: in most languages an adjective is in small letters."""
        return by == ":" or self._is_english or part.text[0].isupper()

    def _introduced_by(self, place: int) -> str | None:
        """Return the kind of the word that stands right before a place, `:` for a sign, None for any other word."""
        before = self._text.folded[max(self._start, place - 40) : place].rstrip(_QUOTES)
        head, _, last_word = before.rpartition(" ")
        if last_word in secret_words("fillers") and head.rstrip(_QUOTES).endswith(":"):
            return ":"
        if before.endswith(_COLONS) or (place > self._start and before == "" and self._text.folded[place - 1] == "\t"):
            return ":"
        if before.endswith((",", "、", "，", "،")) and self._before("links", place) and self._is_near("locks", place):
            return ":"
        end = max(self._start, place - 40) + len(before)
        last = bisect_right(self._ends, end)
        if not last:
            return None
        gap = self._text.folded[self._ends[last - 1] : end].strip(_QUOTES + ",،、")
        if gap and gap not in secret_words("fillers"):
            return None
        kinds = self._by_end[self._ends[last - 1]]
        return next((kind for kind in _INTRODUCING if kind in kinds), None)

    def _before(self, kind: str, place: int) -> bool:
        starts = self._by_kind.get(kind, [])
        found = bisect_left(starts, place)
        return found > 0 and place - starts[found - 1] <= _FAR

    def _named_before(self, place: int) -> Mark | None:
        found = bisect_right(self._named, place, key=lambda mark: mark.end)
        mark = self._named[found - 1] if found else None
        return mark if mark is not None and place - mark.end <= _FAR else None

    def _has(self, kind: str, after: int = 0) -> bool:
        starts = self._by_kind.get(kind, [])
        return bisect_left(starts, after) < len(starts)

    def _is_near(self, kind: str, place: int) -> bool:
        starts = self._by_kind.get(kind, [])
        found = bisect_left(starts, place)
        return any(abs(start - place) <= _NEAR for start in starts[max(0, found - 1) : found + 1])

    def _spells_one(self) -> bool:
        """Tell whether letters or digits are spelled one by one."""
        is_secret = self._has("passwords") or (self._has("codes") and (self._has("locks") or self._has("namely")))
        is_used = self._has("entering") or self._has("opening")
        is_opened = is_used and (self._has("locks") or self._has("logins"))
        plain, folded = self._text.plain[self._start : self._end], self._text.folded[self._start : self._end]
        if self._has("codes") and self._has("links") and counts_out(folded, least=4):
            return True
        if not (is_secret or is_opened):
            if self._has("locks") and counts_out(folded.partition(":")[2], least=4):
                return True
            return self._has("locks") and self._has("links") and self._finds(_LONG_RUNS)
        if self._finds((_SPELLED, *_RUNS)) or (is_secret and self._finds((_FOUR_DIGITS,))):
            return True
        has_digits = any(map(str.isdigit, plain)) or counts_out(folded, least=1)
        if self._has("signs") and self._has("passwords") and has_digits:
            return self._has("links") or ":" in plain
        return (is_secret or self._has("locks")) and counts_out(folded)

    def _finds(self, patterns: Sequence["regex.Pattern[str]"]) -> bool:
        return any(one.search(self._text.plain, self._start, self._end) is not None for one in patterns)


_LEAST_NAME: Final = 5
"""Characters of a name whose value can be a plain word."""
_SHORT_NAMES: Final = frozenset({"pwd", "pw", "mdp"})
_LEAST_UNNAMED: Final = 6
"""Characters of a value that nothing calls a secret."""
_INTRODUCING: Final = (
    "passwords",
    "tokens",
    "namely",
    "links",
    "entering",
    "using",
    "with",
    "into",
    "logins",
    "keys",
    "codes",
    "locks",
)
_GETTING_IN: Final = frozenset({":", "with", "using", "into", "entering", "opening", "namely", "links"})
_WORD_AND_DIGITS: Final = lazy_pattern(r"\p{L}{5,}\d{2,4}")
_OPENS_BRACKETS: Final = lazy_pattern(r"[\"'`»”’」』*]?\s?[(（\[]")
_PUT_TOGETHER: Final = lazy_pattern(r"\p{L}{3,}[^\w\s]?\d{2,6}[^\w\s]?|\p{L}+\d+\p{L}[\p{L}\d]*")
