"""What must stand letter by letter: code, addresses, quotations, identifiers."""

from typing import Final

import regex

from dream.guards.folding import fold
from dream.guards.late import late
from dream.guards.specific import Kind, Page

_CODE = late(r"```(?P<block>[^`]{1,4000})```|`(?P<span>[^`\n]{1,400})`")
_URL = late(r"(?:https?://|www\.)[^\s<>\"'`\x1a，。、）」』]+", regex.IGNORECASE)
_URL_END: Final = ".,;:!?)]}*_"
_EMAIL = late(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_QUOTED = late(
    r'(?<![\w"])"(?P<q>[^"\n]{1,200})"|“(?P<q>[^“”\n]{1,200})”|„(?P<q>[^„“”\n]{1,200})[“”]|«(?P<q>[^«»\n]{1,200})»'
    r"|「(?P<q>[^「」\n]{1,200})」|『(?P<q>[^『』\n]{1,200})』|《(?P<q>[^《》\n]{1,200})》"
)
_QUOTES: Final = frozenset('"“„«「『《')
_IDENTIFIER = late(
    r"(?<![\w/])(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]+)*/?"  # a path
    r"|(?<![\w+])\+?\(?\d{2,4}\)?(?:[ -]\d{2,4}){2,5}(?![\w-])"  # a telephone number
    r"|(?<![\w.])v?\d+(?:\.\d+){2,5}(?![\w.]*\d)"  # a version, an address
    r"|(?<![\w.])(?:(?:version|versión|versão|versione|versie|release)\s)?v(?:er)?\.?\s?\d+(?:\.\d+)*(?![\w.]*\d)"
    r"|(?<!\w)(?:version|versión|versão|versione|versie)\s\d+(?:\.\d+)*(?![\w.]*\d)"
    r"|(?<![\w.-])[\p{Latin}\d_]+(?:[-.][\p{Latin}\d_]+)*",  # a word, if it is a name of a thing: see _is_identifier
    regex.IGNORECASE,
)
_FILE_ENDING = late(r"[\w-]{2,}\.[a-z][a-z0-9]{1,4}")
_TIGHT = late(r"[\s()-]")
_VERSION = late(r"(?:version|versione|versao|versie|release)?(?:v(?:er)?\.?)?(?P<n>\d+(?:\.\d+)*)")
# No identifier is without a digit, a slash, an underscore, a capital inside a word, or the ending of a file.
_HINT = late(r"[\d/_]|\p{Ll}\p{Lu}|\.[a-z]")
_GROUPED = late(r"\d{1,3}(?:\.\d{3})+")
_COUNTED = late(r"\d{1,4}(?:-\p{Ll}{3,})+")
"""A number before a word, as in `12-page`: it is read as a number."""
_HUMP = late(r"\p{Ll}\p{Lu}")
_GLUED: Final = frozenset({"e.g", "i.e", "a.m", "p.m", "dott.ssa", "prof.ssa"})
_SPACE = late(r"\s+")
_END: Final = " .,;:!?。！？"


def squeezed(text: str) -> str:
    """Return text in the form in which quotations are compared: folded, one space between words."""
    return _SPACE.sub(" ", fold(text))


def read_verbatim(page: Page) -> None:
    """Find code, addresses and quotations. Quotations are left uncovered: what stands in them is read as well."""
    if "`" in page.text:
        _take(page, Kind.CODE, _CODE)
    if "://" in page.text or "www." in page.text.casefold():
        _take(page, Kind.URL, _URL)
    if "@" in page.text:
        _take(page, Kind.EMAIL, _EMAIL)
    if _QUOTES.isdisjoint(page.text):
        return
    for match in _QUOTED.finditer(page.text):
        key = squeezed(match["q"]).strip(_END)
        if key:
            page.add(Kind.QUOTED, *match.span(), key)


def _take(page: Page, kind: Kind, pattern: "regex.Pattern[str]") -> None:
    spans: list[tuple[int, int]] = []
    for match in pattern.finditer(page.text):
        written = match.group() if kind is not Kind.URL else match.group().rstrip(_URL_END)
        page.add(kind, match.start(), match.start() + len(written), _key(kind, written))
        spans.append((match.start(), match.start() + len(written)))
    page.cover(spans)


def _key(kind: Kind, written: str) -> str:
    if kind is Kind.CODE:
        return _SPACE.sub(" ", written.strip("`").strip())
    if kind is Kind.EMAIL:
        return written.casefold().rstrip(".")
    scheme, _, rest = written.rpartition("://")
    host, slash, path = rest.partition("/")
    # A browser asks for the same page whether or not "https://" stands before "www.".
    known = scheme.casefold() if scheme else "https"
    return f"{known}://{host.casefold()}{slash}{path}".rstrip("/")


def read_identifiers(page: Page) -> None:
    """Find paths, file names, telephone numbers, versions and words with digits, humps or underscores; cover them."""
    if _HINT.search(page.text) is None:
        return
    spans: list[tuple[int, int]] = []
    for match in _IDENTIFIER.finditer(page.text):
        word = match.group()
        if _is_identifier(word):
            page.add(Kind.IDENTIFIER, *match.span(), identifier_key(word))
            spans.append(match.span())
    page.cover(spans)


def identifier_key(word: str) -> str:
    """Return the form in which `RTX-4090`, `rtx4090` and `RTX 4090` are equal, and `v2.14` and `version 2.14`."""
    key = _TIGHT.sub("", fold(word)).rstrip("./")
    version = _VERSION.fullmatch(key)
    return version["n"] if version else key


def _is_identifier(word: str) -> bool:
    if word.isalpha() or _GROUPED.fullmatch(word) or _COUNTED.fullmatch(word):
        return _HUMP.search(word) is not None
    if "/" in word:
        return len(word) > 2
    digits = any(character.isdigit() for character in word)
    if digits and (word[0] == "+" or " " in word or word.count(".") > 1 or word.count("-") > 1):
        return True
    if word.replace(".", "").replace("-", "").isdigit():
        return False
    letters = any(character.isalpha() for character in word)
    if letters and (digits or "_" in word):
        return True
    return bool(_HUMP.search(word) or (_FILE_ENDING.fullmatch(word) and word.casefold() not in _GLUED))
