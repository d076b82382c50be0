"""Shows and changes what an admin configures on the page: options, directives, tokens."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import orjson

from dream.interfaces.page.api_calls import ApiCalls, RefusedCallError
from dream.interfaces.page.rendering import Done, Form, Rendering, Shown

_TEXT: Final = "directive_texts."
_CHANGED: Final = 412


async def settings(api: ApiCalls, shown: Shown) -> Rendering:
    """Options in force and who said so, switches, topics that nothing is kept about, and tokens."""
    options, topics, switches = await asyncio.gather(api.get("/options"), api.get("/off-limits"), api.get("/switches"))
    is_all = shown.query.get("all") == "1"
    told = [{**one, "text": written(one["value"])} for one in options["options"]]
    wanted = shown.query.get("option", "")
    values = {
        "options": [one for one in told if is_all or one["source"] != "default"],
        "names": [one["name"] for one in told],
        "wanted": next((one for one in told if one["name"] == wanted), None),
        "topics": topics["topics"],
        "is_all": is_all,
        "switches": switches,
    }
    return Rendering("settings.html", {**values, **await _for_admins(api)})


async def _for_admins(api: ApiCalls) -> Mapping[str, Any]:
    try:
        (edited, tag), tokens = await asyncio.gather(api.get_with_tag("/options/edits"), api.get("/tokens"))
    except RefusedCallError as error:
        if error.status != 403:
            raise
        return {"edits": [], "tokens": [], "tag": ""}
    edits = [{**one, "was": _said(one["before"]), "is": _said(one["after"])} for one in reversed(edited["edits"])]
    return {"edits": edits, "tokens": tokens["tokens"], "tag": tag}


def written(value: object) -> str:
    """Return a value as people write it: a text as it is, all else as JSON.

    Example:
        >>> written("6h"), written(None), written(["a"])
        ('6h', 'null', '["a"]')
    """
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _said(value: list[object]) -> str:
    return written(value[0]) if value else ""


def _read(text: str) -> object:
    try:
        return orjson.loads(text)
    except ValueError:
        return text


async def set_option(api: ApiCalls, form: Form) -> Done | Rendering:
    """Say what an option is in this scope, or leave it to others again."""
    name, text = form.get("option", "").strip(), form.get("text", "").strip()
    is_left = form.get("leave") == "1"
    body = {"leave": [name]} if is_left else {"said": {name: _read(text)}}
    try:
        await api.send("PATCH", "/options", body, headers={"If-Match": form.get("tag", "")})
    except RefusedCallError as error:
        if error.status != _CHANGED:
            raise
        told, (_, tag) = await asyncio.gather(api.get("/options"), api.get_with_tag("/options/edits"))
        now = next((one["value"] for one in told["options"] if one["name"] == name), None)
        return conflict(error, "set-option", {"option": name}, mine=text, theirs=written(now), tag=tag)
    return Done(f"{name}: {'left to file and preset' if is_left else text}. In force from the next run on.")


async def undo_edit(api: ApiCalls, form: Form) -> Done:
    """Take an edit of an option or a directive back."""
    await api.post(f"/options/edits/{form.get('edit', '')}/undo")
    return Done("Undone: it is again what it was before that edit.")


async def directives(api: ApiCalls, shown: Shown) -> Rendering:
    """What models are told: all directives; or one of them, beside the built-in words."""
    if not shown.rest:
        return Rendering("directives.html", await api.get("/directives"))
    return await _directive(api, shown.rest)


async def _directive(api: ApiCalls, name: str, **more: Any) -> Rendering:
    (directive, tag), edited = await asyncio.gather(api.get_with_tag(f"/directives/{name}"), api.get("/options/edits"))
    edits = [one for one in reversed(edited["edits"]) if one["option"] == f"{_TEXT}{name}"]
    values = {"directive": directive, "tag": tag, "edits": edits, "mine": directive["text"] or directive["built_in"]}
    return Rendering("directive.html", {**values, **more})


async def check_directive(api: ApiCalls, form: Form) -> Rendering:
    """Tell what is to be said of a text before it is saved."""
    name, text = form.get("directive", ""), form.get("text", "")
    try:
        checked = await api.post(f"/directives/{name}/check", {"text": text})
    except RefusedCallError as error:
        if error.status == 404:
            raise
        return await _directive(api, name, mine=text, refused=str(error), tag=form.get("tag", ""))
    return await _directive(api, name, mine=text, checked=checked, tag=form.get("tag", ""))


async def write_directive(api: ApiCalls, form: Form) -> Done | Rendering:
    """Have the model told other words in this scope."""
    name, text = form.get("directive", ""), form.get("text", "")
    try:
        await api.send("PUT", f"/directives/{name}", {"text": text}, headers={"If-Match": form.get("tag", "")})
    except RefusedCallError as error:
        if error.status != _CHANGED:
            return await _directive(api, name, mine=text, refused=str(error), tag=form.get("tag", ""))
        now, tag = await api.get_with_tag(f"/directives/{name}")
        fields = {"directive": name}
        return conflict(error, "write-directive", fields, mine=text, theirs=now["text"] or "", tag=tag)
    return Done("Saved: it is what the model is told from the next run on.")


async def reset_directive(api: ApiCalls, form: Form) -> Done:
    """Have the words of the host's file, or the built-in ones, sent again."""
    await api.send("DELETE", f"/directives/{form.get('directive', '')}", headers={"If-Match": form.get("tag", "")})
    return Done("Reset: the model is told what file or program say, from the next run on.")


def conflict(
    error: RefusedCallError, action: str, fields: Mapping[str, str], *, mine: str, theirs: str, tag: str
) -> Rendering:
    """Show what somebody wrote meanwhile beside what was to be saved, which is kept.

    Args:
        error: What REST said, who it was among it.
        action: What saves it all the same.
        fields: What the action takes beside the text and the version.
        mine: What was to be saved.
        theirs: What stands there now.
        tag: The version of that.
    """
    values = {"detail": str(error), "action": action, "fields": fields, "mine": mine, "theirs": theirs, "tag": tag}
    return Rendering("conflict.html", values, _CHANGED)


async def create_token(api: ApiCalls, form: Form) -> Rendering:
    """Make a token, and show its secret this once."""
    days = form.get("days", "")
    body = {
        "name": form.get("name", "").strip(),
        "scopes": form.get("scopes", "").split(),
        "rights": [one for one in ("read", "write", "review", "admin") if form.get(one)] or ["read"],
        "days": int(days) if days.isdecimal() else None,
    }
    return Rendering("token.html", {"token": await api.post("/tokens", body)})


async def revoke_token(api: ApiCalls, form: Form) -> Done:
    """Take a token back."""
    gone = await api.send("DELETE", f"/tokens/{form.get('token', '')}")
    return Done(f"Revoked: {gone['name']}.")
