"""English words that say how a sentence is built, not what it is about."""

from typing import Final

_PRONOUNS = """
i me my mine myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
herself it its itself they them their theirs themselves who whom whose which what this that these those
"""

_VERBS = """
am is are was were be been being have has had having do does did doing done can could shall should will would
must cannot
"""

_LINKS = """
a an the and or nor but if than because while although though until unless whether of at by for with without
about against between among into onto through during before after above below to from in on upon over under up
down out off as per via so
"""

_ADVERBS = """
again further then once here there when where why how all any both each either neither few more most much many
other others another some such no not only own same too very also just now ever yet else quite rather
"""

# What the word pattern leaves of don't, it's, we'll, they've, you're, I'm, he'd, isn't and their like.
_FRAGMENTS = """
t s ll ve re m d don didn doesn isn aren wasn weren hasn haven hadn couldn shouldn wouldn mustn needn ain shan
"""

ENGLISH_STOP_WORDS: Final[frozenset[str]] = frozenset(f"{_PRONOUNS} {_VERBS} {_LINKS} {_ADVERBS} {_FRAGMENTS}".split())
"""Casefolded, unstemmed. `us` and `may` stay searchable, as they are also a country and a month."""
