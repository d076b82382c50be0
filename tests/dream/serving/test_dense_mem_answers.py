"""What Dense-Mem's routes and tools answer is what the page on parity shows."""

from dense_mem_story import answered, on_the_page


async def test_routes_and_tools_answer_what_the_page_on_parity_shows():
    shown = on_the_page()
    same = await answered() == shown
    assert same, "if that is meant, `python -m tests.dream.serving.dense_mem_story` writes the page anew"
    assert len(shown) == 7
