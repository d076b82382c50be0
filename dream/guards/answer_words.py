"""Whether a sentence begins with an answer: yes or no, in the languages that the guards read."""

from typing import Final

from dream.guards.lazy_pattern import lazy_pattern

# A tilde stands for a space.
_YES: Final = r"""
    yes yeah yep yup yess+ sure(?=\W|$) exactly correct indeed definitely absolutely certainly precisely of~course
    that(?:'s|~is)~(?:right|correct|true|it) you(?:'re|~are)~right please~do go~ahead sounds~good me~too same~here
    i~(?:do|am|did|have|will|would|can|was)(?=\W*$) that~one(?=\W) the~(?:first|second|last)~one
    spot~on bang~on totally for~sure agreed deal(?=\W) count~me~in (?:fine|works)~(?:by|for)~me let's~do~(?:it|that)
    aye affirmative
    i'm~afraid~so i~(?:think|guess|suppose|believe|hope)~so you~guessed~it you~got~it mm-?hm+ uh-?huh ok~then
    abgemacht einverstanden passt~(?:so|schon|gut) so~ist~es ganz~genau auf~jeden~Fall unbedingt allerdings(?=\W*$)
    jepp sicher(?=\W)
    absolument c'est~bien~ça entendu ça~marche en~effet ouais tal~cual eso~mismo de~acuerdo ajá así~mismo
    é~isso isso~aí pode~ser combinado aham perfetto(?=\W) d'accordo infatti assolutamente come~no già(?=\W*$)
    ja~hoor prima(?=\W) akkoord absoluut(?!~niet) doe~maar угу хорошо(?=\W) договорились ну~да
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
    i~wish if~only as~if(?!~\p{L}) yeah,?~right fat~chance no~chance dream~on far~from~it anything~but not~likely
    in~your~dreams
    hardly~any hardly~ever barely scarcely not~a~chance no~such~luck god,?~no hell,?~no heavens,?~no oh~no not~exactly
    not~quite still~not immer~noch~nicht toujours~pas nog~altijd~niet sigue~sin not~in~the~slightest not~remotely
    not~a~bit out~of~the~question on~the~contrary quite~the~opposite
    i~doubt~it never~did never~have never~was not~once don't~be~silly you~must~be~joking you're~(?:joking|kidding)
    no~way not~me absolutely~not definitely~not certainly~not of~course~not unfortunately~not i'm~afraid~not hardly
    nein nee nö noch~(?:nicht|nie) niemals falsch stimmt~nicht das~stimmt~nicht ich~auch~nicht gar~nicht
    überhaupt~nicht schön~wär(?:'s|e~es) wär~schön von~wegen ach~was denkste im~Gegenteil weit~gefehlt mitnichten
    ganz~und~gar~nicht
    nicht~im~(?:Geringsten|Traum) quatsch i~wo kaum doch~nicht noch~lange~nicht schön~wäre~es keine~Chance Fehlanzeige
    leider~(?:nein|nicht|noch~nicht) nie keineswegs auf~keinen~fall eher~nicht nicht~mehr nicht~wirklich nicht~direkt
    tu~parles si~seulement j'aimerais~bien tu~rêves au~contraire loin~de~là bien~sûr~que~non pas~question pas~vraiment
    surtout~pas hors~de~question plus~du~tout
    non pas~(?:encore|du~tout|vraiment|moi) jamais moi~non~plus c'est~faux faux plus~maintenant
    no todavía~no aún~no nunca jamás tampoco yo~tampoco para~nada en~absoluto claro~que~no ya~no qué~va eso~no ojalá
    ni~(?:loc[oa]|hablar|de~broma|soñarlo|en~sueños|mucho~menos) al~contrario lejos~de~eso quién~pudiera
    de~ninguna~manera en~la~vida
    não ainda~não nunca jamais eu~também~não também~não de~modo~nenhum claro~que~não já~não nem~por~isso errado falso
    quem~(?:me|nos)~dera oxalá nem~(?:pensar|em~sonhos|um~pouco) longe~disso pelo~contrário antes~fosse
    imagina de~jeito~nenhum que~nada
    mai non~ancora neanch'io nemmeno per~niente affatto magari figurati figuriamoci macché ma~va ma~quando~mai
    neanche~per~(?:sogno|idea)
    al~contrario anzi tutt'altro manco~per~sogno niente~affatto ancora~no sbagliato
    nee~hoor welnee was~het~maar~waar integendeel geen~sprake~van echt~niet absoluut~niet toch~niet nauwelijks
    vergeet~het~maar nog~niet nog~nooit nooit helemaal~niet ook~niet niet~meer
    нет ещё~нет еще~нет пока~нет никогда неправда неверно ни~разу вовсе~нет ничуть если~бы куда~там да~нет наоборот
    ничего~подобного отнюдь едва~ли вряд~ли ещё~чего hayır henüz~değil asla hiç yok
    jeszcze~nie nigdy nie ne ještě~ne nikdy nej inte~än aldrig nei ikke~ennå nej ikke~endnu ei en~vielä ei~vielä
    nem még~nem soha
    όχι ποτέ όχι~ακόμα không chưa tidak belum bukan nu încă~nu niciodată לא אף~פעם עדיין~לא नहीं कभी~नहीं
    لا ليس~بعد أبدا كلا مطلقا
"""
_OFTEN: Final = r"""
    you~bet sure~thing obviously naturally loads lots plenty always often sometimes since(?:~(?:i|we)~(?:was|were))?
    every for~(?:years|ages|months|weeks) all~the~time
    (?:so|too)~many twice both~of~them
    und~ob aber~(?:hallo|sicher|klar|gern) immer oft seit jeden? ständig mehrmals logo logisch na~klar
    carrément évidemment bien~entendu et~comment toujours souvent depuis tous~les plein
    siempre a~menudo desde muchas cada obvio cómo~no ya~lo~creo obviamente claro~que~sí
    sempre muitas várias todos~os pois~claro claro~que~sim óbvio spesso ogni tante un~sacco eccome certo~che~sì ovvio
    altroché
    ovviamente altijd vaak sinds elke al~jaren tuurlijk en~of reken~maar uiteraard
    всегда часто каждый ещё~бы естественно давно
"""
"""How a reply begins that tells how often, where it denies nothing."""
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
    r"(?:是[的啊]?|对[的啊呀]?|對[的啊]?|嗯嗯?|好啊|行|就是|好的?|没错|當然|当然|可以|はい|ええ|うん|そうです(?:ね|よ)?|そうなんです|そうそう|お願いします|その通り|もちろん"
    r"|네네?|예|응|그럼요|맞습니다|맞아요?|그래요?|ใช่|ครับ|ค่ะ)"
)
_CJK_NO: Final = (
    r"(?:不是的?|不|没有|還沒有?|还没有?[呢啊]?|没呢|沒有|从来没有?|從來沒有?|不对|いいえ|いや|いえ|ううん|まだです|まだ|違います"
    r"|아니요?|아뇨|아직|아직이요|아직요|ไม่|ยัง)"
)


def _any(words: str) -> str:
    return "|".join(sorted(words.split(), key=len, reverse=True)).replace("~", r"\s+")


_END: Final = r"(?=\s*(?:[,.!;:—–…?。，！、؛،]|-\s|$))"
_ENGLISH_NO: Final = r"(?:no|nee|nein|non|não)(?=\s+(?:i|we|he|she|it|they|that|there|ich|wir|das|dat|je|eu|nós)\b)"
_DENYING = lazy_pattern(rf"{_LEADING}(?:(?:{_any(_NO)}|{_CJK_NO}){_END}|{_ENGLISH_NO})".replace("~", r"\s+"), 2)
_AFFIRMING = lazy_pattern(
    rf"{_LEADING}(?:(?:{_any(_YES)})(?!\p{{L}})|(?:{_YES_WEAK}|{_CJK_YES}){_END}"
    rf"|(?:{_any(_OFTEN)})(?!\p{{L}}|.*(?<!\p{{L}})(?:no|not|never|nicht|nie|kein\p{{L}}*|pas|jamais|nunca|non|mai"
    rf"|não|niet|i|we|you|they|ich|wir|je|nous|yo|eu|io|ik"
    rf"|nooit|geen|не|n't)(?!\p{{L}})))".replace("~", r"\s+"),
    2,
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
