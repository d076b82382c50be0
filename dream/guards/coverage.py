"""Specifics are conserved: what the sources say stands in the merged text, and what it says stands in a source."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dream.guards.limits import turned_limits
from dream.guards.polarity import denied_only
from dream.guards.rare_terms import DocumentFrequency
from dream.guards.recombination import recombinations
from dream.guards.specific import Kind, Specific, distinct
from dream.guards.specifics import Beside, Specifics, extract
from dream.guards.standing import Standing
from dream.guards.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a merged text lost and what it made up; both empty means that it is faithful.

    Args:
        lost: Details of the sources that do not stand in the merged text, in the order of the sources.
        invented: Details of the merged text that stand in no source, in its own order.
    """

    lost: tuple[Specific, ...] = ()
    invented: tuple[Specific, ...] = ()

    @property
    def faithful(self) -> bool:
        """Nothing was lost and nothing invented."""
        return not self.lost and not self.invented


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """An old text that the merged one takes the place of, instead of repeating it.

    Args:
        content: The old text.
        is_older: Whether the merged text is from a later time, or about one.
        correction: The text that corrects it, which the model cited and the host found; None if none was.
    """

    content: str
    is_older: bool = True
    correction: str | None = None


def coverage(
    sources: Sequence[str],
    merged: str,
    vocabulary: Vocabulary,
    *,
    category: str | None = None,
    document_frequency: DocumentFrequency | None = None,
    superseded: Iterable[Superseded] = (),
) -> Coverage:
    """Compare a merged text with its sources, both ways.

    A superseded text need not be repeated if it is the older one, or if a correction is cited: then
    that correction must be covered in its place. Otherwise it counts as a source. What it says is never invented.

    Args:
        sources: The texts that were merged.
        merged: What the model made of them.
        vocabulary: Which words are ordinary.
        category: Category of the merged entry; some are exempt from the comparison of numbers.
        document_frequency: How many entries hold a term of the recall index.
        superseded: Texts whose old value gives way.

    Example:
        >>> from dream.guards.vocabulary import builtin
        >>> told = coverage(["Ana got two cats in 2019.", "Ana is from Porto."], "Ana of Porto has 3 cats.", builtin())
        >>> [str(detail) for detail in told.lost]
        ["number 'two'", "number '2019'"]
    """
    demanded, backing = _roles(sources, superseded)
    everything = [*demanded, *backing]
    numbers = vocabulary.numbers_matter(category)

    beside = Beside.of([merged, *everything])

    def details(text: str) -> Specifics:
        return extract(text, vocabulary, document_frequency, beside=beside)

    merged_details, told = details(merged), [details(text) for text in demanded]
    ours, theirs = Standing([merged], [merged_details], vocabulary), Standing(demanded, told, vocabulary)
    wanted = _compared((detail for found in told for detail in found), numbers=numbers)
    lost = [detail for detail in wanted if not ours.holds(detail)]
    claimed = _compared(merged_details, numbers=numbers)
    if backing and not _stands_whole(claimed, merged_details.bound, ours, theirs, told):
        told += [details(text) for text in backing]
        theirs = Standing(everything, told, vocabulary)
    invented = [detail for detail in claimed if not theirs.holds(detail)]
    lost += denied_only(demanded, [merged])
    invented += denied_only([merged], demanded, backing)
    if numbers:
        invented += turned_limits(merged, [*demanded, *backing])
    invented += recombinations(ours, theirs, merged_details, told)
    return Coverage(distinct(lost), distinct(invented))


def _stands_whole(
    claimed: Sequence[Specific],
    bound: Iterable[tuple[str, Specific]],
    ours: Standing,
    theirs: Standing,
    told: Sequence[Specifics],
) -> bool:
    """Tell whether the sources alone hold all that a text says, and as it says it: then no more texts are asked."""
    known = {(name, item.key) for found in told for name, item in found.bound}
    return (
        ours.pairs <= theirs.pairs
        and all((name, item.key) in known for name, item in bound)
        and all(map(theirs.holds, claimed))
    )


def _roles(sources: Sequence[str], superseded: Iterable[Superseded]) -> tuple[list[str], list[str]]:
    """Split the texts into those that must be covered and those that only back the merged text up."""
    demanded, backing = list(dict.fromkeys(sources)), list[str]()
    for old in superseded:
        if old.correction is not None:
            demanded.append(old.correction)
            backing.append(old.content)
        elif old.is_older:
            backing.append(old.content)
        else:
            demanded.append(old.content)
    return demanded, backing


def _compared(details: Iterable[Specific], *, numbers: bool) -> list[Specific]:
    return [
        detail for detail in details if detail.kind is not Kind.NEGATION and (numbers or detail.kind is not Kind.NUMBER)
    ]
