from .budget import (
    IndexBudget as IndexBudget,
)
from .concepts import (
    MAX_CONCEPT_BYTES as MAX_CONCEPT_BYTES,
    MAX_CONCEPTS as MAX_CONCEPTS,
    concept as concept,
    concepts as concepts,
)
from .dense import (
    DenseOptions as DenseOptions,
)
from .dense_index import (
    DenseIndex as DenseIndex,
    Similarities as Similarities,
    pack as pack,
)
from .distinct import (
    first_places as first_places,
    numbered as numbered,
    runs as runs,
)
from .effort import (
    Effort as Effort,
)
from .explanation import (
    DenseScore as DenseScore,
    Explanation as Explanation,
    TermScore as TermScore,
)
from .facets import (
    Facets as Facets,
)
from .filtering import (
    admits as admits,
)
from .finding import (
    Finding as Finding,
)
from .fusion import (
    fuse as fuse,
)
from .hit import (
    Hit as Hit,
)
from .index import (
    Bm25Index as Bm25Index,
    best as best,
)
from .neighbour import (
    Neighbour as Neighbour,
)
from .neighbours import (
    alike as alike,
    clusters as clusters,
    similar as similar,
)
from .options import (
    RecallOptions as RecallOptions,
    TurnOptions as TurnOptions,
)
from .postings import (
    Postings as Postings,
)
from .ranking import (
    Ranking as Ranking,
)
from .recall import (
    Recall as Recall,
)
from .scope_index import (
    ScopeIndex as ScopeIndex,
)
from .scoring import (
    Scoring as Scoring,
)
from .snapshot import (
    Kept as Kept,
    Snapshot as Snapshot,
    UnusableSnapshotError as UnusableSnapshotError,
    read_snapshot as read_snapshot,
    write_snapshot as write_snapshot,
)
from .sparse_sums import (
    SparseSums as SparseSums,
)
from .stopwords import (
    ENGLISH_STOP_WORDS as ENGLISH_STOP_WORDS,
)
from .thread import (
    RecallThread as RecallThread,
)
from .tokenizer import (
    MAX_QUERY_TERMS as MAX_QUERY_TERMS,
    MAX_TERM_LENGTH as MAX_TERM_LENGTH,
    Tokenizer as Tokenizer,
)
from .turn_index import (
    TurnIndex as TurnIndex,
)
from .weighting import (
    Formula as Formula,
    Weighting as Weighting,
)
