from pathlib import Path

import pytest
from django.contrib.auth.models import User

from tests.databases import copied
from tests.tools.offline import exported


@pytest.fixture(autouse=True)
def _own_checkpoint_file(settings, tmp_path):
    settings.CHECKPOINT_FILE = tmp_path / "checkpoints"


@pytest.fixture
def bundle(_own_checkpoint_file: None, mira: User, reviewer: User, tmp_path: Path) -> Path:
    """Approved, rejected after a complaint, failed and tried again, cancelled, and with reviews."""
    text, anchor = copied(exported)(mira, reviewer)
    (tmp_path / "checkpoints").write_text(anchor)
    file = tmp_path / "bundle.jsonl"
    file.write_text(text)
    return file
