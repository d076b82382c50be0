"""The frozen form: a file of JSON lines per store, and every message to a model once, in a file of its own."""

import asyncio
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

import orjson

from agentcore.llm import ChatRequest
from tests.oracle.life import ID, Document, Life, fingerprint
from tests.oracle.stores import STORES

FROZEN = Path(__file__).parent / "frozen"
_MESSAGES = "messages.txt"
_LINES_SHOWN = 400
_LONGEST_LINE = 8_000
_MARK = re.compile(r"^=== ([0-9a-f]{10})\n", re.MULTILINE)
_FENCE = re.compile(r"<<<([0-9a-f]{16})\b")


def lived(names: Collection[str] = STORES) -> dict[str, str]:
    """Live the lives of these stores and return the text of each file."""
    files: dict[str, str] = {}
    messages: dict[str, str] = {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
            life, documents = asyncio.run(_live(name, Path(folder)))
            lines = [*documents, *_prompts(life, messages)]
            files[f"{name}.jsonl"] = normalised("".join(map(_line, _apart(lines))), folder)
    files[_MESSAGES] = _written(messages)
    return files


async def _live(name: str, folder: Path) -> tuple[Life, list[Document]]:
    life = Life(folder, name)
    await STORES[name](life)
    return life, await life.left()


def _prompts(life: Life, messages: dict[str, str]) -> Iterator[Document]:
    """Yield each request with marks in the place of its messages, and note those in *messages*.

    Batches of a pass may be asked in any order, side by side: those of one pass and run stand by their texts, a repair
    below its question. Runs stand in the order in which they asked, and passes of a run by their names: they ask side
    by side as well.
    """
    groups: dict[tuple[str, str], list[ChatRequest]] = {}
    for request in life.model.requests:
        fences = [found[1] for found in map(_FENCE.search, _texts(request)) if found]
        groups.setdefault((fences[0] if fences else "", request.purpose), []).append(request)
    runs = {fence: place for place, (fence, _) in reversed(list(enumerate(groups)))}
    for _, group in sorted(groups.items(), key=lambda one: (runs[one[0][0]], one[0][1])):
        for request in sorted(group, key=_texts):
            yield _prompt(request, messages)


def _texts(request: ChatRequest) -> list[str]:
    return [message.content for message in request.messages]


def _prompt(request: ChatRequest, messages: dict[str, str]) -> Document:
    said: list[list[str]] = []
    for message in request.messages:
        content = unfenced(message.content)
        messages.setdefault(fingerprint(content), content)
        said.append([message.role.value, fingerprint(content)])
    answer = None
    if request.response_format is not None:
        schema = _line(request.response_format.schema).rstrip()
        messages.setdefault(fingerprint(schema), schema)
        answer = [request.response_format.name, fingerprint(schema)]
    return {
        "prompt": request.purpose,
        "messages": said,
        "answer": answer,
        "max_output_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "model": request.model,
        "tier": request.tier.value,
    }


def _apart(documents: list[Document]) -> Iterator[Document]:
    """Yield documents, and what one lists as lines of its own below it."""
    for document in documents:
        listed = document.get("lines")
        yield {name: value for name, value in document.items() if name != "lines"}
        for one in listed or ():
            yield one if isinstance(one, dict) else {"line": one}


def _line(document: Mapping[str, object]) -> str:
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE).decode()


def normalised(text: str, folder: str) -> str:
    """Return the text of a file without what a change of the code may move though it means nothing.

    The folder is a new one each time. Ids count up, so that one more id drawn anywhere (a lease, a run) would shift all
    that come after it: they are numbered anew in the order in which the file names them.
    """
    numbers: dict[str, str] = {}
    return ID.sub(lambda one: numbers.setdefault(one[0], f"id-{len(numbers) + 1}"), text.replace(folder, "FOLDER"))


def unfenced(content: str) -> str:
    """Return a message with one marker for all: it is a hash of the run's id, which counts up as above."""
    found = _FENCE.search(content)
    return content if found is None else content.replace(found[1], "FENCE")


def make() -> None:
    """Freeze what is."""
    FROZEN.mkdir(exist_ok=True)
    files = lived()
    for path in FROZEN.iterdir():
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        (FROZEN / name).write_text(text, encoding="utf-8")


def differences(names: Iterable[str] = STORES) -> list[str]:
    """Return how what is differs from what was frozen, as lines of a unified diff; none if it does not."""
    messages = _read_messages(_frozen(_MESSAGES))
    told: list[str] = []
    for name in names:
        file = f"{name}.jsonl"
        now, before = lived((name,)), _frozen(file)
        texts = _read_messages(now[_MESSAGES])
        old, new = _marks(before), _marks(now[file])
        # Only what one side lacks: a message that many prompts share stands in the diff once.
        gone = _written({mark: messages.get(mark, "") for mark in old if mark not in new})
        come = _written({mark: texts[mark] for mark in new if mark not in old})
        told += _diff(f"{name}: messages", gone, come)
        told += _diff(file, before, now[file])
    return told


def _frozen(file: str) -> str:
    path = FROZEN / file
    return path.read_text("utf-8") if path.exists() else ""


def _diff(title: str, before: str, after: str) -> Iterator[str]:
    titles = f"frozen {title}", f"now {title}"
    return unified_diff(before.splitlines(), after.splitlines(), *titles, n=1, lineterm="")


def _marks(text: str) -> list[str]:
    """Return the marks of the messages that the prompts of a file name, each once."""
    prompts = [one for one in map(orjson.loads, text.splitlines()) if "prompt" in one]
    named = [mark for one in prompts for _, mark in [*one["messages"], *([one["answer"]] if one["answer"] else [])]]
    return list(dict.fromkeys(named))


def _written(messages: Mapping[str, str]) -> str:
    # Not JSON: a prompt on one line would be a difference that nobody can read.
    return "".join(f"=== {mark}\n{text}\n" for mark, text in messages.items())


def _read_messages(text: str) -> dict[str, str]:
    parts = _MARK.split(text)[1:]
    return {mark: message.removesuffix("\n") for mark, message in zip(parts[::2], parts[1::2], strict=True)}


def shown(lines: list[str]) -> str:
    """Return the first lines of a diff, long ones cut, and how many more there are."""
    cut = [line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..." for line in lines[:_LINES_SHOWN]]
    more = len(lines) - len(cut)
    return "\n".join([*cut, f"... and {more} more lines"] if more > 0 else cut)
