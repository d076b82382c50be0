"""Shows what the model is told, and what was found of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentcore.llm.chat import estimate_tokens
from dream.cycle.forecast import DirectiveForecast
from dream.directives import Directive, DirectiveLibrary, KnownDirective
from dream.domain.finding import Finding
from dream.errors import InvalidDirectiveError
from dream.interfaces.cli.render.status import finding_lines
from dream.interfaces.cli.render.text import Line, Lines, Tone, counted, encodable, one_line, paragraph
from dream.interfaces.cli.session import CommandSession


@dataclass(frozen=True, slots=True)
class Listed:
    """A directive in the list: its text in force, or why there is none."""

    name: str
    known: KnownDirective
    directive: Directive | None
    problem: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return plain JSON values."""
        known = self.known
        text = directive_json(self.directive) if self.directive else {"path": None, "hash": None, "tokens": None}
        text.pop("text", None)
        return {
            **text,
            "name": self.name,
            "purpose": known.purpose,
            "passes": list(known.passes),
            "problem": self.problem and encodable(self.problem),
        }


def listed(library: DirectiveLibrary) -> list[Listed]:
    """Return every directive of a library."""
    return [_listed(library, name) for name in library.known]


def _listed(library: DirectiveLibrary, name: str) -> Listed:
    known = library.known[name]
    try:
        return Listed(name, known, library.read([name])[name])
    except InvalidDirectiveError as error:
        return Listed(name, known, None, str(error))


def directive_json(directive: Directive) -> dict[str, object]:
    """Return a directive as people's JSON shows it; the path of a built-in one is null."""
    return {
        "name": directive.name,
        "path": None if directive.path is None else encodable(str(directive.path)),
        "hash": directive.hash,
        "tokens": estimate_tokens(directive.text),
        "text": directive.text,
    }


def list_lines(session: CommandSession, found: Sequence[Listed]) -> Lines:
    """Yield each directive with whose words it has, and its readers."""
    width = session.screen.width
    for one in found:
        known = one.known
        yield Line(one.name, Tone.TITLE)
        yield from paragraph(f"{known.purpose} Sent by {', '.join(known.passes)}.", width, first="  ")
        if one.directive is None:
            yield from paragraph(one_line(one.problem or ""), width, first="  ", tone=Tone.REMOVED)
            continue
        origin = "built in" if one.directive.path is None else f"your own, {one.directive.path}"
        origin = "edited for the scope" if one.directive.is_edited else origin
        size = counted(estimate_tokens(one.directive.text), "token")
        yield from paragraph(one_line(f"{origin}, {size}, {one.directive.hash}"), width, first="  ", tone=Tone.FAINT)


def text_lines(directive: Directive) -> Lines:
    """Yield the text alone, so that it can be redirected to a file."""
    for line in directive.text.split("\n"):
        yield Line(line.expandtabs(4))


def ejected_lines(session: CommandSession, directive: Directive, path: Path) -> Lines:
    """Yield where the text was written, and what comes next."""
    yield Line(one_line(f"Wrote {path}: from the next run on it is what {directive.name} says."))
    yield Line(f"Edit it, then: {session.command('directives', 'check')}")


def check_lines(session: CommandSession, findings: Sequence[Finding], forecast: DirectiveForecast | None) -> Lines:
    """Yield what was found, and what a change costs."""
    yield from finding_lines(findings, session.screen.width)
    if forecast is not None and forecast.entries:
        yield from paragraph(_cost(forecast), session.screen.width)


def _cost(forecast: DirectiveForecast) -> str:
    changed = " and ".join(forecast.changed)
    occasion = f"{changed} changed since the last run" if changed else "Should memory-rules or dream change"
    entries = counted(forecast.entries, "reviewed entry is", "reviewed entries are")
    runs, calls, tokens = (
        counted(forecast.runs, "run"),
        counted(forecast.calls, "call"),
        counted(forecast.tokens, "token"),
    )
    return f"{occasion}: at most {entries} looked at again, over {runs}, with about {calls} and {tokens}."
