"""Numbers written as words, and units, in the languages that the guards read."""

from typing import Final


def _numbered(words: str) -> dict[str, int]:
    pairs = (item.split("=") for item in words.split())
    return {word: int(value) for names, value in pairs for word in names.split("|")}


# "one" and its like are articles and pronouns, "neuf" is also new, "once" is English: none is a number here.
WORDS: Final[dict[str, dict[str, int]]] = {
    "en": _numbered(
        "zero=0 two|twice=2 three|thrice=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 "
        "twelve|dozen=12 "
        "thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 "
        "forty=40 "
        "fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 hundred=100 thousand=1000",
    ),
    "pt": _numbered(
        "zero=0 dois|duas=2 três=3 quatro=4 cinco=5 seis=6 sete=7 oito=8 nove=9 dez=10 onze=11 doze=12 treze=13 "
        "catorze=14 "
        "quinze=15 vinte=20 trinta=30 quarenta=40 cinquenta=50 sessenta=60 cem=100",
    ),
    "es": _numbered(
        "cero=0 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 doce=12 trece=13 catorce=14 "
        "quince=15 "
        "veinte=20 treinta=30 cuarenta=40 cincuenta=50 sesenta=60 cien=100",
    ),
    "fr": _numbered(
        "zéro=0 deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 dix=10 onze=11 douze=12 treize=13 quatorze=14 "
        "quinze=15 "
        "seize=16 vingt=20 trente=30 quarante=40 cinquante=50 soixante=60 cent=100",
    ),
    "de": _numbered(
        "null=0 zwei|zweimal=2 drei|dreimal=3 vier|viermal=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 "
        "elf=11 zwölf=12 "
        "dreizehn=13 vierzehn=14 fünfzehn=15 zwanzig=20 dreißig=30 vierzig=40 fünfzig=50 sechzig=60 hundert=100",
    ),
    "it": _numbered("due=2 tre=3 quattro=4 cinque=5 sei=6 sette=7 otto=8 nove=9 dieci=10 dodici=12 venti=20 trenta=30"),
    "nl": _numbered("twee=2 drie=3 vier=4 vijf=5 zes=6 zeven=7 acht=8 negen=9 tien=10 elf=11 twaalf=12 twintig=20"),
}

HAN_DIGITS: Final = {"两": 2, "兩": 2, **{digit: value for value, digit in enumerate("二三四五六七八九十", 2)}}
"""Chinese digits that stand before a counting word; 一 is mostly an article."""
HAN_COUNTERS: Final = "个個只隻匹人次年月天岁歳名位条本台张张间間杯"

MULTIPLIERS: Final = {
    **dict.fromkeys(("k", "thousand", "mil", "tausend", "mille", "mila"), 3),
    **dict.fromkeys(("million", "millions", "millionen", "milhão", "milhões", "millón", "millones", "mio"), 6),
    **dict.fromkeys(("billion", "billions", "milliarden", "milliards", "bilhões"), 9),
    **dict.fromkeys(("万", "萬"), 4),
    **dict.fromkeys(("亿", "億"), 8),
}
"""Power of ten by the word that follows a number."""

_UNITS = """
eur € euro euros
usd $ dollar dollars us$ dólar dólares dollars
gbp £ gbp
jpy ¥ yen 円
cny 元 块 rmb yuan
brl r$ reais real
chf chf franken
% % percent percentage prozent porcento
km km kilometre kilometres kilometer kilometers quilómetro quilómetros quilômetros kilómetro kilómetros kilomètres 公里
m m metre metres meter meters metros mètres 米
cm cm centimetre centimetres centimeters
mm mm
mi mile miles
kg kg kilo kilos kilogram kilograms kilogramm 公斤
g g gram grams gramm grammes
mg mg
l l litre litres liter liters litros
ml ml
ms ms millisecond milliseconds
s s sec second seconds segundos segundo sekunden secondes 秒
min min mins minute minutes minuto minutos minuten 分钟 分間
h h hr hrs hour hours hora horas stunde stunden heure heures 小时 小時 時間
day day days dia dias día días tag tage tagen jour jours 天 日間
week week weeks semana semanas woche wochen semaine semaines 周 週間
month month months mês meses mes monat monate monaten mois 个月 ヶ月
year year years ano anos año años jahr jahre jahren ans 年 歳 岁
kb kb
mb mb
gb gb gigabyte gigabytes
tb tb
kw kw
kwh kwh
hz hz
mhz mhz
ghz ghz
°c °c ℃
°f °f
"""
UNITS: Final = {name: line.split()[0] for line in _UNITS.strip().split("\n") for name in line.split()}
"""The one name of each unit, by its spelling in lower case."""
