"""A merge tells each sentence of its sources."""

import pytest

from agentcore.recall import Tokenizer
from dream.guards import builtin_vocabulary, untold

ASPIRIN, MALMOE = "Omar takes pills for his heart.", "Omar works in Malmö."


def left_out(text: str, *sources: str) -> list[str]:
    return untold(sources, text, builtin_vocabulary(), Tokenizer())


@pytest.mark.parametrize(
    ("text", "sources", "lost"),
    [
        (MALMOE, (ASPIRIN, MALMOE), [ASPIRIN]),
        (MALMOE, (f"{ASPIRIN} {MALMOE}",), [ASPIRIN]),
        ("Bo likes jazz.", ("Bo likes jazz.", "Bo hates musicals."), ["Bo hates musicals."]),
        ("Mia schwimmt montags.", ("Mia schwimmt montags.", "Mia tanzt ungern."), ["Mia tanzt ungern."]),
        ("Lia répare des vélos.", ("Lia répare des vélos.", "Lia rêve d'un bateau."), ["Lia rêve d'un bateau."]),
        ("王敏住在北京。", ("王敏住在北京。", "王敏正在学习法语。"), ["王敏正在学习法语。"]),
        ("Ravi rows. He sings.", ("Ravi rows. He sings.", "Ravi rows. He paints boats."), ["He paints boats."]),
    ],
)
def test_a_sentence_that_the_text_passes_over_is_found_though_a_name_is_shared(
    text: str, sources: tuple[str, ...], lost: list[str]
):
    assert left_out(text, *sources) == lost


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("Omar works in Malmö and takes pills for his heart.", (ASPIRIN, MALMOE)),
        ("Ana lives in Porto with Rui.", ("Ana lives in Porto.", "Ana lives in Porto with Rui.")),
        ("Two publishers turned the novel down.", ("The novel was turned down by two publishers.",)),
        ("Mr. Petersen raised the rent.", ("The landlord, Mr. Petersen, raised the rent.",)),
        # What has a name or a number of its own is compared by that.
        ("Lantern: Rust, SQLite.", ("Project Lantern is written in Rust.", "Lantern uses SQLite.")),
    ],
)
def test_what_is_told_in_other_words_or_another_order_is_not_missed(text: str, sources: tuple[str, ...]):
    assert left_out(text, *sources) == []


def test_a_text_tells_itself_whatever_its_sentences():
    text = "Ana rows. She sings, too. No rain!\n“Really?”  And then: 14:30 at St. Mary's."
    assert left_out(text, text) == []
