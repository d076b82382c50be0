"""Names of months and weekdays in the languages that the guards read, without accents, case folded."""

from typing import Final

from dream.guards.folding import words_in

_MONTHS = """
january jan januar janvier janeiro enero gennaio januari
february feb februar fevrier fevereiro febrero febbraio februari
march mar marz mars marco marzo maart maerz
april apr avril abril aprile
may mai maio mayo maggio mei
june jun juni juin junho junio giugno
july jul juli juillet julho julio luglio
august aug aout agosto augustus
september sep sept septembre setembro septiembre settembre
october oct okt oktober octobre outubro octubre ottobre
november nov novembre novembro noviembre
december dec dez dezember decembre dezembro diciembre dicembre
"""
MONTHS: Final = {name: number for number, line in enumerate(_MONTHS.split("\n")[1:-1], 1) for name in line.split()}
"""Number of each month by name. Portuguese `out`, `set` and `ago` are left out: they are words of other languages."""

_ARABIC_MONTHS = "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر"
MONTHS.update({name: number for number, name in enumerate(_ARABIC_MONTHS.split(), 1)})

_WEEKDAYS = """
monday mon montag lundi segunda-feira lunes lunedi maandag
tuesday tue tues dienstag mardi terca-feira martes martedi dinsdag
wednesday wed mittwoch mercredi quarta-feira miercoles mercoledi woensdag
thursday thu thur thurs donnerstag jeudi quinta-feira jueves giovedi donderdag
friday fri freitag vendredi sexta-feira viernes venerdi vrijdag
saturday sat samstag sonnabend samedi sabado zaterdag
sunday sun sonntag dimanche domingo domenica zondag
"""
WEEKDAYS: Final = {name: number for number, line in enumerate(_WEEKDAYS.split("\n")[1:-1], 1) for name in line.split()}
"""Number of each weekday by name, Monday first."""

SHORT_WEEKDAYS: Final = words_in("mon tue tues wed thu thur thurs fri sat sun")
"""Names that are ordinary words at the start of a sentence."""

_ARABIC_WEEKDAYS = "الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد"
WEEKDAYS.update({name: number for number, name in enumerate(_ARABIC_WEEKDAYS.split(), 1)})

CHINESE_WEEKDAYS: Final = dict(zip("一二三四五六日天", (1, 2, 3, 4, 5, 6, 7, 7), strict=True))
"""What follows 周, 星期 or 礼拜."""
JAPANESE_WEEKDAYS: Final = dict(zip("月火水木金土日", range(1, 8), strict=True))
"""What stands before 曜."""

AMBIGUOUS_MONTHS: Final = frozenset(
    {"may", "march", "mar", "mars", "marco", "sep", "dec", "jan", "abril", "mai", "august"}
)
"""Names that are a month only where a preposition or a capital inside a sentence says so."""
