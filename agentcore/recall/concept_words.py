"""Words that say nothing of what a text is about."""

from typing import Final

from agentcore.recall.stopwords import ENGLISH_STOP_WORDS

_ENGLISH = """
about after again also always any anything around ask asked asks back because been before being both came can come
comes could did does doing done down each else even ever every everything find first gave get gets give given goes
going gone good got had has have having here how into just keep keeps kept know known last least less let like likes
made make makes many may maybe might more most much must need needs never next not nothing now off often once one only
other others our out over own put really said same saw say says see seen should since some something soon still such
take taken takes tell than thank thanks that their them then there these they thing things think this those though
through time told too took under until upon use used user users uses using very want wanted wants was way well went
were what when where which while who whom whose why will with within without would yes yet you your yours
assistant candidate chat confidence context evidence memory message note notes prompt reflection remember report
session snippet summary
day days today tomorrow tonight yesterday week weeks month months year years hour hours minute minutes morning evening
night monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
october november december
"""
_SPANISH = """
a al algo ante antes aquel aqui aquí asi así aun aunque bien cada como cómo con contra cual cuando cuándo de del desde
después donde dónde dos durante el él ella ellas ellos en entre era eran es esa esas ese eso esos esta está estaba están
estas este esto estos fue fueron ha había han hasta hay la las le les lo los más me mi mis mientras mucho muy nada ni no
nos nosotros nuestra nuestro o otra otras otro otros para pero poco por porque pues qué que quien quién se sea según ser
si sí sido siempre sin sobre solo sólo son su sus también tan tanto te tener tiene tienen todo todos tu tus un una uno
unos usted ustedes ya yo
"""
_FRENCH = """
ai alors après as au aucun aussi autre autres aux avait avant avec avez avoir ayant car ce cela celle celui ces cet
cette chez comme comment dans de depuis des deux donc dont du elle elles en encore entre est et étaient était été être
eu eux fait faire fois font il ils je jamais jusque la là le les leur leurs lui ma mais me même mes moi moins mon ne ni
non nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi quand que quel quelle qui quoi sa sans
se sera ses si son sont sous sur ta te tes toi ton toujours tous tout toute très trop tu un une vos votre vous
"""
_GERMAN = """
aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da dabei damit danach dann das dass
dein deine dem den denn der deren des deshalb dessen die dies diese diesem diesen dieser dieses doch dort du durch ein
eine einem einen einer eines er es etwas euch euer für gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich
ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in ins ist ja jede jedem jeden jeder jedes jetzt kann kein keine
keinen können machen man mehr mein meine mich mir mit muss nach nicht nichts noch nun nur ob oder ohne sehr sein seine
seinem seinen seiner seit sich sie sind so solche soll sollte sondern sonst über um und uns unser unter viel vom von vor
wann war waren warum was weg weil weiter wenn wer werde werden wie wieder will wir wird wirst wo wollen würde zu zum zur
zwischen
"""
_PORTUGUESE = """
a ao aos apenas as até com como da das de dela dele deles depois do dos e é ela elas ele eles em então entre era eram
essa esse esta está estão estava este eu foi foram há isso isto já lhe mais mas me mesmo meu meus minha muito na não nas
nem no nos nós nossa nosso num numa o os ou para pela pelas pelo pelos pois por porque quando que quem se sem sempre ser
seu seus só sobre sua suas também tão te tem têm ter todo todos tu um uma umas uns você vocês
"""

LITTLE_WORDS: Final = ENGLISH_STOP_WORDS.union(
    *(each.split() for each in (_ENGLISH, _SPANISH, _FRENCH, _GERMAN, _PORTUGUESE))
)
"""Words of five languages that stand in texts about anything, and words about notes themselves; in lower case."""

_EXTENSIONS = """
7z avi bak bin bmp cfg cpp css csv db dll doc docx exe flac gif gz hpp htm html ico ini iso jar java jpeg jpg js json
jsonl jsx lock log m4a md mkv mov mp3 mp4 odt ogg pdf php png ppt pptx ps1 py rar rs rst rtf scss sh sql svg tar tex tgz
tif tiff toml ts tsx txt wav webm webp xls xlsx xml yaml yml zip
"""

FILE_EXTENSIONS: Final = frozenset(_EXTENSIONS.split())
"""Endings of file names: alone they say nothing."""
