from .dream_pass import (
    FactMining as FactMining,
)
from .judging import (
    Fact as Fact,
    FactCandidates as FactCandidates,
    fact_of as fact_of,
    reconcile as reconcile,
)
from .prompt import (
    FactItem as FactItem,
)
