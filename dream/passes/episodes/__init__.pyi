from .episode import (
    EventType as EventType,
    counted as counted,
)
from .extraction import (
    EpisodeExtraction as EpisodeExtraction,
)
