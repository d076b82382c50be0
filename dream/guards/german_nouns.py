"""Everyday nouns of German, which have a capital wherever they stand and so are no names."""

from collections.abc import Iterable
from typing import Final

from dream.guards.folding import fold, words_in
from dream.guards.languages import FUNCTION_WORDS
from dream.guards.lazy_pattern import lazy_pattern
from dream.guards.text_cache import WORD_ROOM, TextCache

_NOUNS: Final = words_in(
    "tag woche monat jahr stunde minute sekunde uhr zeit morgen vormittag nachmittag abend nacht mittag "
    "wochenende frühling sommer herbst winter ferien feiertag geburtstag hochzeit anfang ende beginn dauer mal "
    "mann frau kind baby sohn tochter vater mutter eltern mama papa opa oma großmutter großvater enkel enkelin "
    "tante onkel neffe nichte cousin cousine schwager schwägerin bruder schwester geschwister zwilling freund "
    "freundin partner partnerin ehemann ehefrau verlobte familie verwandte nachbar nachbarin mensch leute person "
    "gast bekannte kollege kollegin chef chefin leiter leiterin kunde kundin nutzer nutzerin benutzer mitarbeiter "
    "mitarbeiterin mitglied team gruppe verein mannschaft arzt ärztin zahnarzt zahnärztin hausarzt pfleger "
    "krankenschwester krankenpfleger lehrer lehrerin schüler schülerin student studentin studium dozent dozentin "
    "ingenieur ingenieurin anwalt anwältin programmierer entwickler entwicklerin verkäufer verkäuferin musiker "
    "musikerin künstler künstlerin autor autorin architekt architektin handwerker elektriker tischler mechaniker "
    "pilot polizist trainer trainerin arbeit beruf job büro firma unternehmen betrieb abteilung projekt vertrag "
    "termin treffen besprechung sitzung konferenz anruf telefon handy nachricht brief mail post paket rechnung "
    "preis kosten miete geld lohn gehalt steuer versicherung konto bank kredit schulden budget wohnung haus "
    "zimmer raum küche bad badezimmer dach balkon terrasse garten garage tür fenster wand boden treppe aufzug "
    "möbel tisch stuhl bett schrank sofa lampe teppich straße stadt land dorf ort platz park brücke kirche schule "
    "kindergarten kita universität uni hochschule museum theater kino bibliothek bücherei krankenhaus klinik "
    "praxis apotheke bahnhof haltestelle flughafen hafen zug bus bahn straßenbahn auto wagen fahrrad rad motorrad "
    "roller flug flugzeug schiff boot reise urlaub ausflug fahrt weg strecke hotel zelt koffer rucksack pass "
    "visum ausweis karte führerschein essen frühstück mittagessen abendessen mahlzeit speise gericht restaurant "
    "café kneipe kaffee tee wasser saft milch hafermilch sojamilch zucker salz pfeffer brot brötchen kuchen torte "
    "keks gebäck schokolade eis käse butter joghurt ei fleisch wurst schinken fisch huhn hähnchen rind schwein "
    "reis nudel kartoffel suppe salat soße öl essig alkohol bier wein sekt schnaps obst gemüse apfel birne banane "
    "orange zitrone erdbeere kirsche traube tomate gurke zwiebel knoblauch pilz nuss erdnuss haselnuss mandel "
    "honig sauerteig teig mehl rezept gewürz zutat laktose gluten hund katze kater welpe pferd hase kaninchen "
    "hamster kuh schaf ziege biene tier haustier futter pflanze blume baum wald wiese fluss see meer strand insel "
    "küste himmel sonne mond stern regen schnee wind wetter temperatur luft feuer licht strom energie heizung "
    "klimaanlage gerät maschine werkzeug kamera fernseher radio kühlschrank herd ofen waschmaschine buch zeitung "
    "zeitschrift roman gedicht artikel text seite wort satz sprache film serie musik lied konzert orchester chor "
    "band instrument geige gitarre klavier flöte trompete schlagzeug spiel sport fußball tennis schwimmen laufen "
    "lesen kochen yoga training übung turnier spieler hobby freizeit kunst bild foto gemälde farbe englisch "
    "deutsch französisch spanisch italienisch mathematik physik chemie biologie geschichte computer rechner "
    "laptop notebook server netzwerk netz internet daten datei ordner liste tabelle programm software hardware "
    "anwendung app version fehler problem frage antwort lösung aufgabe grund ergebnis ziel plan idee regel gesetz "
    "pflicht name vorname nachname adresse anschrift nummer code passwort schlüssel zugang kennwort einstellung "
    "allergie unverträglichkeit krankheit schmerz kopf hals rücken bauch herz hand arm finger bein fuß knie auge "
    "ohr nase mund zahn haar haut blut fieber grippe husten schnupfen operation medikament tablette impfung "
    "therapie diät gewicht größe alter leben tod liebe angst freude wut glück pech stress ruhe schlaf traum "
    "wunsch meinung interesse vorliebe abneigung gewohnheit erfahrung kenntnis fähigkeit möglichkeit verspätung "
    "verbindung entscheidung hilfe unterstützung geschenk überraschung party feier fest kleidung hose hemd kleid "
    "jacke mantel schuh mütze schal tasche brille ring kette ware laden geschäft supermarkt markt einkauf angebot "
    "teil hälfte viertel drittel paar dutzend meter kilometer gramm kilo liter grad prozent euro hauptstadt "
    "heimat wohnort wohnsitz ausland gegend nähe umgebung region richtung höhe breite tiefe ecke mitte rand "
    "anzahl menge summe bereich thema fach kurs unterricht prüfung note zeugnis abschluss ausbildung praktikum "
    "bewerbung stelle vollzeit teilzeit schicht pause feierabend überstunde dienst dienstreise homeoffice rente "
    "ruhestand elternzeit kündigung umzug einzug auszug vermieter mieter mieterin besitzer besitzerin eigentümer "
    "bewohner einwohner bürger wahl partei regierung verkehr stau unfall reparatur werkstatt tankstelle benzin "
    "ladung akku batterie kabel stecker bildschirm tastatur maus drucker papier stift heft kalender notiz "
    "erinnerung hinweis information auskunft beispiel vorschlag absprache vereinbarung rückmeldung rückruf "
    "ansprechpartner ansprechpartnerin lieferung bestellung lager werk fabrik produkt material holz metall glas "
    "stoff plastik"
)
"""Without their plural endings; everyday words that are surnames as well are left out where the surname is usual."""
_NO_HEADS: Final = words_in(
    "haus stadt land dorf ort platz berg wald see stein bach feld hof mann burg garten brucke strasse park insel "
    "kirche hafen hand wein eis bank band ring tag rand bad rad ei tal mal name note zug ende dach fluss meer kuh "
    "wand arm  huhn holz glas werk auge baum blume fisch stern mond mund ruhe hase pass schal fach liste gericht "
    "markt alter leben"
)
"""Nouns with which names of places and people end as well: Düsseldorf, Heidelberg, Deutschland."""
_ENDINGS: Final = ("", "e", "n", "en", "er", "ern", "s", "es", "nen", "innen")
_NAMES: Final = words_in("munchen fischer berger kuhn kirchner brunner holzer")
"""Names that would pass for the plural or the compound of a noun."""
_SUFFIX = lazy_pattern(
    r"\p{L}{3,}(?:ung|ungen|heit|heiten|keit|keiten|schaft|schaften|tion|tionen|ismus|tat|taten|nis|nisse|chen|erei"
    r"|ereien|ling|linge|itis|logie|grafie|graphie|meter|zeug|werk|stoff|mittel|gang|satz|kraft)"
    r"|\p{L}{4,}erin(?:nen)?"
)


def is_everyday_noun(written: str) -> bool:
    """Tell whether a word with a capital is a noun of the tables, a compound of one, or has the ending of one.

    Example:
        >>> [is_everyday_noun(word) for word in ("Haustiere", "Musikerin", "Lösungen", "Hannover", "Kemal")]
        [True, True, True, False, False]
    """
    return _KNOWN[written]


def _is_noun(written: str) -> bool:
    folded = fold(written)
    if folded in _NAMES:
        return False
    if _SUFFIX.fullmatch(folded):
        return True
    stems = [folded.removesuffix(ending) for ending in _ENDINGS if folded.endswith(ending)]
    return any(stem in _FOLDED for stem in stems) or any(
        stem[start:] in _HEADS for stem in stems for start in range(2, len(stem) - 3)
    )


def exchanged_nouns(text: str, sources: Iterable[str]) -> list[str]:
    """Return the nouns of a German text in whose place, behind the same words, its sources have another.

    Example:
        >>> exchanged_nouns("Anas Tochter spielt Klavier.", ["Meine Tochter spielt Geige."])
        ['Klavier']
        >>> exchanged_nouns("Ana backt Apfelkuchen.", ["Ich backe Kuchen."])
        []
    """
    known = fold(text)
    heard = [_framed(source) for source in sources]
    told = fold(" ".join(sources))
    return [
        noun
        for frame, noun in _framed(text)
        if fold(noun)[:-2] not in told
        and any(frame == other and not _akin(noun, instead, known) for one in heard for other, instead in one)
    ]


def _akin(noun: str, other: str, known: str) -> bool:
    return fold(other)[:-2] in known or fold(noun).endswith(fold(other)[1:])


def _framed(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Return everyday nouns behind the little words, and the one that tells something, that stand before them."""
    found: list[tuple[tuple[str, ...], str]] = []
    frame: tuple[str, ...] = ()
    for match in _WORD_OR_STOP.finditer(text):
        word = match.group()
        if not word[0].isalpha():
            frame = ()
        elif fold(word) in FUNCTION_WORDS:
            frame = (*frame, fold(word)) if frame else ()
        else:
            if frame and word[0].isupper() and is_everyday_noun(word):
                found.append((frame, word))
            frame = (fold(word)[:5],)
    return found


_WORD_OR_STOP = lazy_pattern(r"\p{L}+|[.!?;:,\n]")
_FOLDED: Final = frozenset(map(fold, _NOUNS))
_HEADS: Final = frozenset(noun for noun in _FOLDED if len(noun) >= 4) - _NO_HEADS
_KNOWN: Final = TextCache(_is_noun, room=WORD_ROOM)
