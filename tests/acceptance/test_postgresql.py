import pytest

from tests.acceptance.site import environment, judge
from tests.conftest import JAPAN


@pytest.mark.slow  # a role that owns nothing judges by day: test_application_role.py
def test_the_command_line_judges_in_a_new_postgresql_database(postgres_database, tmp_path):
    env = environment(tmp_path, DATABASE_URL=postgres_database, MAGI_DEFAULT_MODEL="rehearsal/instant")
    status, judgement = judge(JAPAN, env=env)
    assert status in (0, 1)
    assert sum(len(agent["decisions"]) for agent in judgement["agents"]) == 9
