"""By which words a wish that is to hold on is recognised, in every language of the lexicon."""

import time

import pytest

from agentcore.lexicon import INTERNATIONAL, languages
from agentcore.recall.standing import is_standing

WISHES = {
    "ar": ("من الآن فصاعدًا أجب بالعربية", "أنا أفضل القهوة"),
    "cs": ("Od teď odpovídej česky", "Vždy piš krátce"),
    "da": ("Fremover skal du svare på dansk", "Jeg foretrækker te"),
    "de": ("Antworte ab jetzt auf Deutsch", "Mir ist ein Platz am Fenster lieber, bitte nie am Gang"),
    "el": ("Από τώρα και στο εξής απάντα στα ελληνικά", "Προτιμώ τον καφέ"),
    "en": (
        "From now on answer in German",
        "I prefer window seats",
        "Please don't call me Annie",
        "Thanks. Never do so",
        "I'll be out. From now on ask Ana",
    ),
    "es": ("De ahora en adelante responde en español", "Prefiero el té"),
    "fi": ("Vastaa jatkossa suomeksi", "Aina lyhyesti"),
    "fr": ("Réponds désormais en français", "Je préfère le thé", "Ne me propose jamais de viande"),
    "he": ("מעכשיו תענה בעברית", "אני מעדיפה תה"),
    "hi": ("अब से हिंदी में जवाब दो", "कृपया हमेशा छोटा लिखो"),
    "hu": ("Mostantól magyarul válaszolj", "Mindig röviden írj"),
    "id": ("Mulai sekarang jawab dalam bahasa Indonesia", "Saya lebih suka teh"),
    "it": ("D'ora in poi rispondi in italiano", "Preferisco il tè"),
    "ja": ("今後は日本語で答えてください", "窓側の方が好きです"),
    "ko": ("앞으로 한국어로 대답해 줘", "차를 더 좋아해요"),
    "nl": ("Antwoord voortaan in het Nederlands", "Ik heb liever thee"),
    "no": ("Svar på norsk fra nå av", "Jeg foretrekker te"),
    "pl": ("Od teraz odpowiadaj po polsku", "Wolę herbatę"),
    "pt": ("A partir de agora responde em português", "Prefiro chá"),
    "ro": ("De acum înainte răspunde în română", "Aș prefera ceai"),
    "ru": ("Впредь отвечай по-русски", "Предпочитаю чай"),
    "sk": ("Odteraz odpovedaj po slovensky", "Nikdy nepíš dlho"),
    "sv": ("Svara på svenska hädanefter", "Jag föredrar te"),
    "th": ("จากนี้ไปตอบเป็นภาษาไทย", "กรุณาอย่าโทรหา"),
    "tr": ("Bundan sonra Türkçe cevap ver", "Çay tercih ederim"),
    "uk": ("Відтепер відповідай українською", "Завжди пиши коротко"),
    "vi": ("Từ nay hãy trả lời bằng tiếng Việt", "Đừng bao giờ gọi tôi"),
    "zh": ("从现在起用中文回答", "請不要打電話給我"),
}


def test_every_language_has_wishes_to_try():
    assert set(WISHES) == {one.code for one in languages()} - {INTERNATIONAL}


@pytest.mark.parametrize("code", WISHES)
def test_a_wish_is_recognised(code: str):
    assert [text for text in WISHES[code] if not is_standing(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "He always was late.",
        "OK! But I'll write that down from now on.",
        "Never been there before!",
        "Glad to help. Always here for you, never give up!",
        "I have never been to Rome.",
        "Which tram goes to Lisbon?",
        "Ich war noch nie in Rom.",
        "J'ai toujours habité ici.",
        "Der Termin ist am 26. Mai.",
        "私は東京に住んでいます",
        "",
        "***",
    ],
)
def test_what_is_merely_told_is_no_wish(text: str):
    assert not is_standing(text)


def test_capitals_and_curly_apostrophes_do_not_matter():
    assert is_standing("PLEASE DON\u2019T CALL ME")


def test_a_text_of_five_megabytes_takes_little_time():
    for text in ("please " * 700_000, "x" * 5_000_000, ". always" * 600_000, "bitte * " * 600_000, "請" * 1_500_000):
        began = time.process_time()
        is_standing(text)
        assert time.process_time() - began < 5.0
