"""Words and signs by which a text is cut into clauses, and that say how one clause goes on from another."""

from typing import Final

import regex

from dream.guards.folding import words_in
from dream.guards.lazy_pattern import lazy_pattern
from dream.guards.negation_words import UNTABLED

SENTENCE = lazy_pattern(r"(?<=[.!?…])\s+|(?<=[。！？؟])|\n+")
ABBREVIATED = lazy_pattern(r"(?:\b(?:dr|mr|mrs|ms|prof|st|sr|sra|jr|nr|vs|(?-i:\p{Lu}))\.|\.{3,}|…)$", regex.IGNORECASE)
QUESTION = lazy_pattern(r"[?？؟]\W*$")
BREAK: Final = (
    r"[;,()，、،؛:：\n]|\s[-\u2013\u2014]+\s|\.(?=\s|$)|[!?。！？؟…]+|但是?|而且|而是|所以|因为|けど|けれど|(?<=[るただすん])が|지만|는데"
    r"|\b(?:(?<!anything )but|although|though|because|however|except|aber|sondern|obwohl|weil|pero|sino|aunque"
    r"|porque|porém|embora"
    r"|parce|puisque|però|perché|maar|omdat|lecz|ponieważ|но|а|и|потому|хотя|если|çünkü|tapi"
    r"|karena|nhưng|mutta|αλλά|و?لكن\p{Arabic}*|אבל|लेकिन|और)\b"
)
LINKS: Final = {
    "en": "and|while|since|so|if|when|whether|unless|who|which|where|until|till|just|only",
    "pt": "e|mas|desde|se|quando|até|exceto|só|quem",
    "es": "e|y|desde|si|cuando|hasta|excepto|salvo|solo|sólo",
    "fr": "et|car|mais|depuis|si|quand|sauf|jusqu|qui",
    "de": "und|seit|wenn|ob|außer|bis|denn|nur",
    "it": "e|ma|se|quando|tranne|finché|solo",
    "nl": "en|want|terwijl|als|behalve|tot|alleen",
    "": "und|mais",
    UNTABLED: "och|og|men|dan|și|hogy|ama|ale|bo",
}
TOKEN = lazy_pattern(
    r"[\p{Han}\p{Thai}]|[\p{Katakana}ー]+|[\p{L}--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]]"
    r"[[\p{L}\p{M}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]]*(?:'\p{L}+)*|\d[\d\p{L}.]*",
    regex.V1,
)
SHORTENED = lazy_pattern(r"'(?:m|ve|re|ll|d)$", regex.IGNORECASE)
UNSPACED = lazy_pattern(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Hangul}]")
CONTENT = lazy_pattern(r"[\p{L}\p{N}]")
ARABIC_AFFIX = lazy_pattern(r"(?:[وف])?(?:ال|س(?=[يتنأ]))?[يتنأ]?(?=\p{L}{3})")
UNREAL = lazy_pattern(
    r"\bused to\b|\b(?:was|were) (?:going|about|supposed|meant) to\b|\bwould have\b|\b(?:planned|meant|wanted"
    r"|hoped|intended) to\b"
    r"|\bwollte eigentlich\b|\b(?:allais|voulais|iba a|quería|ia|queria|volevo|wilde)\b"
    r"|^\s*(?:before|bevor|ehe|avant (?:que|de)|antes (?:de|que)|prima (?:di|che)|voordat)\b",
    regex.IGNORECASE,
)
"""Words before something that was meant and may not have come, or had not come yet."""
OTHER_MARKS = lazy_pattern(
    r"[ąćęłńśźżěščřžůďťňőűğışåøășț]"
    r"|\b(?:mutta|myös|jest|czy|się|och|inte|jag|ikke|jeg|bir|nem|egy|hogy|tidak|saya|yang|sunt|ei|että|minä)\b",
)
UNSURE = lazy_pattern(r"\b(?:if|whether|unless|si|ob|wenn|se|als|если|jeśli|eğer)\b", regex.IGNORECASE)
UNTIL = lazy_pattern(r"\b(?:until|till|bis|hasta|até|jusqu|finché|tot|до)\b", regex.IGNORECASE)
CONTRAST = lazy_pattern(
    r"\b(?:but|only|just|rather|instead|except|sondern|aber|nur|außer|sino|pero|solo|sólo|salvo|excepto|mais"
    r"|seulement|sauf"
    r"|mas|só|exceto|ma|però|зато|tranne|maar|wel|alleen|behalve|men|bara|kun|но|а|lecz|ale|tylko|tapi|ama|لكن"
    r"|بل)\b|但|而是|只|が$|けど|けれど|지만"
    r"|\b(?:does|do|did|is|are|can|will|has|have|wel|schon|sí|sì|sim|oui|да)\W*$",
    regex.IGNORECASE,
)
EXCEPTION = lazy_pattern(r"\b(?:except|außer|salvo|excepto|sauf|exceto|tranne|behalve|кроме)\b|除了", regex.IGNORECASE)
OR = lazy_pattern(
    r"\b(?:or|nor|oder|noch|ni|nem|ou|o|u|né|of|eller|или|ни|ani|lub|veya|atau|أو|ولا)\b|或|も", regex.IGNORECASE
)
CORRECTION = lazy_pattern(
    r"\b(?:actually|correction|wait|i was wrong|i take (?:it|that) back|changed my mind|doch|eigentlich"
    r"|korrektur|en fait"
    r"|finalement|de hecho|en realidad|corrección|na verdade|aliás|afinal|in realtà|anzi|eigenlijk|toch|вообще-то"
    r"|на самом деле|faktiskt|właściwie|aslında)\b|其实|其實|實際|实际|更正|実は|訂正|사실|في الواقع|בעצם",
    regex.IGNORECASE,
)
SHORTEST: Final = 3
LITTLE: Final = words_in(
    "true right correct wahr stimmt richtig vrai verdad cierto vero verdade certo waar klopt правда "
    "dr prof mr mrs ms success luck chance succès erfolg éxito suerte successo sucesso sorte succes "
    "want wants wanted would like möchte möchten will wollen mag quer querem quiere quieren quiero veut veulent veux "
    "voudrais vuole vogliono voglio vorrei wil willen wilt хочет хочу "
    "longer anymore yet ever even still really quite very much at all any every always either also too just again "
    "mehr noch schon auch sehr gar gern gerne immer ich du wir mich mir sich dich habe hat haben hatte bin wird kann "
    "plus encore jamais très bien je tu nous on me te ai ont été être avoir cela ça y fait peut "
    "ya más aún todavía muy yo tú me te nos he ha han había soy ser estar tengo tiene tener puede esto eso eu "
    "você me "
    "mais ainda já muito tenho tem ter isso isto pode foi io tu mi ti ci ho ha hanno più ancora già molto questo può "
    "meer nog al ook heel ik je jij we heb heeft hebben ben kan wordt dit dat "
    "я ты он она мы мне меня у это уже ещё еще был была было есть в на с и"
)
SUBJECTS: Final = words_in(
    "i we he she they it you is are was were has have had do does did will am i'm it's ich du er sie wir ist "
    "sind hat je tu il elle "
    "nous on est sont j'ai ho ha abbiamo hanno he tengo ai a avons tenho tem hebben heeft ci yo él ella nosotros es "
    "son está está eu ele ela nós é são io lui lei noi è sono ik "
    "hij zij is "
    "я он она мы это"
)
WITHOUT: Final = words_in("without sem sin sans senza ohne zonder بدون без χωρίς")
HAN_BUILDING: Final = frozenset("的了在是和有他她我你也都就与及到着過过得地个個们們吗嗎呢吧把被还還再")
UNLESS: Final = lazy_pattern(
    r"\b(?:unless|except (?:if|when)|es sei denn|außer wenn|à moins (?:que|de)|sauf si|a menos que|a no ser que"
    r"|salvo s[ei]|a meno che|tenzij|behalve als|если только не)\b|除非",
    regex.IGNORECASE,
)
AGAIN: Final = lazy_pattern(
    r"^\W*(?:encore|ancora|another)\b|\b(?:again|schon wieder|encore une fois|de nouveau|otra vez|de nuevo|outra vez"
    r"|de novo|di nuovo|un'altra volta"
    r"|(?:al)?weer|опять|снова|znowu|igen|yine)\b|又|また|또|مرة أخرى|שוב|फिर",
    regex.IGNORECASE,
)
ASKING: Final = lazy_pattern(
    r"(?<!\p{L})(?:what|when|where|who|whom|whose|which|why|how|was|wann|wo|wer|wen|wem|welche[rsnm]?|warum|wieso|wie"
    r"|wie ?viele?|woher|wohin|womit|worauf|qué|cuál(?:es)?|quién(?:es)?|cuándo|dónde|cómo|cuánt[oa]s?|qua(?:l|is)"
    r"|quando|onde|quem|quant[oaie]s?|quoi|que(?:l|lle)s?|quand|où|comment|combien|pourquoi|qu'est-ce|cosa|quale|quali"
    r"|dove|chi|wat|wanneer|waar|welke?|hoe(?:veel)?|waarom|что|какой|какая|какие|какое|когда|где|кто|сколько|почему"
    r"|куда|откуда|co|kiedy|gdzie|kto|ile|dlaczego|jak[aie]?|ne|nerede|kim|kaç)(?!\p{L})"
    r"|什么|甚麼|什麼|哪|谁|誰|几|幾|多少|怎|何|いつ|どこ|どの|いくつ|なぜ|どう|どんな|무엇|뭐|언제|어디|누구|몇|왜|어떻"
    r"|ما|متى|أين|من|كم|كيف|ماذا|מה|מתי|איפה|מי|כמה|क्या|कब|कहाँ|कौन",
    regex.IGNORECASE,
)
"""Words that ask for more than a yes or a no."""
ANAPHOR: Final = words_in(
    "it that them one there this any es das ihn keins keine keinen ça cela l'ai l'a en y lo la los las eso isso "
    "isto o "
    "ci ne het dat er это его её их"
)
"""Words that stand for what was said before."""
TAKES_BACK: Final = lazy_pattern(
    r"^\W*(?:(?:oh|ah|ach|äh|uh|um|well|ok|okay|sorry|hmm*|ay|ups|oops|nein|no|non|não|nee|нет)\W+)*"
    r"(?:no|nope|nein|non|não|nee|нет|oops|ups|wait|scratch that|(?:i )?spoke too soon|my (?:mistake|bad)|i (?:meant"
    r"|misspoke)"
    r"|correction|actually|changed|turns out|i was wrong|doch nicht|quatsch|falsch|korrektur|ich meinte|moment|halt"
    r"|pardon|en fait|finalement|je me suis trompée?|je voulais dire|perdón|me equivoqué|quise decir|al final"
    r"|en realidad"
    r"|enganei-me|me enganei|afinal|na verdade|quis dizer|aliás|scusa|anzi|mi sono sbagliat[oa]|mi sbaglio|volevo dire"
    r"|alla fine|toch niet|foutje|ik bedoel(?:de)?|eigenlijk|ошибл?[ао]?с?[ья]?|вернее)(?!\p{L})"
    r"|^\W*(?:不对|不是|更正|其实|搞错|いや|違|訂正|間違|아니|사실|لا|في الواقع|עזוב)",
    regex.IGNORECASE,
)
"""How a text begins that takes back what its speaker said."""
KIN: Final = lazy_pattern(
    r"^\W*(?:(?:so|and|but|well|also|ja|und|et|y|e|en)\s+)?(?:my|our|meine?|unsere?|mon|ma|mes|mi|mis|meu|minha"
    r"|o meu|a minha"
    r"|(?:il )?mio|(?:la )?mia|mijn|мой|моя|我的?|私の|우리)\s*(?:\p{L}+\s+)?"
    r"(?P<kin>mother|father|mum|mom|dad|brother|sister|son|daughter|wife|husband|partner|aunt|uncle|cousin|nephew"
    r"|niece"
    r"|grand\p{L}+|boss|neighbou?r|friend|colleague|flatmate|roommate|girlfriend|boyfriend|kid"
    r"|mutter|vater|mama|papa|bruder|schwester|sohn|tochter|frau|mann|tante|onkel|cousine?|oma|opa|chefin|chef"
    r"|nachbarin"
    r"|nachbar|freundin|freund|kollegin|kollege|schwieger\p{L}+|mère|père|frère|sœur|soeur|fils|fille|femme|mari"
    r"|oncle|voisine?"
    r"|amie?|collègue|copine?|madre|padre|hermano|hermana|hijo|hija|mujer|esposa|marido|tía|tío|prim[oa]|abuel[oa]"
    r"|jef[ea]"
    r"|vecin[oa]|amig[oa]|mãe|pai|irmão|irmã|filh[oa]|ti[oa]|av[óô]|chefe|vizinh[oa]|coleg[oa]|fratello|sorella"
    r"|figli[oa]"
    r"|moglie|zi[oa]|cugin[oa]|nonn[oa]|cap[oa]|vicin[oa]|amic[oa]|moeder|vader|broer|zus|zoon|dochter|vrouw"
    r"|vriendin|vriend"
    r"|buurman|buurvrouw|collega|baas|мама|папа|брат|сестра|сын|дочь|жена|муж|друг|подруга|妈妈|爸爸|哥哥|姐姐|弟弟|妹妹"
    r"|妻|夫|母|父|兄|姉|弟|妹)",
    regex.IGNORECASE,
)
"""How a clause begins that tells of somebody else."""
