"""What looks like a secret, and what only talks about one."""

from time import process_time

import pytest
from hypothesis import given, strategies as st

from dream.guards import secret_in

SECRETS = [
    ("Ana's password is hunter2.", "password"),
    ("The password is swordfish", "password"),
    ("The password for the router is 'open sesame'.", "password"),
    ("password: Tr0ub4dor&3", "password"),
    ("Das Passwort ist Gartenzaun9", "password"),
    ("Le mot de passe est Tournesol!", "password"),
    ("La contraseña es girasol88", "password"),
    ("A senha é abc12345", "password"),
    ("Ana's PIN is 4821", "password"),
    ("The CVV is 123", "password"),
    ("api_key = 8f2b9c1d7e", "password"),
    ("Her API key is abcdefghij.", "password"),
    ("It is sk-proj-abcDEF123456ghiJKL789", "key or token"),
    ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "key or token"),
    ("AKIAIOSFODNN7EXAMPLE", "key or token"),
    ("AC0123456789abcdef0123456789abcdef", "key or token"),
    ("0123456789abcdef0123456789abcdef-us12", "key or token"),
    ("sq0csp-ABCDEFGHIJK_LMNOPQRSTUVWXYZ-0123456789ABCD", "key or token"),
    ("xoxb-123456789012-abcdefghijkl", "key or token"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "key or token"),
    ("uses aB3xK9mQ2zL7pR4tY8wE1nU6 to log in", "key or token"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----", "private key"),
    ("postgres://ana:s3cret@db.example/app", "password in an address"),
    ("The AWS pair ends in wJalrXUtnFEMI/K7MDENG/bPxRfiCYzE8mQpL2vTa", "key or token"),
    ("AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==", "password"),
    ("Alerts go to https://hooks.slack.com/services/T02ABCD3E/B03FGHI4J/kLmN0pQrStUvWxYz", "key or token"),
    ("Bot 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw posts there", "key or token"),
    ("curl -u admin:S3cretPass99 works there", "password"),
    ("ssh key passphrase: correct horse battery staple", "password"),
    ("Her card is 4111 1111 1111 1111", "card number"),
    ("5500-0000-0000-0004 expires soon", "card number"),
    ("My mail account is now Otter7!Kettle, keep that", "password"),
    ("Ins Netz kommst du mit Fuchs_Laterne58", "password"),
    ("To get in you type lantern, a dash, forty, capital L at the start, no spaces", "password"),
    ("Para entrar en el correo: nube, guion, ocho, la primera en mayúscula", "password"),
    ("The backup codes are h4tq9z, w2mk7p and b8xv3d", "password"),
    (
        "My ledger says in order otter kettle lantern velvet canyon ripple thumb basket window drum orbit silk",
        "password",
    ),
    ("Press 4417 on the keypad and the gate opens", "password"),
    ("卡号\uff0c4111 1111 1111 1111\uff0c明年到期", "card number"),
    ("The sticker reads 7KQ2M-4TXP9-HB3RW-9ZDL6", "key or token"),
    ("Open https://files.example/reset/8f2c0b7e91d34a6688ffb0c3d1 now", "key or token"),
]

HARMLESS = [
    "Ana forgot her password again.",
    "The password is weak",
    "The password is on the yellow note under the keyboard",
    "Ana keeps her passwords in KeePass.",
    "Ana wants a token of appreciation",
    "It is no secret that Ana likes tea.",
    "The secret is patience and practice with the dough.",
    "Ana has a pin on her jacket",
    "Ana's phone number is +351 912 345 678.",
    "Order 1234567890123456 arrived",
    "The commit is 3f786850e387550fdab836ed7e6dc881de23001b",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "See https://example.org/a/very/long/path?with=query&and=more",
    "The class is AbstractSingletonProxyFactoryBean",
    "Donaudampfschifffahrtsgesellschaftskapitän",
    "Ana pays 4,111,111,111,111,111 of nothing",
    "The site wants a capital letter, a lowercase letter and a dash in each password.",
    "Flask==2.3.1 signs in with Flask-Login",
    "Use postgres://localhost:5432/test to log in, no password needed.",
    "Should the twelve words of a wallet be kept on paper or rather in metal, deep inside a garden?",
    "Leur site refuse les accents dans le mot de passe, en 2025.",
    "The code base has the tags rel2024a, rel2024b and rel2024c.",
    "The meeting is on 2025-06-14 at 09:30",
    "The code is in src/main/java/org/example/Application2Runner/ServiceImpl",
    "Everything stands under /home/ana/Projects/2025/Website/Assets/Images/Header",
    "Ana runs curl -u to look it up",
    "They spent 3 years in Tan Son Nhat",
    "",
]


@pytest.mark.parametrize(("text", "kind"), SECRETS)
def test_a_secret_is_recognised_by_its_shape(text: str, kind: str):
    assert secret_in(text) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The password is 'bees'.", "password"),
        ("The password is 'bee'.", None),
        ("password: be3s", "password"),
        ("password: b3e", None),
        ("Her PIN is 482", "password"),
        ("Her PIN is 48", None),
    ],
)
def test_the_shortest_secret_has_four_characters_or_three_digits(text: str, kind: str | None):
    assert secret_in(text) == kind


@pytest.mark.parametrize("text", HARMLESS)
def test_talk_about_secrets_is_none(text: str):
    assert secret_in(text) is None


@given(st.text(max_size=300))
def test_any_text_is_read(text: str):
    secret_in(text)


@given(st.text(alphabet="ab ", max_size=40), st.text(alphabet="ab ", max_size=40))
def test_a_secret_is_found_wherever_it_stands(before: str, after: str):
    assert secret_in(f"{before} AKIAIOSFODNN7EXAMPLE {after}") is not None


def seconds(text: str) -> float:
    """The least processor time of three looks at a text."""
    taken: list[float] = []
    for _ in range(3):
        before = process_time()
        secret_in(text)
        taken.append(process_time() - before)
    return min(taken)


@pytest.mark.parametrize(
    ("part", "end"),
    [
        ("curl ", ""),
        ("curl -u ", ""),
        ("curl\n", " -u a:b"),
        ("a.", "://x"),
        ("a-", "://:x"),
        ("a://b:", ""),
        ("token=", '"x'),
        ("token for ", ""),
        ("token to a ", ""),
        ("pass phrase: a ", ""),
        ("-----BEGIN ", ""),
        ("eyJa.", ""),
        ("+a", "\u00e9"),
        ("1 ", ""),
        ("the market, ", ""),
        ("WIFI:T:", ""),
        ("_PASS", '", "x'),
        ("password a + ", ""),
        ("echo passe ", "|"),
        ("a", ""),
    ],
)
def test_the_time_grows_with_the_text_and_no_faster(part: str, end: str):
    seconds("")
    short, long = (part * (size // len(part)) + end for size in (5_000, 40_000))
    assert seconds(long) < 24 * seconds(short)


@pytest.mark.parametrize(
    "text",
    [
        "curl curl -s https://example.com -u ana:hunter22 curl",
        "-u ana:x\ncurl\n-u ana:hunter22",
        "https://a.example https://ana:hunter22@b.example",
        "token=token=token=hunter22",
        f"The password is {'lisbon' * 60} by the way",
    ],
)
def test_a_secret_behind_its_likes_is_found(text: str):
    assert secret_in(text) is not None


@pytest.mark.parametrize("text", ["curl\nthen -u ana:x", "-u ana:x curl", "curl -u ana\n-u x:"])
def test_a_user_of_another_line_is_no_sign_in(text: str):
    assert secret_in(text) is None
