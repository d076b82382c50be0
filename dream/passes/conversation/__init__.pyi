from .evidence import (
    TurnEvidence as TurnEvidence,
    evidence_of as evidence_of,
    line_of as line_of,
)
from .quotes import holds_quote as holds_quote
from .reconcile import (
    KnownEntries as KnownEntries,
    says_the_same as says_the_same,
)
from .statement import (
    StatementRules as StatementRules,
    judged_by_words as judged_by_words,
)
from .turn_pass import (
    SessionExcerpt as SessionExcerpt,
    packed as packed,
    tokens_of as tokens_of,
)
