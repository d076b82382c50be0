"""The time zone of the machine: what `Local` means, read anew each time, as people travel."""

import os
from pathlib import Path
from zoneinfo import ZoneInfo

_LINK = Path("/etc/localtime")
_NAME = Path("/etc/timezone")
_DATABASE = "zoneinfo/"


def machine_zone(*, link: Path = _LINK, name: Path = _NAME) -> str:
    """Return the IANA name of the machine's time zone; `UTC` where the system does not tell one.

    The variable `TZ` wins, then the link */etc/localtime*, then the name in */etc/timezone*.

    Args:
        link: Where the system keeps its zone's data.
        name: Where it keeps its zone's name.
    """
    candidates = [os.environ.get("TZ", "").removeprefix(":")]
    try:
        candidates.append(str(link.resolve(strict=True)).rpartition(_DATABASE)[2])
        candidates.append(name.read_text("utf-8").strip())
    except (OSError, UnicodeDecodeError):
        pass
    return next((one for one in candidates if one and _is_zone(one)), "UTC")


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
