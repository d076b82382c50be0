"""Ten days of one host: talk, questions, skills, wisps and signals by day, and a dream each evening."""

from datetime import timedelta
from typing import Any

from agentcore import Host
from tests.oracle.life import START, Life

DAYS = 10
_SAID = (
    ("I moved to Braga in May.", "My sister Rita lives in Porto.", "Can you write a packing list for Porto?"),
    ("I play the cello on Mondays.", "We decided to keep the car until winter.", "What is the weather?"),
    ("My dentist is Dr. Lopes.", "Too long. Shorter answers please.", "I need a packing list for the Berlin trip."),
    ("Our budget for the roof is fixed.", "I am allergic to hazelnuts.", "Again: we keep the car until winter."),
    ("I play the cello on Mondays and Thursdays.", "No, that is wrong, Rita lives in Porto.", "Shorter, please."),
    ("We decided to sell the car.", "I changed the dentist, I go to Dr. Faria now.", "And the train to Porto?"),
    ("My office key hangs behind the kitchen door.", "Never book anything without asking me!", "Thanks."),
    ("Our roof is being repaired by Bo Berg.", "I carry an EpiPen for the hazelnuts.", "Good night."),
    ("My sister Rita moved to Faro.", "We sold the car to Bo Berg.", "A packing list for Faro please, papers first."),
    ("I play the viola instead of the cello.", "Our roof is done.", "What do you know of Rita?"),
)
_ASKED = ("where does Rita live", "when does Ana play the cello", "what is Ana allergic to", "who repairs the roof")
_REMEMBERED = (
    "The office key hangs behind the kitchen door.",
    "The office key hangs behind the kitchen door, on a hook.",
    "the office key hangs behind the kitchen door",
    "Rent is 900 euros a month.",
    "Bo Berg repairs roofs in Braga.",
    "Bo Berg from Braga repairs roofs and gutters.",
    "Rent is 950 euros a month instead of 900 euros.",
    "Ana was in a bad mood.",
    "The train to Porto leaves at 8:15.",
    "The train to Porto leaves at 8:15 from platform 3.",
)


async def ten_days(life: Life) -> None:
    """Live ten days, with one dream undone, one entry forgotten and one plan on the way."""
    life.has_workspace = True
    (life.workspace / "MEMORY.md").write_text("# MEMORY.md\n\n- Ask before you book anything.\n", encoding="utf-8")
    async with life.host() as host:
        await host.skills.save(
            name="mail/send", summary="Send a mail", content="1. Draft the mail.\n2. Send it with `mail send`."
        )
        await host.skills.save(
            name="mail/digest", summary="Sum up the inbox", content="1. Fetch the mail.\n2. Put invoices first."
        )
        await host.skills.save(
            name="mail/summary", summary="Sum up the inbox", content="1. Fetch the mail.\n2. Write five bullets."
        )
    for day in range(DAYS):
        async with life.host() as host:
            await _by_day(life, host, day)
        async with life.host() as host:
            await _in_the_afternoon(life, host, day)
        life.later(hours=8)
        report = await life.dream()
        if day == 5:
            async with life.host() as host:
                await host.dreams.undo(report.run_id)
        life.clock.set(START + (day + 1) * timedelta(days=1))


async def _by_day(life: Life, host: Host, day: int) -> None:
    await life.say(host, f"talk{day}", *_SAID[day], "assistant: Noted.")
    await host.memory.remember(_REMEMBERED[day], category="home")
    for question in _ASKED:
        await host.memory.recall(question, 3, session_id=f"talk{day}")
    context = await host.context.for_turn(f"talk{day}", _ASKED[day % len(_ASKED)], budget_tokens=400)
    life.note(day=day, context=context.text)


async def _in_the_afternoon(life: Life, host: Host, day: int) -> None:
    session = f"work{day}"
    await host.skills.use("mail/send", session_id=session)
    if day in (1, 2, 7):
        said = "It went out before I had seen it."
        await host.feedback.append(session_id=session, kind="correction", summary=said)
    succeeded = day % 2 == 1
    failure: dict[str, Any] = {
        "failed_step_id": "send",
        "failure_category": "structural",
        "error_message": "mail.send wants an address",
    }
    await host.wisps.append(
        wisp_id="send-weekly-mail",
        description="send the weekly mail",
        definition_hash="weekly",
        succeeded=succeeded,
        step_count=2,
        steps_completed=2 if succeeded else 1,
        duration_ms=900,
        session_id=session,
        **({} if succeeded else failure),
    )
    if day == 6:
        rent = next(one for one in await host.memory.list() if one.content.startswith("Rent is 900"))
        gone = await host.memory.forget(rent.id)
        life.note(day=day, removed=list(gone.removed), restored=list(gone.restored))
    if day == 8:
        plan = await host.dreams.plan()
        life.note(day=day, plan=plan.to_json())
