"""Rewrites of skills are read a second time: what words do not tell, a reader who did not write them does."""

from typing import Any

import pytest
from dreaming import World, codes
from rereading import statements
from skilled import Library, Reply, handle_of, turn_of

from agentcore.domain import FeedbackKind
from dream.domain import Skip
from dream.options import VerificationMode

RELEASE = (
    "1. Turn the alarms off.\n2. Stop the app.\n3. Back up the shop database.\n"
    "4. Start the app if the backup is whole.\n5. Never release on a Friday: nobody is there to help.\n"
    "6. Turn the alarms on."
)
BACKING, STOPPING = "Back up the shop database", "Stop the app"
FAULTS = {
    "the order of steps turned": (f"2. {STOPPING}.\n3. {BACKING}.", f"2. {BACKING}.\n3. {STOPPING}."),
    "a warning dropped": ("5. Never release on a Friday: nobody is there to help.\n", ""),
    "an opposite": ("6. Turn the alarms on.", "6. Turn the alarms off."),
    "a denial lost": ("Never release", "Release"),
    "a condition dropped": (" if the backup is whole", ""),
    "a step made up": ("6. Turn the alarms on.", "6. Turn the alarms on.\n7. Tell everybody."),
    "what must be done may be done": ("3. Back up", "3. You may back up"),
}
REWORDINGS = {
    "whole sentences for a list": (
        "Turn the alarms off, stop the app, then back up the shop database. Only a whole backup lets the app start. "
        "As nobody could help, no release on Fridays. At the end the alarms go on again."
    ),
    "another numbering": RELEASE.replace("1. ", "(1) ").replace("2. ", "2) "),
    "headings": f"# Release\n\n{RELEASE}",
}


@pytest.fixture
def library(world: World) -> Library:
    return Library(world)


def rewriting(name: str, content: str, summary: str = "How to do release") -> Reply:
    """Rewrite one skill."""

    def reply(prompt: str) -> dict[str, Any]:
        item = {"name": name, "summary": summary, "content": content, "sourceNames": [handle_of(prompt, name)]}
        return {"toSave": [item | {"seeAlso": []}], "toDelete": []}

    return reply


async def two_skills(library: Library) -> Any:
    await library.skill("other", "1. Water the plants.")
    return await library.skill("release", RELEASE)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("pass_name", ["consolidate", "optimize"])
async def test_no_fault_is_proven_by_words_and_a_reader_who_sees_it_stops_it(
    library: Library, fault: str, pass_name: str
):
    before = await two_skills(library)
    await library.used("release", "s1")
    await library.feedback("s1", FeedbackKind.THUMBS_DOWN, "It took too long.")
    library.denies = lambda *_: True
    done = await getattr(library, pass_name)(rewriting("release", RELEASE.replace(*FAULTS[fault])))
    assert (codes(done)[0] in {"denied", "invented_detail"}, await library.get(before)) == (True, before)


@pytest.mark.parametrize("words", REWORDINGS)
async def test_an_honest_rewording_is_taken_as_it_was_read(library: Library, words: str):
    before = await two_skills(library)
    done = await library.consolidate(rewriting("release", REWORDINGS[words]))
    assert (codes(done), (await library.get(before)).content) == ([], REWORDINGS[words])


async def test_the_reader_is_shown_whole_skills_step_by_step_and_not_who_asked_for_what(library: Library):
    await two_skills(library)
    await library.consolidate(rewriting("release", REWORDINGS["headings"]))
    (question,) = library.reread
    told = [(text, evidence) for _, text, evidence in statements(question)]
    steps = RELEASE
    for number in range(1, 7):
        steps = steps.replace(f"{number}. ", "- ", 1)
    head = "# release\n> How to do release\n"
    assert (f"{head}# Release\n\n{steps}", [f"{head}{steps}"]) in told
    assert "better" not in question


async def test_new_numbers_alone_need_no_reading(library: Library):
    before = await two_skills(library)
    done = await library.consolidate(rewriting("release", REWORDINGS["another numbering"]))
    assert (codes(done), library.reread) == ([], [])
    assert (await library.get(before)).content == REWORDINGS["another numbering"]


@pytest.mark.parametrize(
    "said", ["Do not turn the alarms off!", "I was not paged, and lost a night.", "Wrong first step."]
)
async def test_a_wrong_step_may_go_though_the_correction_does_not_quote_it(library: Library, said: str):
    before = await library.skill("release", f"1. Run `alarms --off --all`.\n{RELEASE}")
    await library.used("release", "s1")
    await library.feedback("s1", summary=said)
    done = await library.optimize(rewriting("release", RELEASE))
    assert (codes(done), (await library.get(before)).content) == ([], RELEASE)


async def test_a_denied_rewrite_is_put_right_once_with_the_words_of_the_reader(library: Library):
    before = await two_skills(library)
    library.denies = lambda text, _: "Friday" not in text
    lossy = RELEASE.replace(*FAULTS["a warning dropped"])
    better = REWORDINGS["headings"]
    done = await library.consolidate(rewriting("release", lossy), rewriting("release", better))
    assert (codes(done), (await library.get(before)).content, done.calls) == ([], better, 4)
    assert "reason=denied" in library.prompts[1]


@pytest.mark.parametrize("pass_name", ["consolidate", "optimize"])
@pytest.mark.parametrize("is_approved", [True, False])
async def test_in_the_mode_strict_a_person_decides_about_a_rewrite(
    library: Library, pass_name: str, *, is_approved: bool
):
    before = await two_skills(library)
    await library.used("release", "s1")
    await library.feedback("s1", FeedbackKind.THUMBS_DOWN, "It took too long.")
    library.world.options = library.world.options.replace(verification=VerificationMode.STRICT)
    done = await getattr(library, pass_name)(rewriting("release", REWORDINGS["headings"]))
    assert (codes(done), done.proposed, done.accepted, library.reread) == ([], 1, 0, [])
    assert await library.get(before) == before
    dreams = library.world.dreams
    (waiting,) = await dreams.proposals()
    await (dreams.approve if is_approved else dreams.reject)([waiting.proposal_id])
    content = (await library.get(before)).content
    assert content == (REWORDINGS["headings"] if is_approved else RELEASE)


async def test_without_a_second_reading_what_words_do_not_prove_leaves_the_skill_as_it_is(library: Library):
    before = await two_skills(library)
    library.world.options = library.world.options.replace(verification=VerificationMode.OFF)
    done = await library.consolidate(rewriting("release", REWORDINGS["headings"]))
    assert (codes(done), library.reread, await library.get(before)) == (["unverified"], [], before)
    await library.pass_time(days=8)
    await library.consolidate(rewriting("release", REWORDINGS["another numbering"]))
    assert (await library.get(before)).content == REWORDINGS["another numbering"]


async def test_what_could_not_be_read_waits_and_is_not_asked_for_again(library: Library):
    before = await two_skills(library)
    library.is_reading = False
    done = await library.consolidate(rewriting("release", REWORDINGS["headings"]))
    assert (codes(done), await library.get(before)) == (["call_failed", "unverified"], before)
    library.is_reading = True
    again = await library.consolidate()
    assert (codes(again), library.prompts, len(library.reread)) == ([], [], 1)
    assert (await library.get(before)).content == REWORDINGS["headings"]
    assert (await library.consolidate()).reason == Skip.NO_WORK


async def test_a_new_skill_that_says_what_no_user_asked_for_is_not_written(library: Library):
    await library.said("s1", "Send the report to Ana, never to the whole team.")
    await library.said("s2", "The report for Ana again, please.")

    def reply(prompt: str) -> dict[str, Any]:
        cited = [turn_of(prompt, "never to"), turn_of(prompt, "again")]
        made = {
            "name": "report",
            "summary": "Send the report",
            "content": "1. Write it.\n2. Send it to the whole team.",
        }
        return {"toSave": [made | {"sourceTurns": cited}]}

    library.denies = lambda text, told: "whole team" in text and "never" in told
    done = await library.gaps(reply)
    assert (codes(done), await library.names()) == (["denied"], [])
    assert " adds:" in library.reread[0]
