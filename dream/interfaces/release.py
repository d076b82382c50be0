"""Reads which version of what is installed."""

from importlib.metadata import PackageNotFoundError, version


def installed_version(distribution: str) -> str:
    """Return the version of a distribution, or that there is none, as when a source tree is used as it lies."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(not installed)"
