"""Keeps the key under which forgotten texts and import items are recognised, in a file beside the database.

The database, its backups and its exports hold keyed hashes alone. Without the key nobody can try texts on them.
"""

import os
import secrets
from hashlib import blake2b
from pathlib import Path
from typing import Final, Self

import orjson

from agentcore.errors import InvalidOptionsError

KEY_FILE: Final = "forget.key"
KEY_VARIABLE: Final = "AGENTCORE_FORGET_KEY"
"""Gives the key where several machines work on one database."""

_CONSTANT: Final = "agentcore: which key is this"

KEY_SIZE: Final = 32
"""Bytes of a key."""


class ForgetKey:
    """The key of one data folder, made when it is first needed; lives as long as the storage.

    Args:
        folder: The folder of the database; None keeps the key in memory.
        given: The key that the environment gives, the same for all processes of a database; None is the file's.
    """

    def __init__(self, folder: Path | None, given: bytes | None = None) -> None:
        self._path = None if folder is None else folder / KEY_FILE
        self._given = given
        self._key: bytes | None = None
        self._former: dict[str, bytes] = {}
        """Salts that earlier versions kept in the database, by the key of the scope."""

    @classmethod
    def of(cls, folder: Path | None) -> Self:
        """Return the key that the environment gives, else that of a folder.

        Raises:
            InvalidOptionsError: what the environment gives is no key.
        """
        told = os.environ.get(KEY_VARIABLE)
        if not told:
            return cls(folder)
        try:
            given = bytes.fromhex(told)
        except ValueError:
            given = b""
        if len(given) != KEY_SIZE:
            allowed = f"give {2 * KEY_SIZE} hexadecimal digits, as `openssl rand -hex {KEY_SIZE}` prints"
            raise InvalidOptionsError(field=KEY_VARIABLE, value="(not shown)", allowed=allowed)
        return cls(folder, given)

    @property
    def is_kept(self) -> bool:
        """Whether it outlives this process."""
        return self._given is not None or self._path is not None

    @property
    def is_given(self) -> bool:
        """Whether the environment gives it, so that processes on other machines can have the same."""
        return self._given is not None

    def fingerprints(self) -> list[str]:
        """Return what tells the keys of this host apart from others, and nothing of them; the one that counts first."""
        self._read()
        return [_hash(key, _CONSTANT) for key in (self._given, self._key) if key is not None]

    def held(self) -> tuple[bytes | None, dict[str, bytes]]:
        """Return the key, None if there is none yet, and what earlier versions used."""
        self._read()
        return self._given or self._key, dict(self._former)

    def keep(self, key: bytes | None, former: dict[str, bytes]) -> None:
        """Keep the key of another folder, with what earlier versions used there."""
        if key is not None:
            self._key, self._former = key, former
            self._write(replace=True)

    def marks(self, scope_id: int, text: str) -> list[str]:
        """Return the hashes under which *text* may be known; none before anything was forgotten here."""
        self._read()
        known = (self._given, self._key, self._former.get(str(scope_id)))
        keys = [key for key in known if key is not None]
        return [_hash(key, text) for key in keys]

    def mark(self, text: str) -> str:
        """Return the hash under which *text* is remembered; makes the key if there is none."""
        if self._given is not None:
            return _hash(self._given, text)
        self._read()
        if self._key is None:
            self._key = secrets.token_bytes(KEY_SIZE)
            self._write()
        return _hash(self._key, text)

    def adopt(self, salts: dict[str, bytes]) -> None:
        """Keep the salts of an earlier version, which lay in the database."""
        self._read()
        self._former |= salts
        self._key = self._key or secrets.token_bytes(KEY_SIZE)
        self._write(replace=True)

    def _read(self) -> None:
        if self._key is not None or self._path is None:
            return
        try:
            held = orjson.loads(self._path.read_bytes())
        except FileNotFoundError:
            return
        self._key = bytes.fromhex(held["key"])
        self._former = {scope_id: bytes.fromhex(salt) for scope_id, salt in held["former"].items()}

    def _write(self, *, replace: bool = False) -> None:
        """Write the file whole, for its owner alone; a process that was faster has written the key that counts."""
        if self._path is None or self._key is None:
            return
        former = {scope_id: salt.hex() for scope_id, salt in self._former.items()}
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # beside a server's database nothing made it
        beside = self._path.with_name(f"{KEY_FILE}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(orjson.dumps({"key": self._key.hex(), "former": former}))
            file.flush()
            os.fsync(file.fileno())
        try:
            if replace:
                beside.replace(self._path)
            else:
                os.link(beside, self._path)
        except FileExistsError:
            self._key = None
            self._read()
        finally:
            beside.unlink(missing_ok=True)


def _hash(key: bytes, text: str) -> str:
    return blake2b(text.encode(), key=key, digest_size=32).hexdigest()
