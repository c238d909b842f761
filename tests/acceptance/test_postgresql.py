import subprocess
import sys

from tests.acceptance.site import ROOT, environment, judge
from tests.conftest import JAPAN


def test_every_database_test_passes_on_postgresql_too(postgres_url, tmp_path):
    folders = ["tests/engine", "tests/judgements", "tests/magi_site", "tests/test_tampering.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "database and not alone", *folders]
    env = environment(tmp_path, DATABASE_URL=postgres_url)
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]


def test_the_command_line_judges_in_a_new_postgresql_database(postgres_database, tmp_path):
    env = environment(tmp_path, DATABASE_URL=postgres_database, MAGI_DEFAULT_MODEL="rehearsal/instant")
    status, judgement = judge(JAPAN, env=env)
    assert status in (0, 1)
    assert sum(len(agent["decisions"]) for agent in judgement["agents"]) == 9
