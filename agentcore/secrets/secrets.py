"""Secrets do not belong in a memory: passwords, keys, tokens and card numbers, by their shape or told in words.

A text is read without what is not seen, in one form of each letter and digit. Each pattern reads it in time that grows
with its length and no faster: no text must stall a dream.

A shape can be missed, and an unusual name can look like one; the guard errs towards refusing, since what was refused
still stands in the conversation.
"""

from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import StrEnum
from itertools import pairwise
from typing import Final

import regex

from agentcore.lexicon.lazy_pattern import lazy_pattern
from agentcore.secrets.secret_words import FoldedText
from agentcore.secrets.told_secrets import is_told_in

_KEY_BLOCK = lazy_pattern(
    r"-----BEGIN [A-Z ]*(?:PRIVATE KEY|CERTIFICATE)|PuTTY-User-Key-File|AGE-SECRET-KEY-1[A-Z0-9]{20,}"
    r"|(?<!\w)[xyz]prv[1-9A-HJ-NP-Za-km-z]{50,}|(?<!\w)[5KL][1-9A-HJ-NP-Za-km-z]{50,51}(?!\w)|(?<!\w)nsec1[a-z0-9]{50,}",
    regex.IGNORECASE,
)
_PREFIXED = lazy_pattern(
    r"(?<![\w-])(?:"
    r"(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)?[-_]?[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|gl(?:pat|dt|rt|ptt|sa)[-_][\w-]{16,}|xox[abeprs]-[\w-]{10,}|xapp-[\w-]{16,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w-]{30,}|GOCSPX-[\w-]{16,}|ya29\.[\w-]{20,}|1//0[\w-]{30,}"
    r"|hf_[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|(?:xai|pplx|tvly|nvapi|fw)[-_][\w-]{20,}"
    r"|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|d[oop]{2}_v1_[a-f0-9]{20,}|dp\.(?:pt|st|ct)\.[\w.-]{20,}|dapi[a-f0-9]{30,}"
    r"|shp(?:at|ca|pa|ss|tka)_[a-f0-9]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|key-[a-f0-9]{32}|whsec_\w{16,}|sq0[a-z]{3}-[\w-]{22,}"
    r"|(?:AC|SK)[a-f0-9]{32}|[a-f0-9]{32}-us\d{1,2}|EAA[A-Za-z0-9]{40,}|ATATT3[\w=-]{20,}|ATBB\w{20,}|HRKU-[\w-]{20,}"
    r"|secret_[A-Za-z0-9]{30,}|ntn_[A-Za-z0-9]{30,}|lin_api_\w{20,}|figd_[\w-]{20,}|pat-(?:na|eu)\d-[\w-]{20,}"
    r"|sntry[su]_\w{20,}|hv[sb]\.[\w-]{20,}|pul-[a-f0-9]{30,}|rnd_\w{20,}|vercel_\w{20,}|sbp_[a-f0-9]{30,}|tskey-[\w-]{16,}"
    r"|\d{8,10}:AA[\w-]{30,}|[MNO][\w-]{22,26}\.[\w-]{6}\.[\w-]{25,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r")"
)
_PLACEHOLDER = lazy_pattern(r"[-_]?your[-_]|x{6,}|\.{4,}|[-_]here\b|placeholder", regex.IGNORECASE)
_PUBLIC = lazy_pattern(
    r"AAAA[BCE][3C2][A-Za-z0-9+/]*|M(?:Cow|IGf|IIB|FkwEwYHKoZI)[A-Za-z0-9+/]*={0,2}|[13][1-9A-HJ-NP-Za-km-z]{25,34}"
)
"""How public keys and addresses of coins look."""
_DIGEST = lazy_pattern(r"sha-?(?:1|256|384|512)[-:=][A-Za-z0-9+/]*$", regex.IGNORECASE)
_WRAPPED = lazy_pattern(r"(?<=[A-Za-z0-9_-]{8})[ \t]*\r?\n[ \t>]*(?=[A-Za-z0-9_-]{8})")
_JOINED = lazy_pattern(r"[\"'][ \t]*[+.&][ \t]*\r?\n?[ \t]*[\"']|\\\r?\n[ \t]*")
_COMMANDS = lazy_pattern(
    r"\bu(?:ser)?\s*[:=]\s*\S+[\s,;/]+p(?:w|ass)?\s*[:=]\s*[\"']?(?=\S*\d)\S{5,}|\bmysql\w*\s[^\n]{0,80}?-p(?=\S*\d)\w\S{4,}"
    r"|\bhtpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+\S{4,}|:[^\s:'\"]{5,}[\"']?\s*\|\s*(?:sudo\s+)?chpasswd"
    r"|\bnet\s+user\s+\S+\s+\S{5,}\s+/add|\bredis-cli\s[^\n]{0,60}?-a\s+\S{5,}"
    r"|\bsmbclient\s[^\n]{0,80}?-U\s*[^\s%]+%\S{4,}|\bnet\s+use\s[^\n]{0,80}?/user:\S+\s+\S{5,}|\becho\s+[\"']?[^\s\"']{5,}[\"']?\s*\|\s*sudo\s+-S"
    r"|convertto-securestring\s+(?:-string\s+)?[\"'][^\"']{5,}|\b(?:7z|zip|unzip|rar)\s[^\n]{0,40}?-p\s?(?=\S*\d)\w\S{4,}|\bopenssl\s[^\n]{0,80}?\s-k\s+(?=\S*\d)\S{5,}"
    r"|(?<![\w.-])[\w.-]{1,64}:(?:\d{2,5}|\*):[\w*-]+:[\w-]+:(?=\S*\d)\S{5,}(?!\S)"
    r"|\becho\s+[\"']?[^\s\"'$]{5,}[\"']?\s*\|[^\n|]{0,80}--password-stdin|\bsqlplus\s+[\w.]+/[^\s/@$\"']{4,}"
    r"|\b(?:auth\w*|log_?in|credentials?)\s*=?\s*\(\s*[\"'][^\"'\s]+[\"']\s*,\s*[\"'](?=[^\"'\s]*[\d!#%&*+])[^\"'\s]{4,}[\"']\s*\)"
    r"|[\"'](?:u|user|username|login)[\"']\s*(?::|=>)\s*[\"'][^\"'\n]+[\"'],?\s*[\"'](?:p|pw|pass)[\"']\s*(?::|=>)\s*[\"'](?=[^\"']*\d)[^\"'\s]{5,}"
    r"|(?<![\w.-])[\w.-]{1,64}:\$(?:apr1|2[aby]|[156]|y)\$[\w./$]{8,}"
    r"|(?<![\w.])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+:(?=[^\s:/.]*\d)(?=[^\s:/.]*[A-Za-z])[^\s:/.]{6,}(?!\S)",
    regex.IGNORECASE,
)
_ANSWER = lazy_pattern(
    r"(?:密保|安全问题|秘密の質問)[^\n。]{0,6}?(?:答案|答え)\s*(?:是|为|は|：|:)\s*(?!什么|何|忘)[^\s。，、,？?]{2,16}(?<!か|吗)(?=$|[\s。，、,])"
)
_SPACED = lazy_pattern(r"(?<!\S)[^\W_](?: [^\W_]){4,}+(?![^\W_])")
_ENCODED = lazy_pattern(r"(?<![\w+/=-])[A-Za-z0-9+/]{12,340}={0,2}(?![\w+/=-])")
_LOGIN = lazy_pattern(r"[\w.@+-]{2,}:[\x21-\x7e]{4,}")
_DISGUISED = lazy_pattern(
    r"(?<!\w)p[ ._\n-]?[a4@][ ._\n-]?[s$5][ ._\n-]?[s$5][ ._\n-]?w[ ._\n-]?[o0][ ._\n-]?r[ ._\n-]?[dt](?!\w)[\"'`]?\s*"
    r"(?:[:=]|is|ist|è|es|est)[\"'`]?\s*(?=[^\s\d]*+\d)[^\s\"'`$<{]{5,}"
    r"|(?<!\w)(?:c[o0]ntr[a4]se[nñ][a4]|п[аa@]р[о0]ль)\s*(?:[:=]|es|это)\s*(?=[^\s\d]*+\d)\S{5,}",
    regex.IGNORECASE,
)
_ASSIGNED = lazy_pattern(
    r"[A-Za-z0-9]_(?:PASS|PW|PASSWD|SECRET|TOKEN|API_?KEY)[\"']?\s*[:=]\s*[\"']?(?=[^\s\"'$<{\d]*+\d)[^\s\"'$<{(]{6,}"
    r"|\b(?:session_?id|sid|jsessionid|phpsessid|connect\.sid|auth_?token|csrf_?token|remember_?me)=(?=[a-z_%.-]*+\d)[\w%.-]{16,}"
    r"|\bauthorization\s*:\s*(?:basic|bearer|token)\s+[\w+/=.-]{12,}|\bidentified\s+by\s+[\"'][^\"'\s]{4,}|\bwith\s+(?:encrypted\s+)?password\s*=?\s*'[^'\s]{4,}'|_(?:PASS\w{0,8}|PWD|SECRET|TOKEN)[\"']\s*,\s*[\"'][^\"'\s$<{]{5,}[\"']"
    r"|_pass[\"']?\s*[:=]\s*[\"']?\w+[!#%&*+]\w{3,}|\bpsk\s*=\s*\"[^\"\n]{8,63}\"|\bWIFI:(?:[TSHR]:[^;\n]{0,64};){0,4}P:[^;\n]{4,63};|\b(?:private|secret|static|shared|encryption|master|signing)\s+key\W{0,3}(?:is\s)?\s*[0-9a-f]{32,}(?!\w)|(?<![\w-])pass[\"']?\s*[:=]\s*[\"']?(?=[^\s\"'$<{\d]*+\d)[^\s\"'$<{(]{5,}|\bsshpass\s+-p\s*[^\s$]\S{3,}|(?<!\d)\d{6}(?:-\d{6}){7}(?!\d)|\botpauth://\S*secret=\w{10,}",
    regex.IGNORECASE,
)
_LICENCE = lazy_pattern(
    r"(?<![\w-])(?:[A-Z\d]{4}(?:-[A-Z\d]{4}){4,7}|[A-Z\d]{5}(?:-[A-Z\d]{5}){3,6}|[A-Z\d]{6}(?:-[A-Z\d]{6}){2,5})(?![\w-])"
)
"""Groups of capitals and digits, all of one length, as those who sell programs print them."""
_IN_QUERY = lazy_pattern(
    r"(?<=[?&#;/])(?:[a-z_-]{0,20}(?:key|token|sig|signature|secret|auth|pass|hash|code|sid)=|(?:magic|login|reset|auth|verify|invite|token|session|signin)/)"
    r"(?P<value>[\w%~.-]{20,})",
    regex.IGNORECASE,
)
_HOOK = lazy_pattern(
    r"hooks\.slack\.com/(?:services|workflows|triggers)/\w+/\w+|discord(?:app)?\.com/api/webhooks/\d+/[\w-]+",
    regex.IGNORECASE,
)
_PASSPHRASE = lazy_pattern(r"\bpass ?phrase\s*[:=→—]\s*(?:\w+[ -]){3,}\w+")
_CURL = lazy_pattern(r"(?P<curl>\bcurl\b)|(?P<user>\s(?:-u|--user)[ =]*[^\s:]+:[^\s:])|\n")
# Of the scheme the last character is enough: a longer one would be read again from each of its characters.
_IN_URL = lazy_pattern(r"[a-z0-9+.-]://[^\s/:@]*:[^\s/@]+@", regex.IGNORECASE)
_DIGITS = lazy_pattern(r"(?<![\d.-])(?<!\d,)\d(?:[ -]?\d){12,18}(?![\d.,-]*\d)")
_RANDOM = lazy_pattern(r"(?<![\w/.-])(?:[A-Za-z0-9+_-]{24,}={0,2}(?![\w/-])|[A-Za-z0-9+/]{40,}={0,2}(?![\w/-]))")


class SecretPolicy(StrEnum):
    """What becomes of a secret that a tool, a client or a command is asked to remember."""

    REFUSE = "refuse"
    """It is refused (`SecretError`)."""
    KEEP = "keep"
    """It is stored as any other text; dreams write none all the same."""


def secret_in(text: str) -> str | None:
    """Return what kind of secret a text seems to hold, or None.

    Example:
        >>> secret_in("Ana's password is hunter2."), secret_in("Ana forgot her password again.")
        ('password', None)
    """
    joined = _SPACED.sub(lambda run: run.group().replace(" ", ""), _JOINED.sub("", text))
    return _kind_in(text) or (None if joined == text else _kind_in(joined))


def _kind_in(text: str) -> str | None:
    read = FoldedText.of(text)
    if is_told_in(read):
        return "password"
    return next((kind for kind, holds in _KINDS if holds(read.plain)), None)


def _signs_in(text: str) -> bool:
    """Tell whether a line calls curl with a user and a password; each line is read once, however often it says curl."""
    is_called = False
    for match in _CURL.finditer(text, overlapped=True):
        if is_called and match["user"] is not None:
            return True
        # What begins with a line's end may name a user for the line before it alone.
        is_called = match["curl"] is not None or (is_called and not match.group().startswith("\n"))
    return False


def _is_prefixed(text: str) -> bool:
    """Tell whether a key has the beginning that its vendor gives it, also where a line broke it."""
    if any(_PLACEHOLDER.search(match.group()) is None for match in _PREFIXED.finditer(text)):
        return True
    return "\n" in text and _PREFIXED.search(_WRAPPED.sub("", text)) is not None and _PREFIXED.search(text) is None


def _is_login(encoded: str) -> bool:
    """Tell whether letters are Base64 of a user and a password, as HTTP sends them."""
    if not any(map(str.isdigit, encoded)) and not encoded.endswith("="):
        return False
    with suppress(ValueError):
        return _LOGIN.fullmatch(b64decode(encoded, validate=True).decode("ascii")) is not None
    return False


def _has_card_number(text: str) -> bool:
    return any(_is_of_a_card(number) and _passes_luhn(number) for number in _numbers(text))


def _is_of_a_card(number: str) -> bool:
    """Tell whether a number begins and is as long as one of a card: barcodes pass the check digit, too."""
    return any(len(number) in lengths and number.startswith(begins) for begins, lengths in _ISSUERS)


_ISSUERS: Final[tuple[tuple[tuple[str, ...], range], ...]] = (
    (("4",), range(16, 17)),
    (tuple(map(str, (*range(51, 56), *range(2221, 2721)))), range(16, 17)),
    (("34", "37"), range(15, 16)),
    (("30", "36", "38", "39"), range(14, 15)),
    (("6011", "64", "65", "60", "81", "82", "508", "353", "356", "35"), range(16, 17)),
    (("62",), range(16, 20)),
    (("2200", "2201", "2202", "2203", "2204", "9792"), range(16, 20)),
    (("5018", "5020", "5038", "5893", "6304", "6759", "6761", "6762", "6763"), range(13, 20)),
)
"""How numbers of cards begin and how long they are (ISO/IEC 7812-1 and the issuers' own pages)."""


def _numbers(text: str) -> Iterator[str]:
    for match in _DIGITS.finditer(text):
        yield "".join(character for character in match.group() if character.isdigit())


def _passes_luhn(number: str) -> bool:
    """Check the last digit of a card number (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(number)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0 and len(set(number)) > 1


def _has_licence_key(text: str) -> bool:
    return any(sum(map(_is_mixed, match.group().split("-"))) > 1 for match in _LICENCE.finditer(text))


def _is_mixed(group: str) -> bool:
    return any(map(str.isdigit, group)) and any(map(str.isalpha, group))


def _has_key_in_address(text: str) -> bool:
    """Tell whether an address lets in whoever has it."""
    return any(_is_mixed(match["value"]) and "://" in text for match in _IN_QUERY.finditer(text))


def _has_random_token(text: str) -> bool:
    return any(_looks_random(match.group()) and not _is_public(match) for match in _RANDOM.finditer(text))


def _is_public(match: "regex.Match[str]") -> bool:
    """Tell whether it is the digest of something, or a key that everybody may know."""
    token = match.group()
    is_digest = _DIGEST.search(match.string[max(0, match.start() - 120) : match.start()]) is not None
    return (
        is_digest or token.lower().startswith(("sha256-", "sha384-", "sha512-")) or _PUBLIC.fullmatch(token) is not None
    )


def _looks_random(token: str) -> bool:
    """Tell whether capitals, small letters and digits change places as in no word, name or identifier."""
    kinds = ["d" if one.isdigit() else "u" if one.isupper() else "l" for one in token if one.isalnum()]
    turns = sum(one != other for one, other in pairwise(kinds))
    return len(set(kinds)) == 3 and turns * 3 >= len(kinds)


_KINDS: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    ("private key", lambda text: _KEY_BLOCK.search(text) is not None),
    ("key or token", _is_prefixed),
    ("key or token", lambda text: _HOOK.search(text) is not None),
    ("key or token", _has_licence_key),
    ("key or token", _has_key_in_address),
    ("password in an address", lambda text: _IN_URL.search(text) is not None),
    ("password", lambda text: _PASSPHRASE.search(text) is not None),
    ("password", lambda text: _ASSIGNED.search(text) is not None),
    ("password", lambda text: _ANSWER.search(text) is not None),
    ("password", lambda text: _DISGUISED.search(text) is not None),
    ("password", lambda text: _COMMANDS.search(text) is not None),
    ("password", lambda text: any(_is_login(match.group()) for match in _ENCODED.finditer(text))),
    ("password", _signs_in),
    ("card number", _has_card_number),
    ("key or token", _has_random_token),
)
