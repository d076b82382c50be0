from .dream_pass import (
    PreferenceInference as PreferenceInference,
    judge as judge,
)
from .judging import (
    needs_permission as needs_permission,
)
from .packing import (
    PreferenceHandles as PreferenceHandles,
)
from .prompt import (
    Sentiment as Sentiment,
    read_items as read_items,
)
from .reconcile import (
    SUPERSEDE as SUPERSEDE,
    PreferenceReconciler as PreferenceReconciler,
)
