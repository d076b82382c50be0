"""What the scripted model finds in the demo's conversation, and what it claims to find."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A fact, and beginnings of the turns that it cites."""

    content: str
    category: str
    turns: tuple[str, ...]
    quote: str
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    subject_time: str | None = None


RATE = Fact(
    content="From 1 October 2025 the user charges 72 an hour for new offers; running contracts keep 65 until they end.",
    category="money",
    turns=("11:00 good. Second: from tomorrow",),
    quote="Running contracts keep 65 until they end, new offers 72",
    tags=("rate",),
    importance=0.7,
)
RATE_NOW = Fact(
    content="The depot stays at 65 until the permit, Hartmann phase two is charged at 72.",
    category="money",
    turns=("Exactly. Depot 65",),
    quote="Depot 65 until the permit, Hartmann phase two 72",
    tags=("rate",),
)
MOVE_IN_NOVEMBER = Fact(
    content="Moving day is Saturday 29 November 2025.",
    category="moving",
    turns=("Tomas and I finally sat down about Lisbon.",),
    quote="moving on Saturday 29 November",
    subject_time="2025-11-29",
    importance=0.7,
)
MOVE_IN_JANUARY = Fact(
    content="Moving day is Saturday 10 January 2026 and not 29 November, because Sr. Antunes needs December to redo "
    "the bathroom.",
    category="moving",
    turns=("Sunday planning. Big change first",),
    quote="New date is Saturday 10 January 2026",
    subject_time="2026-01-10",
    importance=0.7,
)
PIT_FILLED = Fact(
    content="The old turntable pit goes and is filled with concrete; that was decided in July.",
    category="projects/tram-depot",
    turns=("And in the drawings the old turntable pit goes",),
    quote="we fill it with concrete",
    tags=("turntable",),
)
PIT_KEPT = Fact(
    content="The turntable is kept: the pit stays open, with walkable glass on top, in the middle of the market hall.",
    category="projects/tram-depot",
    turns=("Thinking about the turntable all weekend.",),
    quote="We keep it. Pit stays open, walkable glass on top",
    tags=("turntable",),
    importance=0.7,
)
HEARING = Fact(
    content="The pre-hearing with Rui Mota is moved from 2 October to Tuesday 14 October 2025, 11:30, at Campo Grande.",
    category="projects/tram-depot",
    turns=("Is the weekly summary mail for Helena ready? And Rui", "Tuesday 14 October, 11:30, same place"),
    quote="Tuesday 14 October, 11:30, same place, Campo Grande",
    subject_time="2025-10-14",
    tags=("permit", "meeting"),
    importance=0.7,
)
MEETING = Fact(
    content="The user meets Rui Mota on Tuesday 14 October 2025 at 11:30.",
    category="projects/tram-depot",
    turns=("Send. Next: Rui Mota on Tuesday at 11:30",),
    quote="Rui Mota on Tuesday at 11:30",
    subject_time="2025-10-14",
    tags=("permit", "meeting"),
)
NO_AM_PM = Fact(
    content="The user wants times in 24 hours everywhere.",
    category="user-preferences",
    turns=("You did the am/pm thing again.",),
    quote="24 hours, everywhere",
    importance=0.7,
)
DRAFT_FIRST = Fact(
    content="Nothing is sent to a client without showing the user the draft first.",
    category="user-preferences",
    turns=("I said let me see it!",),
    quote="You do not send anything to a client without showing me the draft first",
    importance=0.75,
)
TRUE = (
    RATE,
    RATE_NOW,
    MOVE_IN_NOVEMBER,
    MOVE_IN_JANUARY,
    PIT_FILLED,
    PIT_KEPT,
    HEARING,
    MEETING,
    NO_AM_PM,
    DRAFT_FIRST,
    Fact(
        content="Dona Graça paid the invoice of Clínica Foz, 4,850 euros; the money arrived on 6 October 2025.",
        category="money",
        turns=(
            "Invoice reminder for Clínica Foz: cancel it!",
            "Wonderful. Invoice 2025-031",
            "Yes please: for Clínica",
        ),
        quote="Dona Graça paid. 4,850, arrived last night",
        subject_time="2025-10-06",
    ),
    Fact(
        content="For Clínica Foz a reminder is the user calling Dona Graça.",
        category="user-preferences",
        turns=("Wonderful. Invoice 2025-031", "Yes please: for Clínica"),
        quote="for Clínica Foz the reminder is me calling her",
    ),
    Fact(
        content="The assistant does nothing at the bank without asking the user first: no preparing, no standing "
        "orders.",
        category="user-preferences",
        turns=("NO. I told you last week",),
        quote="nothing at the bank without asking me FIRST",
        importance=0.79,
    ),
    Fact(
        content="15:30 to 17:00 on school days is Lia's pickup; nothing is ever booked into that.",
        category="user-preferences",
        turns=("It was NOT free.",),
        quote="15:30 to 17:00 on school days is Lia's pickup",
        importance=0.79,
    ),
    Fact(
        content="The trip to Copenhagen is from 12 to 17 May 2026; the Reuse Forum Nord was moved to 13 to 15 May.",
        category="travel",
        turns=("Copenhagen again.",),
        quote="So we go 12 to 17 May 2026",
        subject_time="2026-05-12..2026-05-17",
    ),
    Fact(
        content="Signe found an apartment in Christianshavn, Wildersgade: two bedrooms, 240 a night, five nights.",
        category="travel",
        turns=("Drop the hotel.",),
        quote="Signe found an apartment in Christianshavn",
    ),
    Fact(
        content="The new budget for Copenhagen is 2,900; Tomas agrees.",
        category="travel",
        turns=("Copenhagen again.", "New budget 2,900."),
        quote="New budget 2,900. Tomas agrees",
    ),
    Fact(
        content="Mudanças Ribeiro moves the user for 1,520, insured, because of the Gaveau.",
        category="moving",
        turns=("1,520, the insured one",),
        quote="1,520, the insured one, because of the Gaveau",
    ),
    Fact(
        content="The depot takes white tiles, of which there are 120 m².",
        category="projects/tram-depot",
        turns=("She answered on the tiles",),
        quote="they have 120 m² of the white ones, so we take those",
    ),
    Fact(
        content="Lia's birthday party is on 15 November 2025: twelve children, a dinosaur cake without hazelnuts.",
        category="people/family",
        turns=("And Lia's birthday party!",),
        quote="twelve children, a dinosaur cake without hazelnuts",
        subject_time="2025-11-15",
    ),
    Fact(
        content="Professora Beatriz does not speak English; the letter to her is written in Portuguese.",
        category="people/family",
        turns=("Right. And professora Beatriz's letter", "Nice. In Portuguese, obviously"),
        quote="In Portuguese, obviously, she doesn't speak English",
    ),
)
"""What people said; each holds up against its turns."""

SECRET = Fact(
    content="The token of FaturaLeve is flv_demo_9b2fe71c04d84a6fa3c5e8d1.",
    category="environment/faturaleve",
    turns=("FaturaLeve wants a new token",),
    quote='FATURALEVE_TOKEN = "flv_demo_9b2fe71c04d84a6fa3c5e8d1"',
)
UNCONFIRMED = Fact(
    content="The design museum in Copenhagen is closed on Mondays.",
    category="travel",
    turns=("Six nights at 189 euros are 1,134 euros",),
    quote="The design museum there is closed on Mondays",
)
MISQUOTED = Fact(
    content="The user moves to Lisbon with a dog.",
    category="people/ines",
    turns=("That one. With the ears.",),
    quote="the dog comes with us to Lisbon",
)
INVENTED = Fact(
    content="The roof glazing costs 41,150 euros and Vidros Tejo delivers it in February 2026.",
    category="projects/tram-depot",
    turns=("So 41,150 it is.",),
    quote="So 41,150 it is. I did request that",
)
FALSE = (SECRET, UNCONFIRMED, MISQUOTED, INVENTED)
"""What a careless model would keep; each is refused for another reason."""
