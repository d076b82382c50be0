"""The page: what the memory did, for a browser; a skin over the calls of REST."""

from dream.interfaces.page.app import Page

__all__ = ["Page"]
