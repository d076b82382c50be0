from .language import (
    INTERNATIONAL as INTERNATIONAL,
    Language as Language,
    language as language,
    languages as languages,
    recognised as recognised,
)
