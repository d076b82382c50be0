"""Cleans the names that models give to skills."""

import re
from hashlib import blake2b
from typing import Final

from agentcore.hosting.checks import MAX_NAME
from dream.passes.terms import terms_of

_NOT_IN_NAMES: Final = re.compile(r"[^\w/.-]+|_+")
_EDGES: Final = "-./"


def clean_skill_name(name: str) -> str:
    """Return *name* as a lower-case slash path, whatever stands in it; "" if nothing of it can name a skill.

    Example:
        >>> clean_skill_name(" Résumé E-Mails / Weekly! ")
        'résumé-e-mails/weekly'
    """
    parts = [_NOT_IN_NAMES.sub("-", part.strip().casefold()).strip(_EDGES) for part in name.split("/")]
    return "/".join(part for part in parts if part)[:MAX_NAME].strip(_EDGES)


def prefix_of(name: str) -> str:
    """Return what stands before the first slash; "" if there is none.

    Example:
        >>> prefix_of("mcp/email/send"), prefix_of("mail")
        ('mcp', '')
    """
    return name.partition("/")[0] if "/" in name else ""


def name_mark(operation: str, name: str) -> str:
    """Return what a person declines by taking a new skill back: one of this name, in whatever order of words.

    Example:
        >>> name_mark("gap", "summarize-emails") == name_mark("gap", "email/summarizing")
        True
    """
    words = sorted(set(terms_of(name)))
    return blake2b("\x1f".join([operation, *words]).encode(), digest_size=16).hexdigest()
