"""Shapes of MEMORY.md as people write them."""

from typing import Final

SHAPES: Final = {
    "plain": (
        "# MEMORY.md\n\n## People\n\n- Ana likes tea.\n- Bo moved to Faro.\n\n## Work\n\n- The build runs at 07:00.\n"
    ),
    "nested lists": (
        "## Trips\n\n- Lisbon\n  - in May 2023\n    - with Ana\n  - the hotel was full\n"
        "- Porto\n\n  A paragraph of its own.\n\n  - by train\n"
    ),
    "ordered and tasks": (
        "1. first\n2. second\n   continues here\n10) other mark\n\n- [ ] call Bo\n- [x] pay the rent\n* star\n+ plus\n"
    ),
    "tables": "## Prices\n\n| what | euros |\n|---|---|\n| tea | 3 |\n\n- The table is of June.\n",
    "code fences": (
        "- Run this:\n\n  ```sh\n  # no heading\n  - no bullet\n  ```\n\n~~~\n- neither\n~~~\n- after it\n"
    ),
    "front matter": "---\ntitle: Memory\ntags: [a, b]\n---\n# Memory\n\n- Ana likes tea.\n",
    "HTML comments": (
        "<!-- of the team -->\n- Ana likes tea. <!-- since May -->\n\n<!-- keep -->\n"
        "- Never remove this.\n\n<!-- /keep -->\n- This may go.\n"
    ),
    "CRLF": "# Memory\r\n\r\n- Ana likes tea.\r\n- Bo moved.\r\n",
    "a byte order mark and no last line end": "\ufeff# Memory\n\n- Ana likes tea.\n- Bo moved.",
    "CJK": "# 記憶\n\n## 人物\n\n- 田中さんは京都に住んでいる。\n- 会議は毎週火曜日です。\n\n段落もあります。\n",
    "right to left": "# ذاكرة\n\n- تحب آنا الشاي.\n- انتقل بو إلى لشبونة.\n",
    "setext and duplicate headings": (
        "Memory\n======\n\nPeople\n------\n\n- Ana\n\n## People\n\n- Ana\n\n### Notes\n\n## Notes\n\n- Ana\n"
    ),
    "quotes and rules": "> - quoted bullet\n> text\n\n---\n\n- after a rule\n***\n- after another\n",
    "merge conflict": "- before\n<<<<<<< HEAD\n- mine\n=======\n- theirs\n>>>>>>> other\n- after\n",
    "lazy and loose": "- a bullet\nthat goes on lazily\n\n- a loose one\n\n\n- after two blanks\n\n\n\n",
    "tabs and odd spaces": "-\tTab after the mark\n-   three blanks\n  - indented by two\n\n\tcode by a tab\n",
    "mixed line ends": "- one\r\n- two\n- three\r- four\n",
    "odd characters": "- a line\u2028separator and a form\x0cfeed\n- e\u0301 and 👩‍👩‍👧 and \u202eback\n",
    "prose alone": "Ana likes tea.\nShe drinks it at five.\n\nBo does not.\n",
    "broken": "# \n\n- \n-\n*\n```\nnever closed\n- a\n",
    "empty": "",
    "blank": "\n\n  \n",
    "marks in one line": "- - twice\n- 1. thrice\n- # a heading in a bullet\n",
}
