"""Who is compared, by name."""

from tests.bench.recall.engines import Engine, Ours, OursOkapi
from tests.bench.recall.rivals import Bm25sNumba, Bm25sNumpy, Fts5, RankBm25, Tantivy, TantivyFile

BASELINE, NUMPY, FTS5, OURS = "rank-bm25", "bm25s (NumPy)", "SQLite FTS5", "ours"
TANTIVY, TANTIVY_FILE = "tantivy (memory)", "tantivy (file)"

ENTRANTS: dict[str, type[Engine]] = {
    BASELINE: RankBm25,
    NUMPY: Bm25sNumpy,
    "bm25s (numba)": Bm25sNumba,
    TANTIVY: Tantivy,
    TANTIVY_FILE: TantivyFile,
    FTS5: Fts5,
    "ours, okapi": OursOkapi,
    OURS: Ours,
}
