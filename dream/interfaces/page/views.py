"""Reads what each view shows, over REST."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from dream.interfaces.likeness_words import LIKENESS_WORDS, told_whole
from dream.interfaces.page.api_calls import ApiCalls, RefusedCallError
from dream.interfaces.page.configuration import directives, settings
from dream.interfaces.page.lineage import lineage
from dream.interfaces.page.month import month
from dream.interfaces.page.rendering import Rendering, Shown, View, amount

_PAGE: Final = 50
_RUNS: Final = 30
_MOST_SESSIONS: Final = 500
_LOOKED_AT: Final = 200
"""Runs among which the undo of another is looked for."""
_MOST_UNDONE: Final = 1_000
"""Changes of an undo that are looked at, to tell which of a run stand no longer."""
_SHOWN: Final = 50
"""Texts that are shown of what a forget removes."""
_MEMORIES: Final = ("fragment", "fact")
"""What Dense-Mem's names for memories are."""
_PLOTTED: Final = timedelta(days=90)


async def overview(api: ApiCalls, shown: Shown) -> Rendering:
    """Last night in sentences, what waits, and what it costs."""
    if shown.rest == "plots":
        return await _plots(api, shown)
    since = (shown.now - _PLOTTED).isoformat()
    status, runs, usage, questions, proposals = await asyncio.gather(
        api.get("/status"),
        api.get("/runs", limit=_RUNS),
        api.get("/usage", since=since, by="day"),
        api.get("/questions"),
        api.get("/proposals"),
    )
    dreams = [run for run in runs["runs"] if run["kind"] == "dream"]
    last = next((run for run in dreams if run["changes"] or in_sentences(run)), dreams[0] if dreams else None)
    return Rendering(
        "overview.html",
        {
            "status": status,
            "last": last,
            "told": [] if last is None else in_sentences(last, proposals["proposals"]),
            "since": 0 if last is None else dreams.index(last),
            "usage": usage,
            "questions": questions["questions"],
            "proposals": proposals["proposals"],
        },
    )


async def _plots(api: ApiCalls, shown: Shown) -> Rendering:
    """Return what the overview fetches after it is shown, because counting a large memory takes a while."""
    since = (shown.now - _PLOTTED).isoformat()
    growth, usage, dreams = await asyncio.gather(
        api.get("/growth"),
        api.get("/usage", since=since, by="day"),
        api.get("/schedule/timeline", since=since, until=(shown.now + timedelta(days=1)).isoformat()),
    )
    held, total = dict[str, int](), 0
    for row in growth["days"]:
        total += row["memories"]
        held[row["day"]] = total
    changed = Counter[str]()
    for one in dreams["past"]:
        changed[one["started_at"][:10]] += one["changes"]
    tokens = {str(row["day"]): row["input_tokens"] + row["output_tokens"] for row in usage["usage"]}
    calls = {str(row["day"]): row["calls"] for row in usage["usage"]}
    tenths = [list(range(len(growth["importance"]))), growth["importance"]]
    plots = [
        {"title": "Memories", "points": _points(held)},
        {"title": "Memories by importance, 0 to 1", "points": orjson.dumps(tenths).decode(), "kind": "bars"},
        {"title": "Tokens a day", "points": _points(tokens)},
        {"title": "Calls of the model a day", "points": _points(calls)},
        {"title": "Changes by dreams a day", "points": _points(changed)},
    ]
    return Rendering("plots.html", {"plots": plots})


def _points(values: Mapping[str, int]) -> str:
    """Return a plot's points as JSON: seconds, and values, in order."""
    days = sorted(values)
    at = [datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp() for day in days]
    return orjson.dumps([at, [values[day] for day in days]]).decode()


def in_sentences(run: Mapping[str, Any], proposals: Sequence[Mapping[str, Any]] = ()) -> list[str]:
    """Return what a run did, pass by pass, in words, and how much of it still waits among *proposals*."""
    waiting = Counter(one["pass"] for one in proposals if one["run_id"] == run["run_id"])
    told: list[str] = []
    for one in run["passes"]:
        if one["outcome"] == "failed":
            told.append(f"{one['name']} failed: {one['reason']}")
        elif one["accepted"] or one["proposed"] or one["purged"] or one["refused"]:
            parts = [amount({"changes": one["accepted"], "purged": one["purged"]})]
            left = (
                f"{waiting[one['name']]:,} of them for you to decide" if waiting[one["name"]] else "none of them waits"
            )
            parts += [f"{one['proposed']:,} proposed, {left}"] if one["proposed"] else []
            parts += [f"{len(one['refused']):,} refused"] if one["refused"] else []
            told.append(f"{one['name']}: {', '.join(parts)}")
    return told


async def runs(api: ApiCalls, shown: Shown) -> Rendering:
    """All runs, page by page; or one of them."""
    if shown.rest:
        return await _run(api, shown)
    found = await api.get("/runs", limit=_RUNS, cursor=shown.query.get("cursor"))
    return Rendering("runs.html", {"runs": found["runs"], "next": found["next_cursor"]})


async def _run(api: ApiCalls, shown: Shown) -> Rendering:
    run_id, _, part = shown.rest.partition("/")
    wanted, after = shown.query.get("pass", ""), shown.query.get("after", "")
    run, found, others = await asyncio.gather(
        api.get(f"/runs/{run_id}"),
        api.get(f"/runs/{run_id}/changes", **{"pass": wanted}, after=after, limit=_PAGE + 1),
        api.get("/runs", limit=_LOOKED_AT),
    )
    undone = [one for one in others["runs"] if one["target"] == run["run_id"] and one["changes"]]
    rows = found["changes"][:_PAGE]
    more = rows[-1]["number"] if len(found["changes"]) > _PAGE else None
    template = "undo.html" if part == "undo" else "run.html"
    values = {"run": run, "wanted": wanted, "after": after, "rows": rows, "more": more, "undone": undone}
    taken_back = set[int]() if part == "undo" else await _taken_back(api, run, rows, others["runs"])
    return Rendering(template, {**values, "taken_back": taken_back, "texts": await _successors(api, rows)})


async def _successors(api: ApiCalls, rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the texts of what took the place of changed memories, by id."""
    images = [image for row in rows for image in (row["before"], row["after"]) if image]
    named = dict.fromkeys(image["successor"] for image in images if image.get("successor"))
    return dict(await asyncio.gather(*(api.text_of(one) for one in named)))


async def _taken_back(api: ApiCalls, run: Mapping[str, Any], rows: list[Any], runs: list[Any]) -> set[int]:
    """Return the numbers of a run's changes that an undo took back and that no undo of that undo made again."""
    numbers = set[int]()
    for undo in runs:
        if undo["kind"] != "undo" or undo["target"] != run["run_id"] or not undo["changes"]:
            continue
        found = (await api.get(f"/runs/{undo['run_id']}/changes", limit=_MOST_UNDONE))["changes"]
        made_again = await _taken_back(api, undo, found, runs)
        back = {(one["kind"], one["id"], str(one["after"])) for one in found if one["number"] not in made_again}
        numbers |= {row["number"] for row in rows if (row["kind"], row["id"], str(row["before"])) in back}
    return numbers


async def review(api: ApiCalls, _: Shown) -> Rendering:
    """The queue of what waits for a person."""
    found = await api.get("/proposals")
    rows = [row for one in found["proposals"] for row in one["changes"]]
    return Rendering("review.html", {**found, "texts": await _successors(api, rows)})


async def questions(api: ApiCalls, shown: Shown) -> Rendering:
    """What only a person can answer, its members side by side."""
    state = shown.query.get("state", "open")
    return Rendering("questions.html", {**await api.get("/questions", state=state), "state": state})


async def memories(api: ApiCalls, shown: Shown) -> Rendering:
    """Memories as recall ranks them for a question, or the latest; or one of them with its history."""
    if shown.rest:
        return await _memory(api, shown)
    asked = shown.query.get("q", "").strip()
    status = shown.query.get("status", "active")
    filters = {name: shown.query.get(name, "") for name in ("category", "about")}
    hits: list[Any] = []
    listed: dict[str, Any] = {"memories": [], "next_cursor": None}
    if asked:
        found = await api.get(
            "/memories/search",
            query=asked,
            k=_PAGE,
            category=filters["category"],
            about=filters["about"],
            explain=shown.query.get("explain"),
        )
        hits = found["hits"]
    else:
        listed = await api.get(
            "/memories",
            limit=_PAGE,
            category=filters["category"],
            status=status,
            cursor=shown.query.get("cursor"),
        )
    template = "memory_list.html" if "part" in shown.query else "memories.html"
    values = {"asked": asked, "status": status, "filters": filters, "hits": hits}
    return Rendering(template, {**values, "memories": listed["memories"], "next": listed["next_cursor"]})


async def _memory(api: ApiCalls, shown: Shown) -> Rendering:
    memory_id, _, part = shown.rest.partition("/")
    why = await api.get(f"/memories/{memory_id}/why")
    if part == "forget":
        gone = await api.get(f"/memories/{memory_id}/forgetting")
        going = await asyncio.gather(*(api.text_of(one) for one in gone["removed"][:_SHOWN]))
        back = await asyncio.gather(*(api.text_of(one) for one in gone["restored"]))
        listed = {*gone["removed"], *gone["withheld"]}
        besides = [one for one in gone["restatements"] if one["id"] not in listed]
        words = {"likeness": LIKENESS_WORDS, "told_whole": told_whole}
        values = {"memory": why["entry"], "gone": gone, "going": going, "back": back, "besides": besides, **words}
        return Rendering("forget.html", values)
    memory, tag = await api.get_with_tag(f"/memories/{memory_id}")
    return Rendering("memory.html", {"memory": memory, "tag": tag, "why": why, "lineage": lineage(memory, why)})


async def peers(api: ApiCalls, _: Shown) -> Rendering:
    """The card, and what was concluded about whom the memory is about."""
    card, found = await asyncio.gather(api.get("/card"), api.get("/memories", limit=500))
    concluded = [one for one in found["memories"] if one["level"] in ("deductive", "inductive")]
    return Rendering("peers.html", {"card": card, "concluded": concluded})


async def hypotheses(api: ApiCalls, shown: Shown) -> Rendering:
    """What may be so: unproven, and no memories."""
    status = shown.query.get("status", "")
    found, claims = await asyncio.gather(
        api.get("/dreams", limit=_PAGE, status=status, cursor=shown.query.get("cursor")),
        api.get("/claims"),
    )
    return Rendering(
        "hypotheses.html",
        {
            "hypotheses": found["data"]["items"],
            "next": found["data"]["next_cursor"],
            "status": status,
            "claims": claims["claims"][-_PAGE:][::-1],
            "texts": await _sources(api, found["data"]["items"]),
        },
    )


async def _sources(api: ApiCalls, items: list[Any]) -> dict[str, str]:
    """Return the texts of the memories that hypotheses rest on, of the first ones alone."""
    named = dict.fromkeys(ref["id"] for one in items for ref in one["source_refs"] if ref["type"] in _MEMORIES)
    return dict(await asyncio.gather(*(api.text_of(one) for one in list(named)[:_SHOWN])))


async def skills(api: ApiCalls, shown: Shown) -> Rendering:
    """The catalogue; or one skill with its versions."""
    if not shown.rest:
        return Rendering("skills.html", await api.get("/skills"))
    skill, history, told = await asyncio.gather(
        api.get(f"/skills/{shown.rest}"),
        api.get(f"/skill-history/{shown.rest}"),
        api.get(f"/skill-versions/{shown.rest}"),
    )
    return Rendering("skill.html", {"skill": skill, "history": history, "versions": told["versions"]})


async def documents(api: ApiCalls, shown: Shown) -> Rendering:
    """MEMORY.md and DREAMS.md."""
    name = shown.rest or "MEMORY.md"
    try:
        found = await api.get(f"/documents/{name}")
    except RefusedCallError as error:
        # Without a workspace there are no documents; that is no fault of the address.
        if error.problem.get("code") != "service_missing":
            raise
        found = {"name": name, "text": "", "missing": str(error)}
    return Rendering("documents.html", {"document": found, "names": ("MEMORY.md", "DREAMS.md")})


async def schedule(api: ApiCalls, shown: Shown) -> Rendering:
    """When the next dream is due, what holds it back, and a month of dreams that were and are to come."""
    status, calendar = await asyncio.gather(
        api.get("/status"),
        month(api, shown.query.get("month", ""), shown.now),
    )
    gates = sorted(status["schedule"]["gates"], key=lambda gate: gate["open"])
    values = {"told": status["schedule"], "month": calendar, "status": status, "gates": gates}
    return Rendering("schedule.html", values)


async def sessions(api: ApiCalls, shown: Shown) -> Rendering:
    """Conversations, and dreams as conversations; or one of them with its turns."""
    if not shown.rest:
        most = int(shown.query["most"]) if shown.query.get("most", "").isdecimal() else _PAGE
        found = await api.get("/conversations", limit=min(most, _MOST_SESSIONS))
        return Rendering("sessions.html", {**found, "more": most + 200 if len(found["sessions"]) == most else 0})
    found = await api.get(f"/conversations/{shown.rest}/turns", limit=500)
    return Rendering(
        "session.html", {"session": shown.rest, "turns": found["turns"][::-1], "next": found["next_cursor"]}
    )


async def nowhere(api: ApiCalls, shown: Shown) -> Rendering:  # noqa: ARG001 - as all views
    """Refuse what is no view."""
    raise RefusedCallError({"status": 404, "detail": "There is no such view."})


VIEWS: Final[Mapping[str, View]] = {
    "overview": overview,
    "runs": runs,
    "review": review,
    "questions": questions,
    "memories": memories,
    "peers": peers,
    "hypotheses": hypotheses,
    "skills": skills,
    "documents": documents,
    "schedule": schedule,
    "directives": directives,
    "sessions": sessions,
    "settings": settings,
}
