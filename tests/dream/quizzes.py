"""Two short conversations with questions, written for these tests, in the form that LoCoMo has."""

from pathlib import Path
from typing import Any

import orjson


def question(text: str, *evidence: str, category: int = 4) -> dict[str, Any]:
    return {"question": text, "answer": "-", "evidence": list(evidence), "category": category}


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
        question("Where did Ines get her copper kettle?", "D1:1", "D2:1", category=1),
        question("What does Rui bake?", "D1:3"),
        question("What is Paul allergic to?", "D2:2"),
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
    "qa": [question("When did the frost kill Paul's trees?", "D1:2", category=2)],
}


def quiz_file(folder: Path, *samples: dict[str, Any]) -> Path:
    """Write samples (by default both) as a file."""
    path = folder / "quizzes.json"
    path.write_bytes(orjson.dumps(list(samples or (KITCHEN, GARDEN))))
    return path
