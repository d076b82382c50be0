"""Short conversations with questions, written for these tests: two in the form that LoCoMo has, one as chat JSON."""

from pathlib import Path
from typing import Any

import orjson


def question(text: str, *evidence: str, category: int = 4, answer: str | int = "-") -> dict[str, Any]:
    return {"question": text, "answer": answer, "evidence": list(evidence), "category": category}


def session(number: int, date: str, *texts: str) -> dict[str, Any]:
    """A session in which Ines and Paul take turns."""
    turns = [
        {"speaker": ("Ines", "Paul")[place % 2], "dia_id": f"D{number}:{place + 1}", "text": text}
        for place, text in enumerate(texts)
    ]
    return {f"session_{number}_date_time": date, f"session_{number}": turns}


KITCHEN: dict[str, Any] = {
    "sample_id": "kitchen",
    "conversation": {
        "speaker_a": "Ines",
        "speaker_b": "Paul",
        **session(
            1,
            "9:00 am on 3 March, 2024",
            "I bought a copper kettle in Porto last week.",
            "Nice! I still have my grandmother's waffle iron from Liege.",
            "My brother Rui now bakes rye bread every Sunday.",
        ),
        **session(
            2,
            "6:30 pm on 10 March, 2024",
            "The copper kettle is from Porto, did I say so?",
            "You did. I am allergic to walnuts, so please no walnut cake.",
        ),
    },
    "observation": {
        "session_1_observation": {
            "Ines": [
                ["Ines bought a copper kettle in Porto.", "D1:1"],
                ["Ines has a brother, Rui, who bakes rye bread.", "D1:3"],
            ],
            "Paul": [["Paul owns a waffle iron from Liege.", "D1:2"]],
        },
        "session_2_observation": {"Ines": [["Ines bought a copper kettle in Porto.", "D2:1"]]},
    },
    "qa": [
        question("Where did Ines get her copper kettle?", "D1:1", "D2:1", category=1, answer="in Porto"),
        question("What does Rui bake?", "D1:3", answer="rye bread"),
        question("What is Paul allergic to?", "D2:2", answer="walnuts"),
        question("Which waffle iron does Rui own?", "D1:2", category=5),
        question("What does nobody know?"),
    ],
}
"""Four observations, of which the first and the last say the same."""

GARDEN: dict[str, Any] = {
    "sample_id": "garden",
    "conversation": {
        "speaker_a": "Ines",
        "speaker_b": "Paul",
        **session(1, "8:15 am on 1 May, 2024", "I planted three fig trees.", "Mine died in the frost of 2021."),
    },
    "observation": {
        "session_1_observation": {
            "Ines": [["Ines planted three fig trees.", "D1:1"]],
            "Paul": [["Paul lost his fig trees to the frost of 2021.", "D1:2"]],
        }
    },
    "qa": [question("When did the frost kill Paul's trees?", "D1:2", category=2, answer=2021)],
}


TRIP: dict[str, Any] = {
    "name": "trip",
    "turns": [
        {
            "id": "1",
            "session": "1",
            "role": "user",
            "speaker": "Ines",
            "timestamp": "2024-05-08T18:05:00+00:00",
            "content": "I booked the ferry to Arran yesterday, 84 pounds.",
        },
        {
            "id": "2",
            "session": "1",
            "role": "assistant",
            "speaker": "Assistant",
            "timestamp": "2024-05-08T18:06:00+00:00",
            "content": "Noted. The ferry leaves from Ardrossan.",
        },
        {
            "id": "3",
            "session": "2",
            "role": "user",
            "speaker": "Ines",
            "timestamp": "2024-05-20T09:00:00+00:00",
            "content": "From now on write prices in euros, please.",
        },
    ],
    "questions": [
        {
            "id": "q1",
            "question": "When did Ines book the ferry?",
            "answer": "7 May 2024",
            "evidence": ["1"],
            "category": "temporal",
            "asked_at": "2024-11-02T10:00:00+00:00",
        },
        {"question": "Where does the boat leave?", "answer": "Ardrossan", "evidence": ["2"], "category": "single"},
        {"question": "How do I show prices?", "answer": "in euros", "evidence": ["3"], "category": "preference"},
    ],
}
"""A talk whose first question says when it is asked."""


def trip_file(folder: Path, **changed: Any) -> Path:
    """Write the talk as a file, with some of its fields changed."""
    path = folder / "trip.json"
    path.write_bytes(orjson.dumps(TRIP | changed, option=orjson.OPT_INDENT_2))
    return path


def quiz_file(folder: Path, *samples: dict[str, Any]) -> Path:
    """Write samples (by default both) as a file."""
    path = folder / "quizzes.json"
    path.write_bytes(orjson.dumps(list(samples or (KITCHEN, GARDEN))))
    return path
