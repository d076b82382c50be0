"""Details that all stand in a source, put together as no source has them."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from dream.guards.specific import Kind, Specific
from dream.guards.specifics import Specifics
from dream.guards.standing import Standing

_Pair = tuple[str, Hashable]
_MOST_PARTNERS: Final = 20


def recombinations(ours: Standing, theirs: Standing, merged: Specifics, sources: Sequence[Specifics]) -> list[Specific]:
    """Return what the merged text put together anew.

    Two things are found. Names joined from two: of Ana Silva and Rui Costa, Ana Costa; only where the sources show
    both halves with another partner, so that a name told in two parts (`Dr. Silva`, `Ana Silva`) may be put
    together. And an exchange: where `Ravi is 34, Meera is 29` became `Ravi is 29, Meera is 34`.
    """
    names = {str(item.key) for found in (*sources, merged) for item in found.of(Kind.NAME)}
    firsts = {one for one, _ in theirs.pairs if one in names}
    lasts = {other for _, other in theirs.pairs if other in names}
    joined = sorted(pair for pair in ours.pairs - theirs.pairs if pair[0] in firsts and pair[1] in lasts)
    return [
        *(Specific(Kind.NAME, f"{one} {other}".title(), (one, other)) for one, other in joined),
        *_exchanged(merged, sources),
    ]


def _exchanged(merged: Specifics, sources: Sequence[Specifics]) -> list[Specific]:
    told = dict.fromkeys((name, item.key) for found in sources for name, item in found.bound)
    fresh = {(name, item.key): item for name, item in merged.bound if (name, item.key) not in told}
    names, values = _partners(told)
    return [
        Specific(item.kind, f"{name.title()}: {item.text}", (name, value))
        for (name, value), item in fresh.items()
        if any(
            (other, mine) in fresh
            for other in values[value][:_MOST_PARTNERS]
            for mine in names[name][:_MOST_PARTNERS]
            if other != name and mine != value
        )
    ]


def _partners(told: Iterable[_Pair]) -> tuple[defaultdict[str, list[Hashable]], defaultdict[Hashable, list[str]]]:
    names: defaultdict[str, list[Hashable]] = defaultdict(list)
    values: defaultdict[Hashable, list[str]] = defaultdict(list)
    for name, value in told:
        names[name].append(value)
        values[value].append(name)
    return names, values
