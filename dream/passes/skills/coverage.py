"""Compares the texts of skills: which steps, commands and details one lost or made up."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from dream.guards.detail import Detail, DetailKind
from dream.guards.merge_coverage import Superseded, coverage
from dream.guards.names import Vocabulary
from dream.passes.terms import terms_of

STEP: Final = "step"
COMMAND: Final = "command"

_STEP_STANDS: Final = 0.6
"""Share of a step's words that have to stand together in the new text."""
_FEWEST_WORDS: Final = 2
"""A step of fewer words says nothing that its specifics do not say."""

_REMEMBERED: Final = 256
"""Comparisons that are kept, as many as the answers under way ask for."""
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"\s*#{1,6}\s+")
_ITEM: Final = re.compile(
    r"\s*(?:[-*+]|\(?\d{1,3}[.):])\s+(?:\[[ xX]\]\s+)?|\s*step\s+\d{1,3}\s*[.):-]\s*", re.IGNORECASE
)
_OPENER: Final = re.compile(r"(^|[.!?:;]\s+)([^\W\d_][^\W\d_]+)", re.MULTILINE)
_INSIDE: Final = re.compile(r"(?<=[\w,)] )[^\W\d_]+")
_CODE_SPAN: Final = re.compile(r"`([^`\n]+)`")
_EMPHASIS: Final = re.compile(r"\*\*|__")
_PROMPT_SIGN: Final = re.compile(r"^[$>%#]\s+")


@dataclass(frozen=True, slots=True)
class SkillDetail:
    """Something specific that a procedure says: what sort it is, and how it is written."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} {self.text!r}"


@dataclass(frozen=True, slots=True)
class SkillCoverage:
    """What a procedure lost of its sources and what it made up; both empty means that it is faithful."""

    lost: tuple[SkillDetail, ...] = ()
    invented: tuple[SkillDetail, ...] = ()

    @property
    def faithful(self) -> bool:
        """Nothing was lost and nothing made up."""
        return not self.lost and not self.invented

    def counted(self) -> str:
        """Return how many of each sort, without what they say: a report outlives what it is about."""
        kinds = Counter(detail.kind for detail in self.lost or self.invented)
        return ", ".join(f"{count} x {kind}" for kind, count in kinds.items())


@dataclass(frozen=True, slots=True)
class _Parts:
    """A procedure in Markdown, taken apart.

    Args:
        commands: Lines of code blocks.
        steps: Items of lists.
        prose: Everything but code blocks, headings and the signs of lists.
        headings: The headings.
    """

    commands: tuple[str, ...]
    steps: tuple[str, ...]
    prose: str
    headings: str


@dataclass(frozen=True, slots=True)
class _Plain:
    """Takes the capital from words that have one only because a sentence begins: in procedures most are verbs.

    Args:
        names: Words that have a capital inside a sentence too.
    """

    names: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "_Plain":
        """Learn the names from all texts that are compared."""
        return cls(frozenset(word for text in texts for word in _INSIDE.findall(text) if word[0].isupper()))

    def __call__(self, text: str) -> str:
        """Return *text* with its openers in small letters."""
        return _OPENER.sub(self._opener, text)

    def _opener(self, match: "re.Match[str]") -> str:
        word = match[2]
        return match[0] if word in self.names or not word.istitle() else f"{match[1]}{word.lower()}"


def compare_skills(
    sources: Sequence[str], result: str, vocabulary: Vocabulary, *, backing: Iterable[str] = ()
) -> SkillCoverage:
    r"""Compare a procedure with those it is made of, both ways.

    Besides what every merge has to conserve (`dream.guards.merge_coverage`) the result holds each line of a code block,
    and of each item of a list most words, in one line or in two that follow each other. Headings are free, and so are
    the numbers of lists.

    Args:
        sources: Procedures that the result takes the place of.
        result: The new procedure.
        vocabulary: Which words are ordinary.
        backing: Texts that the result may draw on and need not repeat.

    Example:
        >>> from dream.guards.names import builtin_vocabulary
        >>> found = compare_skills(["1. Run `make test`.\n2. Tell Ana."], "1. Tell Ana.", builtin_vocabulary())
        >>> [str(detail) for detail in found.lost]
        ["code '`make test`'", "step 'Run `make test`.'"]
    """
    # A review and an interpretation of one answer ask the same, one after the other.
    return _compared(tuple(dict.fromkeys(sources)), result, vocabulary, tuple(backing))


@lru_cache(maxsize=_REMEMBERED)
def _compared(sources: tuple[str, ...], result: str, vocabulary: Vocabulary, backing: tuple[str, ...]) -> SkillCoverage:
    wanted = [_taken_apart(source) for source in sources]
    given, backed = _taken_apart(result), [_taken_apart(text) for text in backing]
    known = [text for parts in (*wanted, *backed) for text in (parts.headings, *parts.commands)]
    plain = _Plain.of([parts.prose for parts in (*wanted, given, *backed)])
    behind = (*(plain(parts.prose) for parts in backed), *known)
    against = coverage(
        [plain(parts.prose) for parts in wanted],
        plain(given.prose),
        vocabulary,
        superseded=[Superseded(content=text) for text in behind],
    )
    beside = "\n".join((given.headings, *given.commands))
    lost = [SkillDetail(item.kind.value, item.text) for item in against.lost if not _stands_beside(item, beside)]
    spans = [span for parts in wanted for span in _CODE_SPAN.findall(parts.prose)]
    lost += [SkillDetail(DetailKind.CODE.value, f"`{span}`") for span in spans if not _is_in(span, result)]
    lost += [SkillDetail(COMMAND, line) for parts in wanted for line in parts.commands if not _is_in(line, result)]
    lost += [SkillDetail(STEP, step) for step in _lost_steps(wanted, given)]
    spoken = "\n".join((*sources, *known, *(parts.prose for parts in backed)))
    invented = [SkillDetail(item.kind.value, item.text) for item in against.invented]
    invented += [SkillDetail(COMMAND, line) for line in given.commands if not _is_in(line, spoken)]
    return SkillCoverage(tuple(dict.fromkeys(lost)), tuple(dict.fromkeys(invented)))


def told_details(details: Iterable[SkillDetail]) -> str:
    """Return details as a complaint names them; "nothing" for none."""
    return "; ".join(str(detail) for detail in details) or "nothing"


def _taken_apart(text: str) -> _Parts:
    commands: list[str] = []
    steps: list[str] = []
    prose: list[str] = []
    headings: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif fence:
            commands += [_PROMPT_SIGN.sub("", line.strip())] if line.strip() else []
        elif _HEADING.match(line):
            headings.append(_EMPHASIS.sub("", _HEADING.sub("", line, count=1)))
        else:
            plain = _EMPHASIS.sub("", _ITEM.sub("", line, count=1)).strip()
            steps += [plain] if _ITEM.match(line) and plain else []
            prose.append(plain)
    return _Parts(tuple(commands), tuple(steps), "\n".join(prose), "\n".join(headings))


def _lost_steps(wanted: Sequence[_Parts], given: _Parts) -> list[str]:
    """Return the steps that stand nowhere in the new text, in whatever words."""
    units = [set(terms_of(line)) for line in (*given.prose.splitlines(), *given.commands) if line.strip()]
    units += [first | second for first, second in pairwise(units)]
    lost: list[str] = []
    for step in dict.fromkeys(step for parts in wanted for step in parts.steps):
        words = set(terms_of(step))
        best = max((len(words & unit) for unit in units), default=0)
        if len(words) >= _FEWEST_WORDS and best < _STEP_STANDS * len(words):
            lost.append(step)
    return lost


def _stands_beside(detail: Detail, beside: str) -> bool:
    """Tell whether what the guard looks for in the prose stands in a code block or a heading."""
    return detail.kind is not DetailKind.NEGATION and _is_in(detail.text.strip("`"), beside)


def _is_in(wanted: str, text: str) -> bool:
    """Tell whether *wanted* stands in *text* as it is written, and not as a part of something longer."""
    words = r"\s+".join(re.escape(word) for word in wanted.split())
    return re.search(rf"(?<![\w/.-]){words}(?![\w/-])", text) is not None
