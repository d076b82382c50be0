"""Does what a person decides on the page, over REST."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from dream.interfaces.page.api_calls import ApiCalls

Form: TypeAlias = Mapping[str, str]


class Done(NamedTuple):
    """What an action did: a sentence, the run that an undo takes back, and where to go if not back."""

    sentence: str
    run_id: str = ""
    to: str = ""


Action: TypeAlias = Callable[[ApiCalls, Form], Awaitable[Done]]


def _ids(form: Form) -> list[str]:
    return [one for one in form.get("id", "").splitlines() if one]


def _done(sentence: str, report: Mapping[str, Any] | None = None) -> Done:
    return Done(sentence, str((report or {}).get("run_id", "")))


async def undo(api: ApiCalls, form: Form) -> Done:
    """Take back a run, one of its passes, or one of its changes."""
    change = form.get("change", "")
    body = {"pass": form.get("pass") or None, "change": int(change) if change.isdecimal() else None}
    report = await api.post(f"/runs/{form.get('run', '')}/undo", body)
    if not report["changes"]:
        return _done("Nothing was left to take back: it was undone already, or somebody changed it since.", report)
    return _done(f"Taken back: {report['changes']:,} changes.", report)


async def approve(api: ApiCalls, form: Form) -> Done:
    """Make what waits, as it was proposed."""
    report = await api.post("/proposals/approve", {"proposals": _ids(form)})
    return _done(f"Approved: {len(_ids(form)):,}.", report)


async def reject(api: ApiCalls, form: Form) -> Done:
    """Decline what waits: no dream proposes it again for the same reason."""
    report = await api.post("/proposals/reject", {"proposals": _ids(form)})
    return _done(f"Rejected: {len(_ids(form)):,}.", report)


async def answer(api: ApiCalls, form: Form) -> Done:
    """Answer a question."""
    how = form.get("how", "")
    ways: dict[str, dict[str, object]] = {
        "keep": {"keep": form.get("keep", "")},
        "text": {"text": form.get("text", "")},
        "distinct": {"distinct": True},
        "dismiss": {"dismiss": True},
    }
    report = await api.post(f"/questions/{form.get('question', '')}/answer", ways.get(how, {}))
    return _done("Answered.", report)


async def remember(api: ApiCalls, form: Form) -> Done:
    """Remember a text."""
    await api.post("/memories", {"content": form.get("text", ""), "category": form.get("category") or "general"})
    return _done("Remembered.")


async def edit(api: ApiCalls, form: Form) -> Done:
    """Change what a memory says, if nobody changed it since the form was made."""
    change = {"content": form.get("text", "")}
    path = f"/memories/{form.get('memory', '')}"
    await api.send("PATCH", path, change, headers={"If-Match": form.get("tag", "")})
    return _done("Changed.")


async def pin(api: ApiCalls, form: Form) -> Done:
    """Pin a memory, or let it loose."""
    is_pinned = form.get("pinned") == "1"
    await api.send("PATCH", f"/memories/{form.get('memory', '')}", {"pinned": is_pinned})
    return _done("Pinned: no dream changes it." if is_pinned else "No longer pinned.")


async def confirm(api: ApiCalls, form: Form) -> Done:
    """Vouch for a memory."""
    return _done("Confirmed.", await api.post(f"/memories/{form.get('memory', '')}/confirm", {}))


async def archive(api: ApiCalls, form: Form) -> Done:
    """Set a memory aside."""
    await api.post(f"/memories/{form.get('memory', '')}/archive", {"reason": "set aside on the page"})
    return _done("Set aside: restore brings it back.")


async def restore(api: ApiCalls, form: Form) -> Done:
    """Bring a retired memory back."""
    return _done("Brought back.", await api.post(f"/memories/{form.get('memory', '')}/restore"))


async def forget(api: ApiCalls, form: Form) -> Done:
    """Remove a memory for good."""
    gone = await api.send("DELETE", f"/memories/{form.get('memory', '')}")
    return Done(f"Forgotten for good: {len(gone['removed']):,} records.", to=form.get("list", ""))


async def set_line(api: ApiCalls, form: Form) -> Done:
    """Put a line on the card."""
    body = {"line": form.get("text", ""), "replaces": form.get("replaces") or None}
    return _done("The line stands on the card.", await api.post("/card/lines", body))


async def remove_line(api: ApiCalls, form: Form) -> Done:
    """Take a line off the card."""
    return _done("The line is gone.", await api.send("DELETE", f"/card/lines/{form.get('line', '')}"))


async def add_item(api: ApiCalls, form: Form) -> Done:
    """Add an item to a document."""
    body = {"section": [form["section"]] if form.get("section") else [], "texts": [form.get("text", "")]}
    await api.post(f"/documents/{form.get('document', '')}/items", body)
    return _done("Added.")


async def dream(api: ApiCalls, _: Form) -> Done:
    """Dream now."""
    report = await api.post("/runs", {})
    return Done("The dream has begun.", str(report["run_id"]))


async def pause(api: ApiCalls, _: Form) -> Done:
    """Stop the dreams of the scope."""
    await api.post("/schedule/pause")
    return _done("Paused: no dream begins until you resume.")


async def resume(api: ApiCalls, _: Form) -> Done:
    """Let the dreams of the scope run again."""
    await api.post("/schedule/resume")
    return _done("Dreams run again.")


async def switch(api: ApiCalls, form: Form) -> Done:
    """Switch dreams or learning on or off."""
    name = "learning" if form.get("what") == "learning" else "dream"
    value = {"on": True, "off": False}.get(form.get("value", ""))
    await api.send("PUT", "/switches", {name: value})
    return _done(f"{name.capitalize()}: {form.get('value', '')}.")


async def add_topic(api: ApiCalls, form: Form) -> Done:
    """Have dreams keep nothing about a topic."""
    await api.post("/off-limits", {"words": form.get("text", "")})
    return _done("Dreams keep nothing about it from now on.")


async def remove_topic(api: ApiCalls, form: Form) -> Done:
    """Allow a topic again."""
    await api.send("DELETE", f"/off-limits/{form.get('topic', '')}")
    return _done("Allowed again.")


ACTIONS: Final[Mapping[str, Action]] = {
    one.__name__.replace("_", "-"): one
    for one in (
        undo, approve, reject, answer, remember, edit, pin, confirm, archive, restore, forget, set_line, remove_line,
        add_item, dream, pause, resume, switch, add_topic, remove_topic,
    )
}  # fmt: skip
