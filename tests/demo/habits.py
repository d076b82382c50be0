"""What the scripted model makes of the demo's skills, and of what users did and want."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Said:
    """An entry about something said: an episode or a preference.

    Args:
        content: What it says.
        turns: Beginnings of the turns that it cites.
        quote: Words of one of them.
        event: The type of an episode; None for a preference.
        sentiment: How a preference was voiced; None for an episode.
        permission: Whether acting on a preference takes a person's permission.
    """

    content: str
    turns: tuple[str, ...]
    quote: str
    event: str | None = None
    sentiment: str | None = None
    permission: bool = False


EPISODES = (
    Said(
        content="The turntable goes on the protected list, and the glass cover is approved in principle.",
        turns=("They LOVED it.",),
        quote="The turntable goes on the protected list",
        event="decision",
    ),
    Said(
        content="Barrosa's insurer accepted and pays 3,260 euros for the pump and the conservator.",
        turns=("Two things from today. First, the flood",),
        quote="Barrosa's insurer accepted",
        event="discovery",
    ),
)
PREFERENCES = (
    Said(
        content="The user wants to see the draft first, before anything goes to a client.",
        turns=("I said let me see it!",),
        quote="without showing me the draft first",
        sentiment="irritated",
    ),
    Said(
        content="The user wants to be asked first, before anything is touched at the bank.",
        turns=("NO. I told you last week",),
        quote="nothing at the bank without asking me FIRST",
        sentiment="irritated",
        permission=True,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request that recurs, and the skill that answers it."""

    name: str
    summary: str
    content: str
    turns: tuple[str, ...]


GAP = Request(
    name="permit-checklist",
    summary="Bring the permit checklist of a project up to date",
    content=(
        "1. List what the municipality wants for the project that the user names.\n"
        "2. Mark what is there and what is missing.\n"
        "3. Put in what came in since the last list."
    ),
    turns=(
        "I need a permit checklist for the depot.",
        "Permit checklist for the depot, please update it.",
        "Permit checklist again",
        "Permit checklist please.",
    ),
)


@dataclass(frozen=True, kw_only=True)
class SkillText:
    """A text for the skill of a name; sources other than it are replaced by it."""

    name: str
    summary: str
    content: str
    sources: tuple[str, ...]


MERGED = SkillText(
    name="meeting-notes",
    summary="Write up a meeting or a call so that nobody argues about it later",
    content=(
        "# Meeting notes, minutes of a call\n\n"
        "1. Head: date, time, place, number, who spoke, who was there, who was missing.\n"
        "2. **Decided**: one line per decision, with the name of who decided.\n"
        "3. **Open**: question, owner, date.\n"
        "4. **Next**: date of the next meeting. Agree on the next call before hanging up and write it down.\n"
        "5. Send within 24 hours; anything not objected to in 5 days counts as agreed.\n"
        "6. If somebody gave a number (price, area, date), read it back in the call and write "
        '"read back" beside it.\n\n'
        "Leave, keep opinions out. Quote only what somebody asked to have quoted."
    ),
    sources=("meeting-notes", "call-minutes"),
)
EXPANDED = SkillText(
    name="travel/compare-options",
    summary="Compare ways to travel",
    content=(
        "1. Look up flights or trains for the dates.\n"
        "2. List price and duration of each.\n"
        "3. Recommend one, and say why.\n"
        "4. If nothing goes on these dates, say so and offer the day before and the day after."
    ),
    sources=("travel/compare-options",),
)
