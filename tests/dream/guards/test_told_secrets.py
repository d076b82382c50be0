"""Secrets that are told in words, in other languages and other spellings, and sentences that tell none."""

# ruff: noqa: RUF001 - look-alikes are what is tested

import pytest

from dream.guards import secret_in
from tests.bench.secrets import alarms, found, judged

TOLD = """
The door code is 4711#.
my recovery codes are 8f3k-22lm and 9d2k-11ab
Press 2580 on the keypad to open the garage.
The wifi password at mum's is bluebird and the dog's age, so bluebird12
I changed my email password to Blue7Whale last night.
The zip opens with Tulpe_77.
login kmiller / Otter59
It's the cat's name and the year we met, so Minka2011.
The PIN is nine, oh, four, two.
My password? It's Fluffy2009.
ｐａｓｓｗｏｒｄ：ｈｕｎｔｅｒ２
pass\u200bword is hun\u200bter2
p\u0430ssword is hunter22
Mein Kennwort lautet "Erdbeerfeld".
Ich habe das Passwort auf Regen2024! geändert.
Der Code für die Haustür ist acht drei null fünf.
Mon code secret, c'est 9021
La combinación del candado es 482.
O código do portão é 5541
Il PIN del bancomat è 55129
Код от сейфа: 774411
رمز الخزنة: ثمانية ثلاثة صفر خمسة
门禁密码:1357
パスワードをAme2024に変えた。
현관 도어락 비밀번호는 7788
Moje hasło to Kotek123
Portkoden är 2244
Salasanani on Kissa123
Ο κωδικός πόρτας είναι 4471
הסיסמה שלי היא Yoni1985
मेरा पासवर्ड है Mohan123
Mật khẩu là Hoa12345
My mnemonic is: apple river stone cloud table mouse green paper light train seven dog
safe in the hall: left 12, right 40, left 9
<password>Tr0ub4dor</password>
CREATE USER ana IDENTIFIED BY 'Sommer#1';
Il lucchetto della bici si apre con 7-3-9-1
El candado se abre con cuatro dos uno cero
玄関のオートロックは1357で開く。
Сейф открывается так: 12 вправо, 40 влево
Am Tresor erst 38, dann 12, dann 5
Antwort auf die Sicherheitsfrage: Rufus
NAS: basta il cognome di nonna e l'anno, Ferri1931
Per entrare nel gestionale uso Fragola!2024
PIN? one nine eight four
pa$$word: k1tten
key = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
the header says cGFzc3dvcmQ6aHVudGVyMg== as ever
mysql -u root -pLupo2020 shop
Igel77xx (Kennwort vom Router)
Per il Wi-Fi dello studio usa Orecchiette_44, è attaccato sotto al router.
Per disattivare l'antifurto digita 90412 entro trenta secondi
La parola d'ordine per entrare nel gestionale è Zibibbo-2018, la cambiamo a fine mese.
Sie haben mir das Passwort auf Frühling22! zurückgesetzt.
On m'a réinitialisé le compte avec Printemps#9.
Her Netflix is on my email and the password's moonPie88.
You'll need MapleSyrup77 to get past the lock screen.
Le cadenas du vélo s'ouvre avec 482.
Es el nombre de mi perro y el año de mi boda, Canela2011.
El portal: cuatro ocho cero uno
La combinación de la caja es 12 a la derecha, 30 a la izquierda y 5.
Чтобы снять с охраны, набери 4471.
密保答案是旺财
VPN — lgomez — Albahaca!8
P a s s w o r t :  L i n d e 8 8
db.example.com:5432:shop:clerk:Pump-kin77
unzip -P Lumaca55 a.zip
The alarm is my mum's birthday without the year, 2107.
Il codice è il mese e il giorno di nascita di Luca, quindi 0928.
ATMは娘の誕生日を逆にして、つまり 8150。
Password, in pieces: Pan + try + #5 + Blue
La password si scrive P come Palermo, I come Imola, N come Napoli, poi 88.
كلمة السر حرف ك ثم ل ثم ب ثم سبعة.
Mon code, c'est quatre, zéro, zéro, six, et c'est tout.
На ноутбуке введи Черника_19, и всё откроется.
Домофон у нас 47К2619, третий подъезд.
保险柜:先右转到三十五,再左转到十二,最后右转到七。
Para el wifi: manzanasverdes22, todo junto.
motdepasse = "Hibou-gris"
WIFI:T:WPA;S:Attic;P:copperkettle;;
ALTER ROLE caixa WITH PASSWORD 'feijao_preto';
define("DB_PASSWORD", "arroz.conleche");
requests.get(url, auth=('compta', 'Noisette!bleue'))
""".strip().splitlines()

TABLES = [
    "service,user,password\nbank,ana,Kl33blatt",
    "| Dienst | Passwort |\n|---|---|\n| WLAN | Kl33blatt |",
    "- name: DB_PASSWORD\n  value: Kl33blatt9",
    "Password:\n  Kl33blatt-x",
    "Mot de passe du wifi\n\n    Figue-2-Barbarie",
    "Utente: m.ferri\nParola chiave: Girasole#33\nServer: mail.example.it",
    "pw\n----\nGruenkohl!7",
    "PASSWORD=\\\nhunter2hunter",
    "Open the intranet, then type the password\n`Kl33blatt-x`",
    "The token is\nghp_rMIMU8BC2rmjRYfGjs\nUt4HFoGUHcXp3XRMy4",
]

UNTOLD = """
ALTER ROLE caixa WITH PASSWORD :senha;
client.authenticate('username', 'password')
The bank changed its name in the year, 2021.
Password? I forgot it.
La porta si apre alle 8
The lock was installed 24-8-2019
ドアは2020年製で高さは2100ミリ。
integrity="sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ana@laptop
API_KEY=YOUR_API_KEY_HERE
The code of the seminar room is A1204.
Ana opened the door at 1430.
Ana bought a safe in 2021 for 450 euros.
The garage opens at 0800 and costs 1200 a year.
He changed his password in March 2024.
The password must be at least 12 characters.
Das Passwort wurde am 12.05.2024 geändert.
La contraseña caduca en 2025.
Пароль нужно менять каждые 90 дней.
密码每90天更换一次。
The bank account number is DE89370400440532013000.
The PIN must have 4 to 6 digits.
Ana has an iPhone15 and Windows11 on her laptop.
The seeds are tomato basil carrot onion lettuce and radish.
Ana keeps the seed phrase in a drawer at home because she trusts nobody with it.
Passwords need an uppercase letter, a digit and a sign such as dash or underscore.
口座番号は1234567です。
Il gatto è nato nel 2014, quindi ha 10 anni.
Barcode 4901234567894 cannot be read.
token: "{{ env.TOKEN }}"
password = os.environ["APP_PASSWORD"]
The safe distance is 1500 metres.
My phone is with the Pixel_7 case.
We switched to Office_365 and the wifi is fine.
Kontakt: Wi-Fi, Kabel, Antenne#2
router; eth_0; up
Benutzer: hmeier
La parola d'ordine del congresso era innovazione.
Das Losungswort der Kampagne hieß Zukunft.
""".strip().splitlines()


@pytest.mark.parametrize("text", TOLD + TABLES)
def test_a_secret_is_found_in_the_words_around_it(text: str):
    assert secret_in(text) is not None


@pytest.mark.parametrize("text", UNTOLD)
def test_a_sentence_that_tells_none_is_let_through(text: str):
    assert secret_in(text) is None


@pytest.mark.parametrize("part", ["development", "shapes"])
def test_the_sets_that_the_rules_were_made_on_are_told_apart(part: str):
    texts = judged(part)
    secrets, ordinary = found(texts), alarms(texts)
    assert secrets[0] >= 0.9 * secrets[1]
    assert ordinary[0] <= 0.005 * ordinary[1]
