"""How well true statements are told from faulty ones: by words alone, and by a second reading.

python -m tests.bench.guards                   # the judge of words on the statements of tests/data/statements
python -m tests.bench.guards --wrong           # and each statement of the development half that is judged wrongly
python -m tests.bench.guards --set verified    # and what a second reading lets in of them
python -m tests.bench.guards --set conclusions # what the host makes of conclusions, before a reader sees them
"""

import argparse
import asyncio
from pathlib import Path

from tests.bench import conclusion_readings, conclusion_set, reading_desk, second_readings, statement_set


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="print what is judged wrongly of the development half")
    parser.add_argument("--set", choices=("words", "verified", "conclusions"), default="words", help="who judges")
    parser.add_argument("--desk", type=Path, help="with verified or conclusions: a model's questions and answers")
    parser.add_argument("--keep", action="store_true", help="with a desk: keep its readings in tests/data/statements")
    asked = parser.parse_args()
    if asked.set == "conclusions":
        if asked.desk is not None:
            print(asyncio.run(conclusion_readings.keep(asked.desk, (one.row for one in conclusion_set.cases()))))
        print(conclusion_set.tables())
        return
    if asked.set == "verified":
        if asked.desk is not None and asked.keep:
            reading_desk.keep(asked.desk)
        print(second_readings.tables() if asked.desk is None else reading_desk.at_desk(asked.desk))
        return
    found = statement_set.measured()
    print(statement_set.tables(found))
    times = statement_set.seconds_each()
    middle, most = (1000 * times[int(share * len(times))] for share in (0.5, 0.99))
    print(f"\nmilliseconds a judgement: median {middle:.2f}, 99 of 100 under {most:.2f}")
    if asked.wrong:
        print(*(one.account for one in found["development"] if statement_set.is_wrong(one)), sep="\n")


if __name__ == "__main__":
    main()
