from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import override_settings

from tests.conftest import person
from tests.tools.offline import exported


@pytest.fixture(autouse=True)
def _own_checkpoint_file(settings, tmp_path):
    settings.CHECKPOINT_FILE = tmp_path / "checkpoints"


@pytest.fixture(scope="session")
def _exported(performed, tmp_path_factory) -> Callable[[], tuple[str, str]]:
    with override_settings(CHECKPOINT_FILE=tmp_path_factory.mktemp("exported") / "checkpoints"):
        return performed(lambda: exported(person("mira"), person("reviewer")))


@pytest.fixture
def bundle(_exported: Callable[[], tuple[str, str]], db: None, tmp_path: Path) -> Path:
    """Approved, rejected after a complaint, failed and tried again, cancelled, and with reviews."""
    text, anchor = _exported()
    (tmp_path / "checkpoints").write_text(anchor)
    file = tmp_path / "bundle.jsonl"
    file.write_text(text)
    return file
