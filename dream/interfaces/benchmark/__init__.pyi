from .asking import (
    Answered as Answered,
    Stage as Stage,
    ask_all as ask_all,
)
from .provenance import (
    Provenance as Provenance,
)
from .recalling import (
    Recalled as Recalled,
    measure_recall as measure_recall,
)
from .result import (
    Cost as Cost,
    Figures as Figures,
    Result as Result,
    Share as Share,
    total as total,
)
from .samples import (
    Faults as Faults,
    Question as Question,
    Sample as Sample,
    read_locomo as read_locomo,
)
from .scripted import (
    ALIKE as ALIKE,
    Record as Record,
    records_in as records_in,
    scripted_answer as scripted_answer,
)
from .support import (
    kinds_of_change as kinds_of_change,
    unsupported_changes as unsupported_changes,
)
from .trial import (
    AFTERWARDS as AFTERWARDS,
    StandingClock as StandingClock,
    measure as measure,
)
