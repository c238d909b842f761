import shutil
import tempfile
from pathlib import Path

import pytest

from missions.sandbox.bwrap import available
from tests.conftest import need
from tests.missions.commands import Workshop


@pytest.fixture
def workshop():
    need("sandbox", not available(), available())
    home = Path(tempfile.mkdtemp(prefix="magi-missions-"))  # that of pytest is closed to others
    made = Workshop(home)
    yield made
    made.close()
    shutil.rmtree(home)
