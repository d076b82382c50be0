from .dream_pass import (
    EpisodeExtraction as EpisodeExtraction,
    EpisodeHandles as EpisodeHandles,
    judge as judge,
)
from .judging import (
    EpisodeCandidates as EpisodeCandidates,
    counted as counted,
    reconcile as reconcile,
)
from .prompt import (
    EventType as EventType,
    read_items as read_items,
)
