"""Numbers written as words, and units, in the languages that the guards read."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final


def _numbered(words: str) -> dict[str, int]:
    pairs = (item.split("=") for item in words.split())
    return {word: int(value) for names, value in pairs for word in names.split("|")}


# "one" and its like are articles and pronouns, "neuf" is also new, "once" is English: none is a number by itself. Nor
# are ordinals that mean something else as well: "segunda" and "quarta" are weekdays, "cuarto" is a room.
WORDS: Final[dict[str, dict[str, int]]] = {
    "en": _numbered(
        "zero=0 two|twice=2 three|thrice=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 "
        "thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 "
        "forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 second=2 third=3 fourth=4 fifth=5 sixth=6 "
        "seventh=7 eighth=8 ninth=9 tenth=10 eleventh=11 twelfth=12 thirteenth=13 fourteenth=14 fifteenth=15 "
        "sixteenth=16 seventeenth=17 eighteenth=18 nineteenth=19 twentieth=20 thirtieth=30 fortieth=40 fiftieth=50",
    ),
    "pt": _numbered(
        "zero=0 dois|duas=2 três=3 quatro=4 cinco=5 seis=6 sete=7 oito=8 nove=9 dez=10 onze=11 doze=12 treze=13 "
        "catorze|quatorze=14 quinze=15 dezasseis|dezesseis=16 dezassete|dezessete=17 dezoito=18 dezanove|dezenove=19 "
        "vinte=20 trinta=30 quarenta=40 cinquenta=50 sessenta=60 setenta=70 oitenta=80 noventa=90 cem|cento=100 "
        "duzentos|duzentas=200 trezentos|trezentas=300 quatrocentos=400 quinhentos=500 seiscentos=600 setecentos=700 "
        "oitocentos=800 novecentos=900 terceiro|terceira=3",
    ),
    "es": _numbered(
        "cero=0 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12 trece=13 "
        "catorce=14 quince=15 dieciséis=16 diecisiete=17 dieciocho=18 diecinueve=19 veinte=20 veintiuno|veintiún=21 "
        "veintidós=22 veintitrés=23 veinticuatro=24 veinticinco=25 veintiséis=26 veintisiete=27 veintiocho=28 "
        "veintinueve=29 treinta=30 cuarenta=40 cincuenta=50 sesenta=60 setenta=70 ochenta=80 noventa=90 "
        "cien|ciento=100 doscientos|doscientas=200 trescientos|trescientas=300 cuatrocientos=400 quinientos=500 "
        "seiscientos=600 setecientos=700 ochocientos=800 novecientos=900 tercero|tercera|tercer=3",
    ),
    "fr": _numbered(
        "zéro=0 deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 dix=10 onze=11 douze=12 treize=13 quatorze=14 "
        "quinze=15 seize=16 vingt|vingts=20 trente=30 quarante=40 cinquante=50 soixante=60 septante=70 nonante=90 "
        "deuxième=2 troisième=3 quatrième=4 cinquième=5 sixième=6 septième=7 huitième=8 neuvième=9 dixième=10",
    ),
    "de": _numbered(
        "null=0 zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwölf=12 dreizehn=13 "
        "vierzehn=14 fünfzehn=15 sechzehn=16 siebzehn=17 achtzehn=18 neunzehn=19 zwanzig=20 dreißig|dreissig=30 "
        "vierzig=40 fünfzig=50 sechzig=60 siebzig=70 achtzig=80 neunzig=90",
    ),
    "it": _numbered(
        "due=2 tre=3 quattro=4 cinque=5 sei=6 sette=7 otto=8 nove=9 dieci=10 undici=11 dodici=12 tredici=13 "
        "quattordici=14 quindici=15 sedici=16 diciassette=17 diciotto=18 diciannove=19 venti=20 trenta=30 quaranta=40 "
        "cinquanta=50 sessanta=60 settanta=70 ottanta=80 novanta=90 terzo|terza=3",
    ),
    "nl": _numbered(
        "twee=2 drie=3 vier=4 vijf=5 zes=6 zeven=7 acht=8 negen=9 tien=10 elf=11 twaalf=12 dertien=13 veertien=14 "
        "vijftien=15 zestien=16 zeventien=17 achttien=18 negentien=19 twintig=20 dertig=30 veertig=40 vijftig=50 "
        "zestig=60 zeventig=70 tachtig=80 negentig=90 tweede=2 derde=3 vierde=4 vijfde=5 zesde=6 zevende=7 achtste=8 "
        "negende=9 tiende=10",
    ),
}
"""Numbers of one word that stand alone, counting words and ordinals."""

ONES: Final = {
    "en": _numbered("one|first=1"),
    "pt": _numbered("um|uma=1"),
    "es": _numbered("uno|una|un=1"),
    "fr": _numbered("un|une=1 neuf=9"),
    "de": _numbered("eins=1"),
    "it": _numbered("uno|una|un=1"),
    "nl": _numbered("een|één=1"),
}
"""Words that are a number behind tens, as in `twenty-one`, and by themselves articles or other words."""
GREAT: Final = {
    "en": _numbered("dozen=12 hundred|hundreds=100 thousand=1000 million=1000000"),
    "pt": _numbered("dúzia|dúzias=12 mil=1000"),
    "es": _numbered("docena|docenas=12 mil=1000"),
    "fr": _numbered("douzaine|douzaines=12 cent|cents=100 mille=1000"),
    "de": _numbered("dutzend=12 hundert=100 tausend=1000"),
    "it": _numbered("dozzina|dozzine=12 cento=100 mille|mila=1000"),
    "nl": _numbered("dozijn=12 honderd=100 duizend=1000"),
}
"""Words that multiply the number before them."""
LINKS: Final = {"en": "and", "pt": "e", "es": "y", "fr": "et", "de": "und", "it": "e", "nl": "en"}
"""The word inside of a number, as in `treinta y uno`."""


def _joined_tens() -> Iterator[tuple[str, str, int]]:
    """Return the numbers below 100 that German, Dutch and Italian write as one word."""
    tens = {
        language: {word: n for word, n in WORDS[language].items() if 20 <= n < 100} for language in ("de", "it", "nl")
    }
    for language, link, one in (("de", "und", "ein"), ("nl", "en", "een")):
        small = {word: n for word, n in WORDS[language].items() if 2 <= n <= 9 and not word.endswith("de")}
        for word, n in {one: 1, **small}.items():
            joint = "ën" if link == "en" and word.endswith("e") else link
            yield from ((language, word + joint + ten, value + n) for ten, value in tens[language].items())
    for ten, value in tens["it"].items():
        for word, n in {
            "uno": 1,
            **{word: n for word, n in WORDS["it"].items() if 2 <= n <= 9 and word[:2] != "te"},
        }.items():
            yield "it", (ten[:-1] if word[0] in "uo" else ten) + word, value + n


for _language, _word, _value in [*_joined_tens()]:
    WORDS[_language].setdefault(_word, _value)
for _language, _hundred in (("de", "hundert"), ("nl", "honderd"), ("it", "cento")):
    for _word, _value in [*WORDS[_language].items()]:
        if 2 <= _value <= 9:
            WORDS[_language].setdefault(_word + _hundred, _value * 100)
WORDS["it"].update(
    {"tré" if word == "tre" else word[:-3] + "tré": n for word, n in WORDS["it"].items() if word.endswith("tre")}
)
WORDS["de"].update({word + "mal": n for word, n in [*WORDS["de"].items()]})
WORDS["de"].update(
    {
        stem + ending: n
        for n, stem in enumerate(
            ("zweite", "dritte", "vierte", "fünfte", "sechste", "siebte", "", "neunte", "zehnte"), 2
        )
        if stem
        for ending in ("", "r", "s", "n", "m")
    }
)

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
usd $ dollar dollars buck bucks us$ dólar dólares dollari
gbp £ gbp quid
jpy ¥ yen 円
cny 元 块 rmb yuan
brl r$ reais real
chf chf franken
% % percent per_cent percentage prozent porcento por_cento por_ciento pour_cent percento per_cento procent pct
km km kilometre kilometres kilometer kilometers quilómetro quilómetros quilômetro quilômetros kilómetro kilómetros
km kilomètre kilomètres kilometern chilometro chilometri 公里
m m metre metres meter meters metern metro metros mètre mètres metri 米
cm cm centimetre centimetres centimeter centimeters zentimeter zentimetern centimètre centimètres centímetro centímetros
cm centimetro centimetri
mm mm millimetre millimetres millimeter millimeters millimetern millimètre millimètres milímetro milímetros
mm millimetro millimetri
mi mi mile miles meile meilen milla millas milha milhas miglio miglia mijl mijlen
ft ft foot feet
inch inches zoll pouces pulgadas polegadas pollici
m² m² m2 sqm sq_m square_metre square_metres square_meter square_meters quadratmeter quadratmetern qm mètre_carré
m² mètres_carrés metro_cuadrado metros_cuadrados metro_quadrado metros_quadrados metro_quadro metri_quadri
m² metri_quadrati
m² vierkante_meter mq
km² km² km2 square_kilometre square_kilometres square_kilometer square_kilometers quadratkilometer kilomètres_carrés
km² kilómetros_cuadrados quilômetros_quadrados quilómetros_quadrados chilometri_quadrati vierkante_kilometer
ft² ft² ft2 sq_ft sqft square_foot square_feet
m³ m³ m3 cubic_metre cubic_metres cubic_meter cubic_meters kubikmeter mètres_cubes metros_cúbicos metri_cubi
m³ kubieke_meter
km/h km/h kmh kph kilometres_per_hour kilometers_per_hour kilometres_an_hour kilometers_an_hour stundenkilometer
km/h kilometer_pro_stunde kilomètres_par_heure kilomètres_heure kilómetros_por_hora quilômetros_por_hora
km/h quilómetros_por_hora chilometri_all'ora km/u kilometer_per_uur
mph mph miles_per_hour miles_an_hour
kg kg kilo kilos kilogram kilograms kilogramme kilogrammes kilogramm kilogramo kilogramos quilo quilos quilograma
kg quilogramas chilo chili chilogrammo chilogrammi 公斤
g g gram grams gramm gramme grammes gramo gramos grama gramas grammo grammi
mg mg milligram milligrams milligramm milligramme milligrammes miligramo miligramos miligrama miligramas
mg milligrammo milligrammi
lb lb lbs
stone stone
pound pound pounds
t t ton tons tonne tonnes tonnen tonelada toneladas tonnellate ton
yd yd yard yards
gal gal gallon gallons
pint pint pints
acre acre acres
ha ha hectare hectares hektar hectárea hectáreas
oz oz ounce ounces
l l litre litres liter liters litern litro litros litri
cl cl centilitre centilitres centiliter centilitro centilitros
ml ml millilitre millilitres milliliter milliliters millilitro millilitri mililitro mililitros
ms ms millisecond milliseconds
s s sec second seconds segundos segundo sekunden sekunde seconde secondes secondo secondi seconden 秒
min min mins minute minutes minuto minutos minuten minuti minuut 分钟 分間
h h u
hour hr hrs hour hours hora horas stunde stunden heure heures ora ore uur uren 小时 小時 時間
day day days dia dias día días tag tage tagen jour jours giorno giorni dag dagen 天 日間
week week weeks semana semanas woche wochen semaine semaines settimana settimane weken 周 週間
month month months mês meses mes monat monate monaten mois mese mesi maand maanden 个月 ヶ月
year year years ano anos año años jahr jahre jahren ans année années anno anni jaar jährig jährige jährigen jähriger
year jähriges jährigem jarig jarige 年 歳 岁
times times x × mal fois veces vezes volte keer
kb kb
mb mb
gb gb gigabyte gigabytes
tb tb
kw kw kilowatt kilowatts
kwh kwh
hz hz hertz
mhz mhz
ghz ghz
degree ° degree degrees grad degré degrés grado grados grau graus gradi graad graden
°c °c ℃ degrees_celsius degree_celsius degrees_centigrade celsius grad_celsius degrés_celsius grados_celsius
°c graus_celsius gradi_celsius graden_celsius degrees_c
°f °f ℉ degrees_fahrenheit fahrenheit grad_fahrenheit degrés_fahrenheit grados_fahrenheit graus_fahrenheit
°f gradi_fahrenheit graden_fahrenheit degrees_f
"""
_BY_SPELLING: Final = {name: line.split()[0] for line in _UNITS.strip().split("\n") for name in line.split()}
UNITS: Final = {spelling.replace("_", " "): unit for spelling, unit in _BY_SPELLING.items()}
"""The one name of each unit, by its spelling in lower case with single spaces."""


def _measure(text: str) -> dict[str, tuple[str, Fraction]]:
    rows = (line.split() for line in text.strip().splitlines())
    return {
        unit: (base, Fraction(factor)) for base, *pairs in rows for unit, factor in (one.split("=") for one in pairs)
    }


MEASURES: Final = _measure("""
time ms=1/1000 s=1 min=60 h=3600 hour=3600 day=86400 week=604800
calendar month=1 year=12
length mm=1/1000 cm=1/100 m=1 km=1000
weight mg=1/1000 g=1 kg=1000
volume ml=1/1000 cl=1/100 l=1
""")
"""What each unit measures and how much of it, for those that are exact parts of each other."""
