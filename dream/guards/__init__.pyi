from .change_guards import (
    GUARDS as GUARDS,
    Guard as Guard,
    Knowledge as Knowledge,
    first_refusal as first_refusal,
    is_purgeable as is_purgeable,
    is_under as is_under,
    respects_undo as respects_undo,
)
from .detail import (
    Detail as Detail,
    DetailKind as DetailKind,
    distinct as distinct,
)
from .details import (
    Details as Details,
    measures_of as measures_of,
)
from .folding import (
    fold as fold,
    one_form as one_form,
)
from .languages import (
    language_of as language_of,
)
from .names import (
    VOCABULARY_FILE as VOCABULARY_FILE,
    LoadedVocabulary as LoadedVocabulary,
    Vocabulary as Vocabulary,
    builtin_vocabulary as builtin_vocabulary,
    load_vocabulary as load_vocabulary,
    parse_vocabulary as parse_vocabulary,
)
from .numbers import (
    spoken_numbers as spoken_numbers,
)
from .relative_dates import (
    nearest_years as nearest_years,
    relative_dates as relative_dates,
)
from .secrets import (
    secret_in as secret_in,
)
from .verdict import (
    EvidenceText as EvidenceText,
    Judgement as Judgement,
    Verdict as Verdict,
    judge as judge,
)
