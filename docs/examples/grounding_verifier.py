"""Has a local grounding model read before the chat model: `DreamOptions(verifier=GroundingVerifier(minicheck()))`.

A grounding model scores how well a document supports a statement. It is quick, needs no server, and may only deny.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dream.domain.verification import Assertion, Reading, SecondReading

Score = Callable[[str, str], float]
"""How well a document supports a statement, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class GroundingVerifier:
    """Denies what a grounding model finds unsupported; all else is left to the chat model.

    Args:
        score: Scores a document and a statement.
        threshold: Support below which a statement is denied. Measure it on statements of your own, in your languages.
    """

    score: Score
    threshold: float = 0.1

    async def read(self, assertions: Sequence[Assertion], /) -> Sequence[SecondReading]:
        """Return a reading of each assertion, worked out beside the event loop."""
        return await asyncio.to_thread(lambda: [self._reading(one) for one in assertions])

    def _reading(self, assertion: Assertion) -> SecondReading:
        # Whoever adds steps of his own, as a skill may, is not supported by any document.
        if assertion.adds or self.score(document_of(assertion), assertion.text) >= self.threshold:
            return SecondReading(reading=Reading.SAYS)
        return SecondReading(reading=Reading.NOT_SAID)


def document_of(assertion: Assertion) -> str:
    """Return the evidence as a document: who said it when, and what stands beside it."""
    lines: list[str] = []
    for line in assertion.evidence:
        day = "" if line.said_at is None else f" on {line.said_at:%A, %Y-%m-%d}"
        said = f"{line.speaker or line.role}{day}: " if line.speaker or day else ""
        lines.append(f"{said}{line.text}")
    return "\n".join(lines)


def minicheck(model: str = "lytang/MiniCheck-Flan-T5-Large", most: int = 2048) -> Score:
    """Load MiniCheck (`pip install transformers torch sentencepiece`): English, 0.8 billion parameters.

    It is asked as its authors do: the probability of the first token `1` against `0`. What is longer than *most* tokens
    is left to the chat model.
    """
    import torch  # noqa: PLC0415 - only who calls this has it
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer  # noqa: PLC0415

    tokenizer: Any = AutoTokenizer.from_pretrained(model)
    weights: Any = AutoModelForSeq2SeqLM.from_pretrained(model).eval()

    def score(document: str, statement: str) -> float:
        asked = f"predict: {document}{tokenizer.eos_token}{statement}"
        tokens = tokenizer(asked, return_tensors="pt")
        if tokens["input_ids"].shape[1] > most:
            return 1.0  # cut, it would lose the statement: the chat model reads it whole
        start = torch.tensor([[weights.config.decoder_start_token_id]])
        with torch.no_grad():
            logits = weights(**tokens, decoder_input_ids=start).logits[0, -1]
        return float(torch.softmax(logits[[3, 209]], dim=-1)[1])

    return score


def lettuce_detect(model: str = "KRLabsOrg/lettucedect-base-modernbert-en-v1") -> Score:
    """Load LettuceDetect (`pip install lettucedetect`): it marks the parts of an answer that no document supports."""
    from lettucedetect.models.inference import HallucinationDetector  # noqa: PLC0415

    detector: Any = HallucinationDetector(method="transformer", model_path=model)

    def score(document: str, statement: str) -> float:
        spans = detector.predict(
            context=[document], question="What do the records say?", answer=statement, output_format="spans"
        )
        return 1.0 - max((float(span["confidence"]) for span in spans), default=0.0)

    return score
