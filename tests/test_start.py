"""What is much to import is imported by whoever needs it: a start is waited for by a person."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine import tables
from tests.acceptance.site import migrated

ROOT = Path(__file__).resolve().parent.parent
HEAVY = {"openai", "aiohttp", "mcp", "genai_prices", "pypdf", "numpy", "twisted", "daphne", "redis"}
PAGES = {"magi_site.urls", "debates.face", "inquiries.face", "missions.face", "plans.face", "runs.admin.runs"}
NOT_BEFORE_PAGES = {*HEAVY, *PAGES}
NOT_BEFORE_MODELS = {*NOT_BEFORE_PAGES, "httpx2", "django.db.migrations.executor"}
IN_THE_END = "print(json.dumps(sorted(sys.modules)))"
JUDGE = """
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    execute_from_command_line(["manage.py", "judge", "May we?", "--no-wait"])
from engine.models import Run
assert Run.objects.count() == 1
"""
PAGE = """
answer = Client().get("/accounts/login/", headers={"host": "localhost"})
assert answer.status_code == 200
"""
IMPORTS = """
import contextlib, io, json, sys, django
from django.core.management import execute_from_command_line
django.setup()
"""


@pytest.mark.parametrize(
    ("done", "never"),
    [("", NOT_BEFORE_MODELS), (JUDGE, NOT_BEFORE_MODELS), (f"from django.test import Client\n{PAGE}", HEAVY)],
    ids=["set up", "judge", "first page"],
)
def test_nothing_heavy_is_imported_before_it_is_used(done, never, tmp_path):
    shutil.copy(migrated(), tmp_path / "magi.sqlite3")
    environment = os.environ | {"MAGI_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "magi_site.settings"}
    program = [sys.executable, "-c", IMPORTS + done + IN_THE_END]
    ended = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert not never.intersection(json.loads(ended.stdout))


@pytest.mark.django_db
def test_a_start_makes_the_migrations_that_were_not_made(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(tables, "call_command", lambda name, **_: asked.append(name))
    tables.migrate()
    monkeypatch.setattr(tables, "_there", lambda: {("engine", "0999_later")})
    tables.migrate()
    assert asked == ["migrate"]
