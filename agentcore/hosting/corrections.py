# ruff: noqa: RUF001 - punctuation of the languages it knows
"""Corrections: does a user say that the assistant got something wrong? Rules of many languages, and no model.

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

_REFUSALS: Final = r"no|nope|wrong|nein|nee|falsch|non|faux|não|nao|errado|sbagliato|fout|нет|неверно|nie|nej"
_POLITE: Final = (
    r"thank|thanks|problem|worries|rush|need|danke|merci|gracias|grazie|obrigad|bedankt|dank|pasa nada|hay problema"
    r"|faz mal|tem problema|problema|спасибо|dzięk|tack|tak"
)
_WORDED: Final = (
    # English
    r"(?:that|this|it)(?:'s| is| was)(?: just| still| all)? (?:wrong|incorrect|not (?:right|correct|true|what i))",
    r"you(?:'re| are| were| got (?:it|that|this)) (?:\w+ )?(?:wrong|mistaken)",
    r"you misunderstood|not what i (?:asked|meant|wanted|said)|i (?:meant|said|asked for)\b",
    r"(?:that|it|this) (?:didn't|did not|doesn't|does not) work|try (?:it )?again|^actually\s*,",
    # German
    r"(?:das|es) (?:ist|war) (?:leider |so |aber )?(?:falsch|nicht (?:richtig|korrekt|das|was))",
    r"stimmt (?:so |aber )?nicht",
    r"ich (?:meinte|habe gesagt|sagte|wollte (?:doch )?eigentlich)|missverstanden|du irrst|sie irren sich",
    r"(?:hat|geht|funktioniert) (?:so |leider )?nicht(?: funktioniert)?[.!]",
    r"versuch(?:e|en sie)? es (?:noch ?mal|erneut)",
    # French
    r"c'est (?:faux|inexact|incorrect)|ce n'est pas (?:ça|cela|correct|juste|exact|ce que)",
    r"je voulais dire|j'(?:ai|avais) dit",
    r"(?:tu te|vous vous) tromp|ça (?:n'a pas marché|ne marche pas)|réessa(?:ie|ye|yez)",
    # Spanish
    r"(?:está|estaba) mal\b|es (?:incorrecto|falso)|eso no es|(?:te|se) equivoc|(?:quise|quería) decir|(?:yo|te) dije",
    r"no funcion(?:ó|a)\b|int[eé]nta(?:lo)? (?:de nuevo|otra vez)",
    # Portuguese
    r"(?:está|é) (?:errad|incorret)|não (?:é|foi|era) (?:isso|o que|assim)|você (?:errou|se enganou)|enganou-se",
    r"eu (?:quis dizer|disse)|não funcion(?:ou|a)\b|tent[ea] (?:de novo|novamente|outra vez)",
    # Italian
    r"è (?:sbagliat|errat|falso)|non è (?:giusto|corretto|vero|quello che)|(?:ti|si) sbagli|hai sbagliato",
    r"intendevo|volevo dire|(?:ti )?ho detto|non (?:ha )?funziona(?:to)?\b|riprova",
    # Dutch
    r"dat (?:is|was) (?:fout|verkeerd|niet (?:juist|goed|wat))|dat klopt niet|je (?:hebt het mis|vergist je)",
    r"ik (?:bedoelde|zei)\b|(?:het|dat) werk(?:te|t) niet|probeer (?:het )?(?:opnieuw|nog eens)",
    # Russian
    r"это (?:не так|неправда|неверно|неправильно)|(?:ты|вы) ошиб|я имел[аи]? в виду|попробуй(?:те)? (?:ещё|еще) раз",
)
_UNSPACED: Final = (
    # Chinese, simplified and traditional
    r"^不[對对是][，,。！!\s]|^(?:不对|不對|错了|錯了|错|錯)(?!吗|嗎|\w)|(?:说|說|搞|弄|理解|算|写|寫)[错錯]了",
    r"不是这样|不是這樣|我的意思是|我(?:说|說)的是|再[试試]一次|不(?:对|對|正确|正確)[，,。！!]",
    # Japanese
    r"^いいえ[、。,!！](?!\s*結構)|^違(?:う|います|って)|(?:それ|これ)[はが](?:違|間違)",
    r"間違(?:って|い[でだ]|え[てま])|そう(?:じゃ|では)な|と言いました|という意味(?:です|でした)|もう一度(?:試|やり)",
    # Korean
    r"^아니(?:요|야|오)?[,.!\s]|틀렸|그게 아니|다시 해",
)


@cache
def _rules() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds refusals and what finds other corrections; made once, when the first turn is judged."""
    refuses = re.compile(rf"^\W*(?:{_REFUSALS})\s*(?:[,.!;:]|[–—-]\s)(?!\s*(?:{_POLITE}))")
    says = re.compile("|".join([*(rf"(?<!\w)(?:{one})" for one in _WORDED), *_UNSPACED]), re.MULTILINE)
    return refuses, says


def is_correction(text: str) -> bool:
    """Tell whether a user's words say that the assistant got something wrong.

    Example:
        >>> [is_correction(text) for text in ("No, the other one.", "No, thanks.", "Das stimmt nicht.")]
        [True, False, True]
    """
    said = normalize("NFC", text.strip())[:_LOOKED_AT].casefold().replace("\u2019", "'")
    return any(rule.search(said) for rule in _rules())
