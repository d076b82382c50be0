"""What a reply says of what was asked: whether it takes it up, leaves it open, or denies."""

from typing import Final

from dream.guards.clause_words import ASKING, QUESTION
from dream.guards.clauses import Reader, are_alike, question_of, sentences_of, words_of

_HALF: Final = 0.5


def taken_up(text: str, asked: str) -> str:
    """Return which sentences of a text the next one answers or says again; blank if none.

    Args:
        text: The next one.
        asked: What was said before it by somebody else.

    Example:
        >>> taken_up("Yes, please.", "You are allergic to nuts. Shall I send it?"), taken_up("Thanks!", "Eat nuts.")
        ('Shall I send it?', '')
    """
    if not asked:
        return ""
    found = [question_of(asked)] if Reader.of([asked, text]).answers(text) else []
    if found and QUESTION.search(found[0]) is None:
        # "Exactly" to what was told is about all of it.
        return asked
    said = words_of(text)
    for sentence in sentences_of(asked):
        words = words_of(sentence)
        again = sum(any(are_alike(word, other) for other in said) for word in words)
        if again > 1 and again > _HALF * len(words) and sentence not in found:
            found.append(sentence)
    return " ".join(found)


def unanswered(text: str, asked: str) -> str:
    """Return the question of a text that the next one neither answers nor says again; blank if none.

    Args:
        text: The next one.
        asked: What was said before it by somebody else.

    Example:
        >>> unanswered("Ha, the rents!", "Nice. Do you live by the sea?"), unanswered("In May.", "When did you move?")
        ('Do you live by the sea?', '')
    """
    question = question_of(asked)
    open_ended = QUESTION.search(question) is None or ASKING.search(question) is not None
    return "" if open_ended or question in taken_up(text, asked) else question


def denies(text: str) -> bool:
    """Tell whether a text denies anything.

    Example:
        >>> denies("I can't stand it."), denies("I wish!")
        (True, False)
    """
    return any(clause.denies for clause in Reader.of([text]).clauses(text))
