from .dream_pass import (
    HypothesisGeneration as HypothesisGeneration,
)
from .pairs import (
    Pair as Pair,
)
from .prompt import (
    judged as judged,
    read_guesses as read_guesses,
)
from .wording import (
    Guess as Guess,
    worded as worded,
)
