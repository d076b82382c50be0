from .dream_pass import (
    EpisodeExtraction as EpisodeExtraction,
    EpisodeHandles as EpisodeHandles,
    judge as judge,
)
from .judging import (
    EpisodeReconciler as EpisodeReconciler,
    counted as counted,
)
from .prompt import (
    EventType as EventType,
    read_items as read_items,
)
