"""Guesses a text's language from its function words, and holds the words by which its clauses are cut."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import regex

from agentcore.lexicon.language import Language, language, languages, recognised
from dream.guards.number_words import WORDS
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern

_WORD = lazy_pattern(r"\p{L}[\p{L}\p{M}]*")
_SAMPLE: Final = 2_000

UNKNOWN: Final = ""
"""Stands for a language whose words are those of the known ones, as far as anybody can tell."""
UNTABLED: Final = "other"
"""Stands for a language that no table of the guards knows."""


def all_words(read: Callable[[Language], Iterable[str]]) -> frozenset[str]:
    """Return the words that *read* finds in any language."""
    return frozenset(word for one in languages() for word in read(one))


def _telling() -> dict[str, tuple[str, ...]]:
    """Return the languages of each word that tells one: little words, and numbers that no other language has."""
    counted = Counter(word for words in WORDS.values() for word in words)
    markers = {code: frozenset(one.markers) for code, one in recognised().items()}
    little = frozenset[str]().union(FUNCTION_WORDS, all_words(lambda one: one.shared_numbers), *markers.values())
    own = {
        code: frozenset(word for word in words if counted[word] == 1 and word not in little)
        for code, words in WORDS.items()
    }
    tables = {code: words | own.get(code, frozenset()) for code, words in markers.items()}
    return {
        word: tuple(code for code, table in tables.items() if word in table)
        for word in frozenset[str]().union(*tables.values())
    }


FUNCTION_WORDS: Final = frozenset(language("en").stop_words) | all_words(lambda one: one.function_words)
"""Words that say how a sentence is built, in the languages that are recognised."""
_SPEAKERS: Final = _telling()


def language_of(text: str, otherwise: str = "en") -> str:
    """Return the language whose little words stand most often in the first 2,000 characters.

    Args:
        text: Any string.
        otherwise: The answer where no language leads.

    Example:
        >>> language_of("A Inês mora no Porto desde o verão"), language_of("Carmen no trabaja los viernes con el jefe")
        ('pt', 'es')
    """
    return _leader([text[:_SAMPLE]]) or otherwise


def language_of_all(texts: Sequence[str], otherwise: str = "en") -> str:
    """Return the language of texts that are read one after the other, as of one text with a line for each.

    Example:
        >>> language_of_all(["Tea.", "Der Hund ist nicht da."])
        'de'
    """
    fits = sum(map(len, texts)) + len(texts) - 1 <= _SAMPLE
    return _leader(texts if fits else ["\n".join(texts)[:_SAMPLE]]) or otherwise


def _leader(samples: Iterable[str]) -> str | None:
    votes: dict[str, int] = {}
    for sample in samples:
        for name, count in _VOTES[sample].items():
            votes[name] = votes.get(name, 0) + count
    first, second = ([*sorted(votes.values(), reverse=True), 0, 0])[:2]
    return max(votes, key=votes.__getitem__) if first > second else None


def _votes(sample: str) -> Mapping[str, int]:
    return Counter(name for word in _WORD.findall(sample.casefold()) for name in _SPEAKERS.get(word, ()))


_VOTES: Final = TextCache(_votes, room=TEXT_ROOM)


NOTHING: Final = "(?!)"
"""A pattern that stands nowhere."""

SENTENCE = lazy_pattern(r"(?<=[.!?…])\s+|(?<=[。！？؟])|\n+")
ABBREVIATED = lazy_pattern(r"(?:\b(?:dr|mr|mrs|ms|prof|st|sr|sra|jr|nr|vs|(?-i:\p{Lu}))\.|\.{3,}|…)$", regex.IGNORECASE)
QUESTION = lazy_pattern(r"[?？؟]\W*$")
_BREAK: Final = (
    r"[;,()，、،؛：\n]|:(?=\s|$)|\s[-\u2013\u2014]+\s|\.(?=\s|$)|[!?。！？؟…]+|但是?|而且|而是|所以|因为|けど|けれど|(?<=[るただすん])が|지만|는데"
    r"|\b(?:(?<!anything )but|although|though|because|however|except|aber|sondern|obwohl|weil|pero|sino|aunque"
    r"|porque|porém|embora"
    r"|parce|puisque|però|perché|maar|omdat|lecz|ponieważ|но|а|и|потому|хотя|если|çünkü|tapi"
    r"|karena|nhưng|mutta|αλλά|و?لكن\p{Arabic}*|אבל|लेकिन|और)\b|\sو"
)
LINKS: Final = {
    **{code: "|".join(one.clause_links) or NOTHING for code, one in recognised().items()},
    # In a text of an unknown language only words count that stand between clauses wherever they stand.
    UNKNOWN: "und|mais",
    UNTABLED: "|".join(word for one in languages() if not one.markers for word in one.clause_links),
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
LITTLE: Final = all_words(lambda one: one.little_words)
SUBJECTS: Final = all_words(lambda one: one.subjects)
WITHOUT: Final = all_words(lambda one: one.without)
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
ANAPHOR: Final = all_words(lambda one: one.anaphors)
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


def _any(read: Callable[[Language], Iterable[str]]) -> str:
    """Return a pattern of the patterns that *read* finds in any language, the longest first."""
    found = sorted({pattern for one in languages() for pattern in read(one)}, key=lambda one: (-len(one), one))
    return "|".join(found).replace(" ", r"\s+")


_LEADING: Final = rf"(?:\W*+(?:{_any(lambda one: one.answer_fillers)})\b)*+\W*+"
_END: Final = r"(?=\s*(?:[,.!;:—–…?。，！、؛،]|-\s|$))"
_ENGLISH_NO: Final = r"(?:no|nee|nein|non|não)(?=\s+(?:i|we|he|she|it|they|that|there|ich|wir|das|dat|je|eu|nós)\b)"
_DENYING = lazy_pattern(rf"{_LEADING}(?:(?:{_any(lambda one: one.no)}){_END}|{_ENGLISH_NO})", regex.IGNORECASE)
_AFFIRMING = lazy_pattern(
    rf"{_LEADING}(?:(?:{_any(lambda one: one.yes)})(?!\p{{L}})|(?:{_any(lambda one: one.weak_yes)}){_END}"
    rf"|(?:{_any(lambda one: one.often)})(?!\p{{L}}|.*(?<!\p{{L}})(?:no|not|never|nicht|nie|kein\p{{L}}*|pas|jamais"
    rf"|nunca|non|mai|não|niet|i|we|you|they|ich|wir|je|nous|yo|eu|io|ik|nooit|geen|не|n't)(?!\p{{L}})))",
    regex.IGNORECASE,
)


@cache
def _breaks(links: str) -> "regex.Pattern[str]":
    return lazy_pattern(rf"{_BREAK}|\b(?:{links})\b", regex.IGNORECASE)


def clause_ends(text: str, links: str) -> Iterator[tuple[int, int, str]]:
    """Yield where each clause of a text ends, where the next one begins, and what stands between.

    Args:
        text: Any string.
        links: Pattern of the words between clauses, beside the signs and conjunctions that stand between any.

    Example:
        >>> list(clause_ends("I cook, but not fish", "and"))
        [(6, 7, ','), (8, 11, 'but'), (20, 20, '')]
    """
    for match in _breaks(links).finditer(text):
        yield match.start(), match.end(), match.group()
    yield len(text), len(text), ""


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
