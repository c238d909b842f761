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
PAGES = {"magi_site.urls", "debates.spec", "inquiries.spec", "missions.spec", "plans.spec", "runs.admin.runs"}
NOT_BEFORE_PAGES = {*HEAVY, *PAGES}
NOT_BEFORE_MODELS = {*NOT_BEFORE_PAGES, "httpx2", "django.db.migrations.executor"}
JUDGE = """
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    execute_from_command_line(["manage.py", "judge", "May we?", "--no-wait"])
from engine.models import Run
assert Run.objects.count() == 1
"""
PAGE = """
from django.test import Client
answer = Client().get("/accounts/login/", headers={"host": "localhost"})
assert answer.status_code == 200
"""
SET_UP = """
import contextlib, io, json, sys, django
from django.core.management import execute_from_command_line
loaded = []
django.setup()
"""
KEEP = "loaded.append(sorted(sys.modules))\n"
PROGRAM = "".join((SET_UP, KEEP, JUDGE, KEEP, PAGE, KEEP, "print(json.dumps(loaded))"))


def test_nothing_heavy_is_imported_before_it_is_used(tmp_path):
    shutil.copy(migrated(), tmp_path / "magi.sqlite3")
    environment = os.environ | {"MAGI_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "magi_site.settings"}
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    set_up, judged, shown = map(set, json.loads(ended.stdout))
    assert not NOT_BEFORE_MODELS & set_up, "after the set-up"
    assert not NOT_BEFORE_MODELS & judged, "after a judgement was submitted"
    assert not HEAVY & shown, "after the first page"


@pytest.mark.django_db
def test_a_start_makes_the_migrations_that_were_not_made(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(tables, "call_command", lambda name, **_: asked.append(name))
    tables.migrate()
    monkeypatch.setattr(tables, "_there", lambda: {("engine", "0999_later")})
    tables.migrate()
    assert asked == ["migrate"]
