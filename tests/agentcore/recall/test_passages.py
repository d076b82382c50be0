"""Long texts are cut into passages of whole sentences."""

from hypothesis import given, strategies as st

from agentcore.recall import cut_passages

TEXTS = st.lists(
    st.sampled_from(
        ["Ana moved. ", "\n", "- one\n", "你好。", "word ", "x" * 90, "é" * 40, "\t\n ", "「はい。」", "ab? "]
    ),
    max_size=60,
).map("".join)


@given(text=TEXTS, tokens=st.integers(1, 30))
def test_passages_hold_everything_but_white_space_in_order_and_within_their_size(text: str, tokens: int):
    spans = cut_passages(text, tokens)
    if len(text.encode()) <= 4 * tokens:
        assert spans == [(0, len(text))]
        return
    if not text.strip():
        assert spans == [(0, len(text))]
        return
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())
    ends = [0, *(end for _, end in spans), len(text)]
    starts = [0, *(start for start, _ in spans), len(text)]
    assert all(text[end:start].strip() == "" for end, start in zip(ends[:-1], starts[1:], strict=True))
    assert all(len(text[start:end].encode()) <= max(4 * tokens, 4) for start, end in spans)
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)


def test_sentences_stay_whole_and_code_and_lists_are_cut_at_their_lines():
    text = "We begin. Then we cook rice!\n```\nfor x in rows:\n    print(x)\n```\n- eggs and milk\n- bread"
    parts = [text[start:end] for start, end in cut_passages(text, 8)]
    assert parts == [
        "We begin. Then we cook rice!",
        "```\nfor x in rows:\n    print(x)",
        "```\n- eggs and milk\n- bread",
    ]


def test_a_language_without_spaces_is_cut_at_its_full_stops():
    text = "林晓搬到了成都。她的猫叫年糕。她在一家公司工作。"
    assert [text[start:end] for start, end in cut_passages(text, 8)] == [
        "林晓搬到了成都。",
        "她的猫叫年糕。",
        "她在一家公司工作。",
    ]


def test_a_word_without_an_end_is_cut_where_it_is_full():
    spans = cut_passages("x" * 100_000, 80)
    assert (len(spans), spans[0], spans[-1]) == (313, (0, 320), (99_840, 100_000))
