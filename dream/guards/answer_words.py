"""Whether a sentence begins with an answer: yes or no, in the languages that the guards read."""

from typing import Final

from dream.guards.late import late

# A tilde stands for a space.
_YES: Final = r"""
    yes yeah yep yup yess+ sure(?=\W|$) exactly correct indeed definitely absolutely certainly precisely of~course
    that(?:'s|~is)~(?:right|correct|true|it) you(?:'re|~are)~right please~do go~ahead sounds~good me~too same~here
    i~(?:do|am|did|have|will|would|can|was)(?=\W*$) that~one(?=\W) the~(?:first|second|last)~one
    jawohl genau stimmt(?!~nicht) korrekt natürlich gerne? klar freilich selbstverständlich ich~auch das~stimmt
    richtig
    oui exactement bien~sûr tout~à~fait c'est~(?:ça|vrai|exact) volontiers d'accord moi~aussi effectivement
    sí exacto exactamente correcto por~supuesto así~es eso~es yo~también desde~luego efectivamente
    sim exatamente com~certeza eu~também isso~mesmo certo
    sì esatto esattamente giusto certamente anch'io proprio~così certo
    jazeker zeker klopt inderdaad precies natuurlijk
    да конечно верно именно ага точно разумеется так~и~есть evet tabii(?=\W) doğru elbette tak~jest dokładnie
    oczywiście
    ano~ jasne joo kyllä igen ναι vâng betul benar javisst absolut jo(?=\W) precis jep
    نعم أجل صحيح طبعا بالتأكيد تمام כן נכון בטח בהחלט हाँ हां
"""
_NO: Final = r"""
    not~yet not~really not~at~all not~any~?more not~ever not~so~far no~longer never~again never nope nah wrong
    incorrect
    me~neither neither~(?:do|am|have|did)~i nor~(?:do|am|have|did)~i
    that(?:'s|~is)~(?:not~(?:right|true|correct|so)|wrong|false)
    no~way not~me absolutely~not definitely~not certainly~not of~course~not unfortunately~not i'm~afraid~not hardly
    nein nee nö noch~(?:nicht|nie) niemals falsch stimmt~nicht das~stimmt~nicht ich~auch~nicht gar~nicht
    überhaupt~nicht
    leider~(?:nein|nicht|noch~nicht) nie keineswegs auf~keinen~fall eher~nicht nicht~mehr nicht~wirklich nicht~direkt
    non pas~(?:encore|du~tout|vraiment|moi) jamais moi~non~plus c'est~faux faux plus~maintenant
    no todavía~no aún~no nunca jamás tampoco yo~tampoco para~nada en~absoluto claro~que~no ya~no qué~va eso~no
    não ainda~não nunca jamais eu~também~não também~não de~modo~nenhum claro~que~não já~não nem~por~isso errado falso
    mai non~ancora neanch'io nemmeno per~niente affatto ancora~no sbagliato
    nee~hoor nog~niet nog~nooit nooit helemaal~niet ook~niet niet~meer
    нет ещё~нет еще~нет пока~нет никогда неправда неверно ни~разу вовсе~нет ничуть hayır henüz~değil asla hiç yok
    jeszcze~nie nigdy nie ne ještě~ne nikdy nej inte~än aldrig nei ikke~ennå nej ikke~endnu ei en~vielä ei~vielä
    nem még~nem soha
    όχι ποτέ όχι~ακόμα không chưa tidak belum bukan nu încă~nu niciodată לא אף~פעם עדיין~לא नहीं कभी~नहीं
    لا ليس~بعد أبدا كلا مطلقا
"""
_YES_WEAK: Final = (
    r"yes|right|ok(?:ay)?|perfect|great|please|true|y|ja|ja~bitte|doch|bitte|si|claro|vale|sim|isso|pois|é|da"
    r"|так|tak|да|ya|iya|ano|vero|va~bene|bien|voilà|ja~graag|graag|perfekt|perfeito|perfecto|parfait|perfetto"
    r"|áno|jo|bene"
)
_LEADING: Final = (
    r"(?:\W*+(?:oh|well|hmm*|um+|uh|ah|ach|äh|naja|na~ja|na|bueno|bom|bem|eh|euh|ben|alors|beh|nou|nun|ну|sorry"
    r"|thanks|thank~you"
    r"|honestly|unfortunately|leider|actually|haha|lol|ehrlich~gesagt|pues|mah|so|i~think|i~guess)\b)*+\W*+"
)
_CJK_YES: Final = (
    r"(?:是的?|对的?|對|嗯|好的?|没错|當然|当然|可以|はい|ええ|うん|そうです|その通り|もちろん"
    r"|네|예|응|맞아요?|그래요?|ใช่|ครับ|ค่ะ)"
)
_CJK_NO: Final = (
    r"(?:不是的?|不|没有|還沒有?|还没有?|沒有|从来没有?|從來沒有?|不对|いいえ|いや|いえ|ううん|まだです|まだ|違います"
    r"|아니요?|아뇨|아직|아직이요|아직요|ไม่|ยัง)"
)


def _any(words: str) -> str:
    return "|".join(sorted(words.split(), key=len, reverse=True)).replace("~", r"\s+")


_END: Final = r"(?=\s*(?:[,.!;:—–…?。，！、؛،]|-\s|$))"
_ENGLISH_NO: Final = r"(?:no|nee|nein|non|não)(?=\s+(?:i|we|he|she|it|they|that|there|ich|wir|das|dat|je|eu|nós)\b)"
_DENYING = late(rf"{_LEADING}(?:(?:{_any(_NO)}|{_CJK_NO}){_END}|{_ENGLISH_NO})".replace("~", r"\s+"), 2)
_AFFIRMING = late(
    rf"{_LEADING}(?:(?:{_any(_YES)})(?!\p{{L}})|(?:{_YES_WEAK}|{_CJK_YES}){_END})".replace("~", r"\s+"), 2
)


def answered(sentence: str) -> tuple[bool | None, str]:
    """Return whether a sentence begins with a yes or with a no, None if with neither; and what follows.

    Example:
        >>> answered("Not yet, but I want to."), answered("No milk, please."), answered("Exactly!")
        ((False, ', but I want to.'), (None, 'No milk, please.'), (True, '!'))
    """
    for pattern, reply in ((_DENYING, False), (_AFFIRMING, True)):
        found = pattern.match(sentence)
        if found is not None:
            return reply, sentence[found.end() :]
    return None, sentence
