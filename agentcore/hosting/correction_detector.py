"""Recognises by patterns of many languages, without a model, that a user corrects the assistant.

A text counts as one if it begins with a refusal (`No, ...`, `Nein, ...`) that is not a polite one, or says in its
first 300 characters that something is wrong, was meant otherwise, did not work, or is to be tried again.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Final, TypeAlias
from unicodedata import normalize

CorrectionDetector: TypeAlias = Callable[[str], bool]
"""Tells of a user's words whether they correct the assistant; called on a thread of the storage, so it must be fast."""

_LOOKED_AT: Final = 300


@cache
def _rules() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds refusals and what finds other corrections; made once, when the first turn is judged."""
    from agentcore.lexicon.language import languages  # noqa: PLC0415 - a host that opens needs none of their words

    known = languages()
    refusals = "|".join(word for one in known for word in one.correction_refusals)
    polite = "|".join(word for one in known for word in one.correction_polite)
    worded = "|".join(pattern for one in known for pattern in one.corrections)
    inside = "|".join(pattern for one in known for pattern in one.corrections_inside)
    refuses = re.compile(rf"^\W*(?:{refusals})\s*(?:[,.!;:]|[\u2013\u2014-]\s)(?!\s*(?:{polite}))")
    says = re.compile(rf"(?<!\w)(?:{worded})|{inside}", re.MULTILINE)
    return refuses, says


def is_correction(text: str) -> bool:
    """Tell whether a user's words say that the assistant got something wrong.

    Example:
        >>> [is_correction(text) for text in ("No, the other one.", "No, thanks.", "Das stimmt nicht.")]
        [True, False, True]
    """
    said = normalize("NFC", text.strip())[:_LOOKED_AT].casefold().replace("\u2019", "'")
    return any(rule.search(said) for rule in _rules())
