from .answers import (
    AnswerKey as AnswerKey,
    Unjudged as Unjudged,
)
from .qa import (
    BUDGETS as BUDGETS,
    AnsweredQuestion as AnsweredQuestion,
    GivenContext as GivenContext,
    Provenance as Provenance,
    Side as Side,
    ask_all as ask_all,
)
from .recalling import (
    QuestionOutcome as QuestionOutcome,
    measure_recall as measure_recall,
)
from .recordings import (
    Quotes as Quotes,
    RecordedClient as RecordedClient,
    Recording as Recording,
    handles as handles,
)
from .result import (
    Compared as Compared,
    Cost as Cost,
    Figures as Figures,
    Result as Result,
    Share as Share,
    total as total,
)
from .samples import (
    BenchmarkSample as BenchmarkSample,
    Faults as Faults,
    SampleQuestion as SampleQuestion,
    read_locomo as read_locomo,
    read_questions as read_questions,
)
from .scripted import (
    ALIKE as ALIKE,
    Record as Record,
    records_in as records_in,
    scripted_answer as scripted_answer,
)
from .trial import (
    AFTERWARDS as AFTERWARDS,
    SIDES as SIDES,
    StandingClock as StandingClock,
    import_sample as import_sample,
    kinds_of_change as kinds_of_change,
    measure as measure,
    unsupported_changes as unsupported_changes,
)
