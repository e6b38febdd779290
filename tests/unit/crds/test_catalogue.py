"""No row of the in-tree catalogue is forgotten: 6.7 has V36-01..57, 6.8 has V36-60..77."""

import re
from pathlib import Path

CONFORMANCE = Path(__file__).parents[2] / "conformance"


def test_every_row_is_somewhere() -> None:
    sources = [*CONFORMANCE.glob("validation/*_rows.py"), *CONFORMANCE.glob("test_*_rows.py")]
    named = [found for path in sources for found in re.findall(r"[vV]36[-_]\d\d(?:_\d\d)*", path.read_text())]
    rows = {int(number) for name in named for number in re.findall(r"\d\d", name[3:])}
    assert {*range(1, 58), *range(60, 78)} <= rows
