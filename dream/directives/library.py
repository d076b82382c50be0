"""Reads the directives of a host: an own file replaces the built-in text wholly."""

import os
import stat
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from agentcore.errors import InvalidOptionsError
from agentcore.llm.chat import estimate_tokens
from dream.domain.built_in_passes import DECLARED
from dream.domain.declaration import Declaration
from dream.domain.finding import Finding, FindingLevel
from dream.errors import InvalidDirectiveError, UnknownDirectiveError

FILE_SUFFIX: Final = ".md"


@dataclass(frozen=True, slots=True)
class KnownDirective:
    """A directive that passes send.

    Args:
        purpose: What it tells the model, for people who look for the right one.
        passes: Names of the passes that send it.
        relies_on: Words of the answer that those passes read; a text without them explains the answer badly.
        text: What a pass of the host's own brings; None where the text comes with dream.
    """

    purpose: str
    passes: tuple[str, ...]
    relies_on: tuple[str, ...] = ()
    text: str | None = None


def known_directives(
    declarations: Iterable[Declaration], texts: Mapping[str, str] | None = None
) -> dict[str, KnownDirective]:
    """Return the directives that these passes send, by name.

    Args:
        declarations: What the passes declare, in the order in which their directives are listed.
        texts: The texts of those that do not come with dream.
    """
    found: dict[str, KnownDirective] = {}
    for one in declarations:
        for directive in one.directives:
            before = found.get(directive.name)
            senders = (*(before.passes if before else ()), one.name)
            text = (texts or {}).get(directive.name)
            found[directive.name] = KnownDirective(directive.purpose, senders, directive.relies_on, text)
    return found


KNOWN: Final[Mapping[str, KnownDirective]] = MappingProxyType(known_directives(DECLARED.values()))
"""Every built-in directive by name, in the order of the passes that send it."""


class InForce(Protocol):
    """A directive in the words that are in force."""

    @property
    def name(self) -> str:
        """What passes call it."""
        ...

    @property
    def text(self) -> str:
        """The words."""
        ...

    @property
    def path(self) -> Path | None:
        """The host's own file; None for the words it came with."""
        ...

    @property
    def is_edited(self) -> bool:
        """Whether the options give the words."""
        ...


def standing(directive: InForce, known: KnownDirective) -> Finding:
    """Return how a directive stands that can be used.

    Args:
        directive: Its text in force.
        known: Who sends it, and what the text should mention.
    """
    name, text = directive.name, directive.text
    origin = "your text" if directive.is_edited else "built in" if directive.path is None else str(directive.path)
    size = f"{estimate_tokens(text):,} tokens"
    missing = [word for word in known.relies_on if word not in text]
    if not missing:
        return Finding(name, FindingLevel.FINE, f"{origin}, {size}")
    words = ", ".join(missing)
    remedy = f"say what these parts of the answer are for; `dream directives show {name} --built-in` does"
    return Finding(
        name,
        FindingLevel.NOTE,
        f"{origin} does not mention {words}, of which the answer to {readers(known)} is made",
        remedy,
    )


def unread_files(
    folder: Path, *, beside: Collection[str], read: Collection[Path], known: Collection[str]
) -> Iterator[Finding]:
    """Yield files of the folder of directives that nothing reads: notes of a person's, or a mistyped name.

    Args:
        folder: The folder, which need not exist.
        beside: Names of files that belong there and are no directives.
        read: Paths that directives are read from.
        known: Names of the directives there are.
    """
    names = [*(f"{name}{FILE_SUFFIX}" for name in known), *beside]
    try:
        found = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        problem = os.strerror(error.errno or 0)
        yield Finding(
            folder.name, FindingLevel.WRONG, f"{folder} cannot be listed ({problem})", "make it a readable folder"
        )
        return
    for name in found:
        if name.startswith(".") or name in beside or folder / name in read:
            continue
        near = get_close_matches(name.casefold(), names, n=1, cutoff=0.75)
        if near or name.casefold().endswith(FILE_SUFFIX):
            yield Finding(name, FindingLevel.NOTE, f"{folder / name} is read by nothing", _remedy(name, near, known))


def _remedy(name: str, near: Collection[str], known: Collection[str]) -> str:
    if name in near:
        return "the option `directives` names another file for it"
    return "".join(f"perhaps you mean {one}" for one in near) or f"directives are {', '.join(known)}"


def readers(known: KnownDirective) -> str:
    """Return the passes that send a directive.

    Example:
        >>> from dream.directives import KNOWN
        >>> readers(KNOWN["memory-rules"])
        'fact-mining, episodes, preferences and memory-consolidation'
    """
    *others, last = known.passes
    return f"{', '.join(others)} and {last}" if others else last


FOLDER: Final = "directives"
"""The folder of a data directory where own directives stand."""
MAX_BYTES: Final = 100_000
"""The longest directive: about 25,000 tokens, and each call pays for them."""

_OPTION: Final = "dreaming.directives"
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    r"""What the model is told, in the words that are in force.

    Args:
        name: What passes and options call it.
        text: Line ends are `\n`; no white space stands around it.
        path: The file it came from; None for the built-in one.
        is_edited: Whether it came from the options, in the place of a file.
    """

    name: str
    text: str
    path: Path | None = None
    is_edited: bool = False

    @property
    def hash(self) -> str:
        """Name of the text in reports and fingerprints: 32 hexadecimal digits.

        Example:
            >>> Directive(name="dream", text="Keep everything.").hash
            '9590777e4b47dfc77c20efa4780ebb63'
        """
        return blake2b(self.text.encode(), digest_size=16).hexdigest()


class DirectiveLibrary:
    """The directives of a host; lives as long as it, and keeps nothing: each call reads the files as they are then.

    Reading blocks for as long as the disk takes, about a tenth of a millisecond per directive.

    Args:
        data_dir: The host's data directory; None has the built-in texts alone.
        paths: The option `directives`: paths by name, relative to *data_dir*.
        own: What passes of the host's own bring, by name.
        texts: The option `directive_texts`: texts by name, in the place of files.

    Raises:
        UnknownDirectiveError: the option names a directive that does not exist.
        InvalidOptionsError: the option names a file, but there is no data directory.
    """

    def __init__(
        self,
        data_dir: Path | None,
        paths: Mapping[str, str],
        own: Mapping[str, KnownDirective] | None = None,
        texts: Mapping[str, str] | None = None,
    ) -> None:
        self.known: Mapping[str, KnownDirective] = {**KNOWN, **(own or {})}
        self._texts = dict(texts or {})
        require_known([*paths, *self._texts], self.known)
        if paths and data_dir is None:
            remedy = "this host keeps everything in memory, give it a data directory or leave the option out"
            raise InvalidOptionsError(field=_OPTION, value=dict(paths), allowed=remedy)
        self._data_dir = data_dir
        self._paths = dict(paths)

    @property
    def folder(self) -> Path | None:
        """Where own directives stand unless the option says otherwise; it need not exist."""
        return None if self._data_dir is None else self._data_dir / FOLDER

    def path_of(self, name: str) -> Path | None:
        """Return where an own text of the directive *name* stands or would stand; None without a data directory.

        A text in the data directory itself, where RockBot keeps its directives, counts if its folder has none.

        Raises:
            UnknownDirectiveError: there is none of that name.
        """
        require_known([name], self.known)
        if self._data_dir is None:
            return None
        path = self._data_dir / self._paths.get(name, f"{FOLDER}/{name}{FILE_SUFFIX}")
        beside = self._data_dir / f"{name}{FILE_SUFFIX}"
        return beside if name not in self._paths and not os.path.lexists(path) and beside.is_file() else path

    def read(self, names: Iterable[str]) -> dict[str, Directive]:
        """Return these directives as they are at this moment, in the order of *names*.

        Raises:
            UnknownDirectiveError: there is none of a name.
            InvalidDirectiveError: an own text cannot be used; the built-in one does not stand in for it.

        Example:
            >>> list(DirectiveLibrary(None, {}).read(["memory-rules", "dream"]))
            ['memory-rules', 'dream']
        """
        return {name: self._read(name) for name in names}

    def original(self, name: str) -> Directive:
        """Return the directive in the words it came with, whatever stands in the data directory.

        Raises:
            UnknownDirectiveError: there is none of that name.
        """
        require_known([name], self.known)
        text = self.known[name].text
        return built_in(name) if text is None else Directive(name=name, text=text.strip())

    def check(self, *, beside: Collection[str] = ()) -> list[Finding]:
        """Return how each directive stands, and what lies in the folder that nothing reads.

        Args:
            beside: Names of files that belong in the folder and are no directives.
        """
        strangers = (
            ()
            if self.folder is None
            else unread_files(self.folder, beside=beside, read=self._expected(), known=self.known)
        )
        return [*map(self._finding, self.known), *self._in_the_root(), *strangers]

    def _in_the_root(self) -> Iterator[Finding]:
        if self._data_dir is None:
            return
        for name in self.known:
            beside, path = self._data_dir / f"{name}{FILE_SUFFIX}", self.path_of(name)
            if beside.is_file() and path != beside:
                yield Finding(beside.name, FindingLevel.NOTE, f"{beside} is read by nothing", f"{path} takes its place")

    def _finding(self, name: str) -> Finding:
        try:
            directive = self._read(name)
        except InvalidDirectiveError as error:
            place = f"The text of {name}" if name in self._texts else self.path_of(name)
            detail = f"{place} cannot be used, {error.problem}"
            remedy = f"put it right, or take it away; until then {readers(self.known[name])} cannot work"
            return Finding(name, FindingLevel.WRONG, detail, remedy)
        return standing(directive, self.known[name])

    def _expected(self) -> list[Path]:
        return [path for name in self.known if (path := self.path_of(name)) is not None]

    def _read(self, name: str) -> Directive:
        if name in self._texts:
            return edited_directive(name, self._texts[name])
        path = self.path_of(name)
        data = None if path is None else _content(path, must_exist=name in self._paths)
        if path is None or data is None:
            return self.original(name)
        return Directive(name=name, text=_text(data, path), path=path)


@cache
def built_in(name: str) -> Directive:
    """Return the directive that ships with dream; read once per process.

    Raises:
        UnknownDirectiveError: there is none of that name.
    """
    require_known([name])
    package = Path(__file__).parents[1]
    packaged = package / "_directives"
    folder = packaged if packaged.exists() else package.parent / "directives"
    path = folder / f"{name}{FILE_SUFFIX}"
    return Directive(name=name, text=_text(path.read_bytes(), path))


def edited_directive(name: str, text: str) -> Directive:
    """Return a directive in the words that the options give.

    Raises:
        InvalidDirectiveError: they cannot be used.
    """
    return Directive(name=name, text=_text(text.encode("utf-8", "replace"), f"the text of {name}"), is_edited=True)


def require_known(names: Iterable[str], known: Mapping[str, KnownDirective] = KNOWN) -> None:
    """Check that there are directives of these names.

    Args:
        names: The names.
        known: The directives there are; the built-in ones by default.

    Raises:
        UnknownDirectiveError: there is none of a name.
    """
    for name in names:
        if name not in known:
            raise UnknownDirectiveError(name=name, known=known)


def _content(path: Path, *, must_exist: bool) -> bytes | None:
    """Return the bytes of an own text, never more than one beyond the bound; None if there is no such file."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InvalidDirectiveError(path=str(path), problem="it is a folder")
        if not stat.S_ISREG(mode):
            raise InvalidDirectiveError(path=str(path), problem="it is no regular file")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise InvalidDirectiveError(path=str(path), problem="it is a link that leads nowhere") from None
        if must_exist:
            raise InvalidDirectiveError(
                path=str(path), problem=f"the option {_OPTION} names it, but it is not there"
            ) from None
        return None
    except OSError as error:
        problem = f"it cannot be read ({os.strerror(error.errno or 0)})"
        raise InvalidDirectiveError(path=str(path), problem=problem) from None


def _text(data: bytes, path: Path | str) -> str:
    def refusal(problem: str) -> InvalidDirectiveError:
        return InvalidDirectiveError(path=str(path), problem=problem)

    if len(data) > MAX_BYTES:
        raise refusal(f"it has more than {MAX_BYTES:,} bytes, and every call would send them")
    try:
        decoded = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refusal(f"line {line} is not UTF-8") from None
    text = decoded.removeprefix(_BOM).replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text:
        raise refusal("it is empty")
    if any(unicodedata.category(character) == "Cc" and character not in "\n\t" for character in text):
        raise refusal("it holds control characters, as only binary files do")
    return text
