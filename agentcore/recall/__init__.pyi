from .bm25.arrays import (
    SparseSums as SparseSums,
    first_places as first_places,
    numbered as numbered,
    runs as runs,
)
from .bm25.index import (
    Bm25Index as Bm25Index,
    best as best,
)
from .bm25.neighbours import (
    alike as alike,
    clusters as clusters,
    similar as similar,
)
from .bm25.postings import (
    Postings as Postings,
)
from .bm25.pruning import (
    QueryCost as QueryCost,
)
from .bm25.scoring import (
    Formula as Formula,
    Scoring as Scoring,
    Weighting as Weighting,
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
    fuse as fuse,
    pack as pack,
)
from .entry_index import (
    ScopeIndex as ScopeIndex,
)
from .facets import (
    Facets as Facets,
)
from .filters import (
    admits as admits,
)
from .index_cache import (
    IndexBudget as IndexBudget,
)
from .off_limits import (
    named_topic as named_topic,
)
from .options import (
    RecallOptions as RecallOptions,
    TurnOptions as TurnOptions,
)
from .passage_index import (
    cut_passages as cut_passages,
    share_of_length as share_of_length,
)
from .recall import (
    Recall as Recall,
)
from .results import (
    CombinedHit as CombinedHit,
    DenseScore as DenseScore,
    Explanation as Explanation,
    Hit as Hit,
    Neighbour as Neighbour,
    Passage as Passage,
    Ranking as Ranking,
    TermScore as TermScore,
)
from .snapshot import (
    Kept as Kept,
    Snapshot as Snapshot,
    UnusableSnapshotError as UnusableSnapshotError,
    read_snapshot as read_snapshot,
    write_snapshot as write_snapshot,
)
from .thread import (
    RecallThread as RecallThread,
)
from .tokenizer import (
    ENGLISH_STOP_WORDS as ENGLISH_STOP_WORDS,
    MAX_QUERY_LENGTH as MAX_QUERY_LENGTH,
    MAX_QUERY_TERMS as MAX_QUERY_TERMS,
    MAX_TERM_LENGTH as MAX_TERM_LENGTH,
    Tokenizer as Tokenizer,
)
from .turn_index import (
    TurnIndex as TurnIndex,
)
