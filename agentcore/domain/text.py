"""Cleans text at the door: what may be stored, and when two texts are the same."""

import re
from collections.abc import Iterable
from hashlib import blake2b
from unicodedata import category, normalize

from agentcore.errors import InvalidContentError

MAX_CONTENT = 100_000
"""Longest content of one record, in characters; of a turn `MAX_TURN`."""
MAX_TURN = 6_000_000
"""Longest content of one turn, in characters: agents log files and tool answers of megabytes."""
DEFAULT_CATEGORY = "general"
"""Where an entry goes that names no category."""

_MAX_SEGMENT = 64
_MAX_DEPTH = 8
_MAX_TAG = 64
_CLEAN_CATEGORY = re.compile(r"[A-Za-z0-9_-]{1,64}(?:/[A-Za-z0-9_-]{1,64}){0,7}")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs"})
_JOINERS = frozenset("\u200c\u200d")
# Latin, ideographic, full-width, half-width, danda, Arabic, Armenian, Ethiopic. An ellipsis is none of them,
# since it says that something is missing.
_FULL_STOPS = ".\u3002\uff0e\uff61\u0964\u06d4\u0589\u1362"


def normalise(content: str) -> str:
    """Return the form in which two wordings count as the same text; idempotent.

    NFC, case folded, whitespace collapsed and stripped, full stops at the end removed (those of other scripts
    too, such as U+3002 and U+0964). Question and exclamation marks stay, since they change the meaning, and
    so do compatibility characters (no NFKC: `x²` is not `x2`). Text of full stops alone keeps them.

    Example:
        >>> normalise("  Ana moved   to LISBON. ")
        'ana moved to lisbon'
    """
    # Case folding can take a composed letter apart (U+01F0), hence the second NFC.
    folded = normalize("NFC", normalize("NFC", content).casefold())
    collapsed = " ".join(folded.split())
    return collapsed.rstrip(_FULL_STOPS + " ") or collapsed


def fold_key(content: str) -> str:
    """Return 32 hexadecimal digits that are equal for texts with the same normalised form.

    Example:
        >>> fold_key("Ana likes tea.") == fold_key("ana  likes tea")
        True
    """
    return blake2b(normalise(content).encode(), digest_size=16).hexdigest()


def content_hash(content: str) -> str:
    """Return 32 hexadecimal digits that stand for exactly this text.

    Example:
        >>> content_hash("tea") == content_hash("Tea"), len(content_hash("tea"))
        (False, 32)
    """
    return blake2b(content.encode("utf-8", "replace"), digest_size=16).hexdigest()


def query_key(query: str) -> str:
    """Return 32 hexadecimal digits that are equal for queries that ask the same but for case, spacing and their end.

    Example:
        >>> query_key("Where does Ana live?") == query_key("where does  Ana live")
        True
    """
    return blake2b(normalise(query).rstrip("?!.… ").encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def clean_content(text: object, *, most: int = MAX_CONTENT) -> str:
    """Return *text* stripped, if it can be stored.

    Args:
        text: What is given.
        most: Characters at most.

    Raises:
        InvalidContentError: it is no text, blank, longer than *most* characters, or holds NUL or half a surrogate
            pair.

    Example:
        >>> clean_content(" Ana likes tea. ")
        'Ana likes tea.'
    """
    if not isinstance(text, str):
        raise _content_refusal(f"it is {type(text).__name__}, not text")
    content = text.strip()
    if not content:
        raise _content_refusal("it is blank; give at least one visible character")
    if len(content) > most:
        raise _content_refusal(f"it has {len(content):,} characters; split it into parts of at most {most:,}")
    if "\0" in content:
        raise _content_refusal("it contains a NUL character; remove it")
    try:
        content.encode()
    except UnicodeEncodeError as error:
        problem = f"character {error.start + 1:,} is half of a surrogate pair; decode the text again or remove it"
        raise _content_refusal(problem) from None
    return content


def _content_refusal(problem: str) -> InvalidContentError:
    return InvalidContentError(field="content", problem=problem)


def clean_category(text: str | None) -> str:
    """Return *text* as a slash path, repaired rather than refused; idempotent.

    NFC; backslashes become slashes and whitespace inside a segment `-`; control and format characters and the
    segments `.`, `..` and empty are dropped; at most 8 segments of at most 64 characters each are kept. Case
    is kept. None and blank give `general`.

    Example:
        >>> clean_category(" People / Ana  Silva /../notes ")
        'People/Ana-Silva/notes'
    """
    if text is None:
        return DEFAULT_CATEGORY
    if _CLEAN_CATEGORY.fullmatch(text):
        return text
    segments = ["-".join(segment.split()) for segment in _visible(text).replace("\\", "/").split("/")]
    kept = [segment[:_MAX_SEGMENT] for segment in segments if segment not in {"", ".", ".."}]
    return "/".join(kept[:_MAX_DEPTH]) or DEFAULT_CATEGORY


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return *tags* sorted, distinct, in NFC, whitespace collapsed, no blanks, cut to 64 characters each.

    A single string is one tag, not a row of letters.

    Example:
        >>> clean_tags(["travel ", "", "home", "travel"])
        ('home', 'travel')
    """
    given = (tags,) if isinstance(tags, str) else tags
    cleaned = {" ".join(_visible(tag).split())[:_MAX_TAG].strip() for tag in given}
    return tuple(sorted(cleaned - {""}))


def hidden_in(text: str) -> frozenset[str]:
    r"""Return the control and format characters of a text: white space aside, and what joins letters or signs.

    Example:
        >>> hidden_in("red:\x1b[31m\n") == {"\x1b"}, hidden_in("caf\u00e9")
        (True, frozenset())
    """
    if text.isprintable():
        return frozenset()
    found = {one for one in text if category(one) in _INVISIBLE}
    return frozenset(one for one in found if not one.isspace() and one not in _JOINERS)


def without_hidden(text: str) -> str:
    """Return a text without the characters that `hidden_in` finds."""
    hidden = hidden_in(text)
    return "".join(one for one in text if one not in hidden) if hidden else text


def _visible(text: str) -> str:
    """Return *text* in NFC without control and format characters; whitespace of any kind becomes a space."""
    if text.isascii() and text.isprintable():
        return text
    return normalize("NFC", "".join(_shown(character) for character in text))


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    return "" if category(character) in _INVISIBLE else character
