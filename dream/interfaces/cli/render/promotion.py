"""Why entries are promoted, or are not."""

from dream.domain.candidate import Candidate, PromotionStanding
from dream.domain.reasons import Refused
from dream.interfaces.cli.render.line import Line, Lines, Tone, numbers_table, paragraph
from dream.interfaces.cli.render.reasons import explained
from dream.interfaces.cli.render.text import counted, one_line, when
from dream.interfaces.cli.session import Session

_ALREADY = {
    "already_said": "MEMORY.md says it already",
    "not_active": "it is set aside",
}


def promotion_lines(session: Session, standing: PromotionStanding) -> Lines:
    """Yield how promotion stands, and each candidate with its score and gates."""
    recalled = counted(standing.recalled, "entry was", "entries were")
    yield from paragraph(f"{recalled} recalled, {standing.promoted:,} promoted so far.", session.screen.width)
    for gate in standing.unreachable:
        told = f"No entry meets {gate.name}: the most is {gate.has:g}, and {gate.needs:g} is asked for."
        yield from paragraph(told, session.screen.width, tone=Tone.WARNING)
    for candidate in standing.candidates:
        yield Line("")
        yield from _candidate_lines(candidate, session.screen.width)


def _candidate_lines(candidate: Candidate, width: int) -> Lines:
    yield from paragraph(one_line(candidate.content), width, first=f"{candidate.entry_id}  ", tone=Tone.TITLE)
    yield from paragraph(_verdict(candidate), width, first="  ")
    rows = [["", "value", "weight"]]
    rows += [[name, f"{value:.3f}", f"{weight:.2f}"] for name, (value, weight) in candidate.components.items()]
    if candidate.components:
        yield from numbers_table([*rows, ["score", f"{candidate.score:.3f}", ""]], 1)
    for gate in candidate.gates:
        mark, tone = ("met", Tone.FAINT) if gate.is_met else ("missing", Tone.WARNING)
        yield Line(f"  {mark:8}{gate.name}: {gate.has:.4g} of {gate.needs:.4g}", tone)


def _verdict(candidate: Candidate) -> str:
    if candidate.promotion is not None:
        return f"promoted on {when(candidate.promotion.promoted_at)} by run {candidate.promotion.run_id}"
    if candidate.barred == Refused.AWAITS_REVIEW:
        return f"not yet: {explained(candidate.barred)}"
    if candidate.barred is not None:
        return f"never: {_ALREADY.get(candidate.barred) or explained(candidate.barred)}"
    if not candidate.components:
        return "never recalled"
    if candidate.is_chosen:
        return "the next sweep promotes it"
    missing = [gate.name for gate in candidate.gates if not gate.is_met]
    return f"not yet: {', '.join(missing)}" if missing else "meets every gate; better ones go first"
