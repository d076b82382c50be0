"""Says what a model proved good for, and what to set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dream.domain.finding import Finding, FindingLevel
from dream.options import VerificationMode

if TYPE_CHECKING:
    from dream.cycle.model_check import ModelCheck

_NO_ROOM: Final = "give it a larger context, on its server, or choose another model"
_MODES: Final = {
    VerificationMode.VERIFIED: "verified: it reads well enough to check what it writes",
    VerificationMode.OFF: "off: its reading decides nothing, so what words leave undecided is kept as it was said",
    VerificationMode.STRICT: "strict: let nothing of its wording in unseen",
}


def model_findings(check: ModelCheck) -> list[Finding]:
    """Return what a model proved good for, and what to set."""
    whole = check.answers == check.objects > 0
    found = [
        Finding(
            "model json",
            FindingLevel.FINE if whole else FindingLevel.WRONG,
            f"{check.model or 'the model'}: {check.objects} of {check.answers} answers held the JSON asked for",
            "" if whole else "choose a model that answers JSON",
        )
    ]
    reach = "at least" if check.context_is_longest else "about"
    remedy = f"set model.prompt_tokens to {check.prompt_tokens:,}" if check.prompt_tokens else _NO_ROOM
    is_short = not check.context_is_longest
    verdict = FindingLevel.WRONG if not check.prompt_tokens else FindingLevel.NOTE if is_short else FindingLevel.FINE
    detail = f"it reads prompts of {reach} {check.context:,} tokens whole"
    found.append(Finding("model context", verdict, detail, remedy if is_short else ""))
    told = f"found {check.true_accepted} of {check.true_statements} true statements, "
    told += f"and {check.false_accepted} of {check.false_statements} false ones"
    if check.is_unreliable:
        told = "fell for the checks of its reading, twice"
    is_sound = check.mode is VerificationMode.VERIFIED
    found.append(Finding("model reading", FindingLevel.FINE if is_sound else FindingLevel.NOTE, f"it {told}"))
    detail = f"verification = {_MODES[check.mode]}"
    found.append(Finding("model mode", FindingLevel.FINE if is_sound else FindingLevel.NOTE, detail))
    return found
