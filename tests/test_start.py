"""What is much to import is imported by whoever needs it: a start is waited for by a person."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = {"openai", "aiohttp", "mcp", "genai_prices", "pypdf", "numpy", "twisted", "daphne"}
IN_THE_END = "print(json.dumps(sorted(sys.modules)))"
HELP = """
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    execute_from_command_line(["manage.py", "judge", "--help"])
"""
PAGE = """
answer = Client().get("/accounts/login/", headers={"host": "localhost"})
assert answer.status_code == 200
"""
IMPORTS = """
import contextlib, io, json, sys, django
from django.core.management import execute_from_command_line
from django.test import Client
django.setup()
"""


@pytest.mark.parametrize("done", ["", HELP, PAGE], ids=["set up", "judge --help", "first page"])
def test_nothing_heavy_is_imported_before_it_is_used(done, tmp_path):
    program = IMPORTS + done + IN_THE_END
    environment = os.environ | {"MAGI_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "magi_site.settings"}
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert not HEAVY.intersection(json.loads(ended.stdout))
