from .dream_pass import (
    FactMining as FactMining,
)
from .judging import (
    Fact as Fact,
    FactReconciler as FactReconciler,
    fact_of as fact_of,
)
from .prompt import (
    FactItem as FactItem,
)
