"""What a browser loads beside the page."""

from pathlib import Path

import dream.interfaces.page

_STATIC = Path(dream.interfaces.page.__file__).parent / "static"


def test_scripts_and_styles_take_at_most_200_kb():
    assets = [path for path in _STATIC.rglob("*") if path.suffix in {".js", ".css", ".svg"}]
    assert {"page.js", "page.css", "htmx.min.js", "uplot.min.js"} <= {path.name for path in assets}
    assert sum(path.stat().st_size for path in assets) <= 200_000
