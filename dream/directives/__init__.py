"""The directive library: what the model is told, built in or in the host's own words.

It imports neither guards nor passes: passes name the directives they send, the runner reads them here.
"""

from dream.directives.library import Directive, DirectiveLibrary
from dream.directives.table import KNOWN, Known

__all__ = ["KNOWN", "Directive", "DirectiveLibrary", "Known"]
