"""Tells the options of memory and the other parts of a host, as a settings file and a host's code say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentcore.hosting.option_layers import EffectiveOption, OptionSource, leaves, overlaid, shown, wider
from agentcore.hosting.options import (
    ContextOptions,
    ConversationOptions,
    EmbeddingOptions,
    FeedbackOptions,
    MemoryOptions,
    Options,
    SkillOptions,
    ToolCallOptions,
    WispOptions,
    WorkspaceOptions,
)
from agentcore.llm.embedding import OF_VECTORS
from agentcore.llm.settings_file import FILE_NAME, WORKSPACE, read_section, scope_tables

if TYPE_CHECKING:
    from pathlib import Path

    from agentcore.domain.scope import Scope
    from agentcore.hosting.left_options import LeftOptions

PARTS: Final[tuple[type[Options], ...]] = (
    MemoryOptions,
    ConversationOptions,
    SkillOptions,
    ContextOptions,
    FeedbackOptions,
    WispOptions,
    ToolCallOptions,
    EmbeddingOptions,
    WorkspaceOptions,
)
"""The options of each part, whose section is its table in the settings file."""


def said_in_file(kind: type[Options], data_dir: Path) -> dict[str, object]:
    """Return what the settings file of a folder says of a part.

    Raises:
        InvalidOptionsError: the file cannot be read, or has a table that nobody reads.
    """
    said = read_section(data_dir / FILE_NAME, kind.section)
    # The table of embeddings is that of the model too.
    return {name: said[name] for name in said if kind is not EmbeddingOptions or name in OF_VECTORS}


def effective_parts(
    data_dir: Path, left: LeftOptions | None = None, scope: Scope | None = None
) -> list[EffectiveOption]:
    """Return every option of the parts by its path, such as `memory.half_life`, and who said what it is.

    Args:
        data_dir: The folder with `agentcore.toml`, which need not exist.
        left: What the code of a host says; None to go by the file alone.
        scope: Whose folder of documents is told; None for what holds for all.

    Raises:
        InvalidOptionsError: an option is unknown or cannot have its value, or the file cannot be read.
        ExceptionGroup: several are.
    """
    return [one for kind in PARTS for one in effective_part(kind, data_dir, left, scope)]


def effective_part(
    kind: type[Options], data_dir: Path, left: LeftOptions | None = None, scope: Scope | None = None
) -> list[EffectiveOption]:
    """Return every option of one part; see `effective_parts`."""
    said = said_in_file(kind, data_dir)
    by_code = {} if left is None else left.parts.get(kind.section, {})
    sources = dict.fromkeys((name for name, _ in leaves(said)), OptionSource.FILE)
    sources |= dict.fromkeys((name for name, _ in leaves(by_code)), OptionSource.HOST)
    options = overlaid(kind(**said), by_code, replaces_mappings=True)
    found = [
        EffectiveOption(f"{kind.section}.{name}", value, _source(sources, name))
        for name, value in shown(options).items()
    ]
    folder = None if scope is None or kind is not WorkspaceOptions else _folder_of(scope, data_dir)
    return found if folder is None else [folder if one.name == folder.name else one for one in found]


def _folder_of(scope: Scope, data_dir: Path) -> EffectiveOption | None:
    """Return the folder that the table of the narrowest pattern gives a scope; None if none does."""
    tables = [(pattern, table) for pattern, table in scope_tables(data_dir / FILE_NAME) if WORKSPACE in table]
    about = [one for one in tables if one[0].matches(scope)]
    if not about:
        return None
    pattern, table = max(about, key=lambda one: one[0].narrowness)
    return EffectiveOption(f"{WORKSPACE}.folder", table[WORKSPACE], OptionSource.FILE, str(pattern))


def _source(sources: dict[str, OptionSource], name: str) -> OptionSource:
    return next((sources[path] for path in wider(name) if path in sources), OptionSource.DEFAULT)
