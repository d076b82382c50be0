"""Keeps the token of clients on this machine in a file that only its owner reads."""

import asyncio
import os
from pathlib import Path

from agentcore.hosting.tokens import AccessTokens


async def local_token(tokens: AccessTokens, path: Path) -> str:
    """Return the secret in the file; where it is missing or no longer holds, make a new one there (0600)."""
    present = await asyncio.to_thread(_read, path)
    if present and await tokens.resolve(present) is not None:
        return present
    secret = await tokens.renew_local()
    await asyncio.to_thread(_write, path, secret)
    return secret


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _write(path: Path, secret: str) -> None:
    beside = path.with_name(f"{path.name}.new")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # beside a server's database nothing made it
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{secret}\n")
    beside.replace(path)
