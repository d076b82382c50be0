"""Which refused texts are kept for people to read."""

from collections.abc import Sequence

from agentcore.domain.text import fold_key
from agentcore.stores.storage import UnitOfWork
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.refused import RefusedText
from dream.guards.secrets import secret_in

_NEVER = frozenset({Refused.SECRET, Refused.FORGOTTEN})


def kept_texts(unit: UnitOfWork, pass_name: str, refused: Sequence[Refusal]) -> list[RefusedText]:
    """Return the texts among refusals that may be kept: of the others the report has the code.

    No secret is kept, nothing that a person asked to forget, and nothing that cites what is gone, or may not be learnt
    from any more.
    """
    told = [one for one in refused if one.text and one.code not in _NEVER and secret_in(one.text) is None]
    if not told:
        return []
    forgotten = unit.forgotten.contains({fold_key(one.text) for one in told})
    there = _present(unit, sorted({record_id for one in told for record_id in one.cites}))
    return [
        RefusedText(
            pass_name=pass_name,
            code=one.code,
            detail=one.detail,
            # What databases cannot store.
            text=one.text.encode("utf-8", "replace").decode().replace("\0", "\ufffd"),
            cites=one.cites,
            refused_at=unit.now,
        )
        for one in told
        if fold_key(one.text) not in forgotten and there.issuperset(one.cites)
    ]


def _present(unit: UnitOfWork, record_ids: Sequence[str]) -> set[str]:
    view = unit.learnable
    stores = (view.turns, view.entries, view.feedback, view.skills)
    return {record.id for store in stores for record in store.get_many(record_ids)}
