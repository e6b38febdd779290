import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "hack"))

from tests.unit.made_up_machine import ORDINARY, ROOT_USER, install, install_real


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder for a path, with a machine's ordinary programs."""
    install_real(tmp_path, *ORDINARY)
    install(tmp_path, "uname", "echo Linux")
    install(tmp_path, "id", ROOT_USER)
    return tmp_path
