"""The record of a run as one file, with what verifies it."""

import io
import subprocess
import sys
import zipfile

import pytest
from django.urls import reverse

from engine.ledger import signing
from tests.conftest import submitted

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(page, approved_judgement, tmp_path):
    run = approved_judgement.run
    packed = page.get(reverse("evidence", args=[run.pk]))
    zipfile.ZipFile(io.BytesIO(packed.content)).extractall(tmp_path)
    return tmp_path / f"magi-{str(run.pk)[:8]}"


def verified(folder, *words):
    command = [sys.executable, "-I", "verify.py", "record.json", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_what_the_letter_says_is_done_and_comes_true(folder):
    [line] = [line.strip() for line in (folder / "LETTER.txt").read_text().split("\n") if "python3 verify.py" in line]
    assert line == f"python3 verify.py record.json --key '{signing.verifier_key()}'"
    assert verified(folder, "--key", signing.verifier_key()).returncode == 0
    assert verified(folder).returncode == 3
    assert "open http://127.0.0.1:8000/check/ in a browser" in (folder / "LETTER.txt").read_text()


def test_what_was_changed_in_it_is_named(folder):
    record = folder / "record.json"
    record.write_text(record.read_text().replace("Japan", "Spain", 1))
    assert verified(folder, "--key", signing.verifier_key()).returncode == 1


def test_the_same_run_is_the_same_file(page, approved_judgement):
    address = reverse("evidence", args=[approved_judgement.pk])
    assert page.get(address).content == page.get(address).content


def test_nobody_else_is_given_it(client, noor, mira):
    client.force_login(noor)
    assert client.get(reverse("evidence", args=[submitted(mira).pk])).status_code == 404
