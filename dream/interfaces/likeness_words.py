"""Says in words how another text says what shall be forgotten, for all doors."""

from typing import Final

from agentcore.hosting.restatements import Likeness

LIKENESS_WORDS: Final = {
    Likeness.EQUAL: "equal words",
    Likeness.NEAR: "near words",
    Likeness.ORIGIN: "learnt from the same sentence",
    Likeness.MODEL: "other words, as the model reads them",
}
