"""The BM25 index: postings in arrays, and searches that leave most of them unread."""
