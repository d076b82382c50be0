"""Does what a person decides on the page, over REST."""

from collections.abc import Mapping
from typing import Any, Final

from dream.interfaces.page.api_calls import ApiCalls, RefusedCallError
from dream.interfaces.page.configuration import (
    check_directive,
    conflict,
    create_token,
    reset_directive,
    revoke_token,
    set_option,
    undo_edit,
    write_directive,
)
from dream.interfaces.page.memory_form import FIELDS, edits
from dream.interfaces.page.rendering import Action, Done, Form, Rendering, amount, counted

_LOOKED_AT: Final = 100
"""Runs among which a decision is looked for."""

_NOTHING_SELECTED: Final = Done("Select something first.")


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
        why = _kept_back(report)
        if why:
            return _done(f"Nothing was taken back: {why}.", report)
        runs = (await api.get("/runs", limit=_LOOKED_AT))["runs"]
        before = next((one for one in runs if one["target"] == form.get("run") and one["changes"]), None)
        who = f"{before['actor']} took it back on {before['started_at'][:16].replace('T', ' ')}" if before else ""
        return _done(f"Nothing was left to take back: {who or 'somebody changed it since'}.", report)
    return _done(f"Taken back: {amount({'changes': report['changes']})}.", report)


_KEPT_BACK: Final = {
    "purged": "it was removed for good, and a backup is the only way back",
    "forgotten": "somebody had it forgotten for good",
}


def _kept_back(report: Mapping[str, Any]) -> str:
    """Return why an undo brought nothing back, where it is gone for good; empty where somebody changed it since."""
    codes = {item["code"] for one in report["passes"] for item in one["refused"]}
    codes |= {"purged" for one in report["passes"] if one["notes"].get("purged_for_good")}
    return next((said for code, said in _KEPT_BACK.items() if code in codes), "")


async def _decide(api: ApiCalls, how: str, ids: list[str]) -> Mapping[str, Any]:
    """Decide proposals; where one waits no longer, tell who decided it meanwhile."""
    try:
        return await api.post(f"/proposals/{how}", {"proposals": ids})
    except RefusedCallError as error:
        if error.problem.get("code") != "unknown_proposal":
            raise
        raise RefusedCallError({**error.problem, "status": 409, "detail": f"{error} Nothing was done."}) from error


async def approve(api: ApiCalls, form: Form) -> Done:
    """Make what waits, as it was proposed."""
    if not _ids(form):
        return _NOTHING_SELECTED
    report = await _decide(api, "approve", _ids(form))
    refused = [item for one in report["passes"] for item in one["refused"]]
    left = f" Not done: {len(refused):,}, the run says why." if refused else ""
    return _done(f"Approved: {len(_ids(form)) - len(refused):,}.{left}", report)


async def reject(api: ApiCalls, form: Form) -> Done:
    """Decline what waits: no dream proposes it again for the same reason."""
    if not _ids(form):
        return _NOTHING_SELECTED
    await _decide(api, "reject", _ids(form))
    # No link to an undo: it would bring back nothing, since of what was rejected the marks alone are kept.
    return _done(f"Rejected: {len(_ids(form)):,}. No dream proposes it again, and no undo brings it back.")


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


async def edit(api: ApiCalls, form: Form) -> Done | Rendering:
    """Change a memory, if nobody changed it since the form was made."""
    memory, text = form.get("memory", ""), form.get("text", "")
    path = f"/memories/{memory}"
    try:
        was = await api.get(path)
        changes = edits(was, {**form, "text": text.replace("\r\n", "\n")})
        report = await api.send("POST", f"{path}/edit", changes, headers={"If-Match": form.get("tag", "")})
    except RefusedCallError as error:
        if error.status != 412:
            raise
        (now, tag), why = await api.get_with_tag(path), await api.get(f"{path}/why")
        who = f"{why['writes'][-1]['actor']} wrote last. " if why["writes"] else ""
        told = RefusedCallError({**error.problem, "detail": f"{who}{error}"})
        kept = {"memory": memory, **{name: form[name] for name in FIELDS if name in form}}
        return conflict(told, "edit", kept, mine=text, theirs=now["content"], tag=tag)
    return _done("Changed." if report["run_id"] else "It says so already.", report)


async def pin(api: ApiCalls, form: Form) -> Done:
    """Pin a memory, or let it loose."""
    is_pinned = form.get("pinned") == "1"
    report = await api.post(f"/memories/{form.get('memory', '')}/edit", {"pinned": is_pinned})
    return _done("Pinned: no dream changes it." if is_pinned else "No longer pinned.", report)


async def confirm(api: ApiCalls, form: Form) -> Done:
    """Vouch for a memory."""
    return _done("Confirmed.", await api.post(f"/memories/{form.get('memory', '')}/confirm", {}))


async def archive(api: ApiCalls, form: Form) -> Done:
    """Set a memory aside."""
    report = await api.post(f"/memories/{form.get('memory', '')}/set-aside", {})
    return _done("Set aside: nobody recalls it.", report)


async def restore(api: ApiCalls, form: Form) -> Done:
    """Bring a retired memory back."""
    return _done("Brought back.", await api.post(f"/memories/{form.get('memory', '')}/restore"))


async def forget(api: ApiCalls, form: Form) -> Done:
    """Remove a memory for good."""
    gone = await api.send("DELETE", f"/memories/{form.get('memory', '')}", query={"also": _ids(form)})
    removed = counted(len(gone["removed"]), "memory", "memories")
    sentence = f"Forgotten for good: {removed}, and what {counted(len(gone['withheld']), 'turn')} said of it."
    back = [await api.text_of(one) for one in gone["restored"]]
    return Done(sentence, to=form.get("list", ""), back=back)


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
    try:
        report = await api.post("/runs", {})
    except RefusedCallError as error:
        switched = {"dreaming_off": "Dreams are", "learning_off": "Learning is"}.get(str(error.problem.get("code")))
        if switched is None:
            raise
        detail = f"{switched} switched off for this scope: Settings, Switches, where an admin can switch it on."
        raise RefusedCallError({**error.problem, "detail": detail}) from error
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


async def resolve(api: ApiCalls, form: Form) -> Done:
    """Decide about a hypothesis."""
    decision = form.get("decision", "")
    told = await api.post(
        f"/dreams/{form.get('hypothesis', '')}/resolve",
        {"decision": decision, "feedback": form.get("text", "").strip() or None},
    )
    done = told["data"]
    if not done["changed"]:
        return _done(f"Nothing changed: it is {done['dream']['status']} already.")
    (run,) = (await api.get("/runs", limit=1))["runs"]
    words = " Your words are a memory of their own." if "fragment" in done else ""
    return _done(f"Decided: {done['dream']['status']}.{words}", run)


async def promote_claim(api: ApiCalls, form: Form) -> Done:
    """Let a claim pass its gate."""
    told = await api.post(f"/claims/{form.get('claim', '')}/promote", {})
    return _done(f"{told['outcome'].capitalize()}: {told['reason']}.")


async def reject_claim(api: ApiCalls, form: Form) -> Done:
    """Refuse a claim that is no fact yet."""
    await api.post(f"/claims/{form.get('claim', '')}/reject", {})
    return _done("Refused.")


ACTIONS: Final[Mapping[str, Action]] = {
    one.__name__.replace("_", "-"): one
    for one in (
        undo, approve, reject, answer, remember, edit, pin, confirm, archive, restore, forget, set_line, remove_line,
        add_item, dream, pause, resume, switch, add_topic, remove_topic, resolve, promote_claim, reject_claim,
        set_option, undo_edit, check_directive, write_directive, reset_directive, create_token, revoke_token,
    )
}  # fmt: skip
