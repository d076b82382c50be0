"""Freeze what twelve and more stores hold, or compare: `python -m tests.oracle make|check [STORE ...]`."""

import argparse
import sys

from tests.oracle.freezing import FROZEN, differences, make, shown
from tests.oracle.stores import STORES


def main() -> int:
    """Make the frozen files anew, or show how what is differs from them; 1 if it does."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("what", choices=("make", "check"))
    parser.add_argument("stores", nargs="*", metavar="STORE", help="check only these")
    asked = parser.parse_args()
    if asked.what == "make":
        make()
        size = sum(path.stat().st_size for path in FROZEN.iterdir())
        print(f"Frozen: {len(STORES)} stores, {size / 1_000:,.0f} kB.")
        return 0
    unknown = set(asked.stores) - STORES.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(STORES)}")
    told = differences(asked.stores or STORES)
    print(shown(told) if told else "All as frozen.")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
