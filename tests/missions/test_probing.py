"""The sandbox is tried before anything runs in it; where it does not hold, no command begins."""

import asyncio
import tempfile
import time

import pytest
from django.contrib.auth.models import User

from missions import sandbox_selftest, workspace
from missions.forms import submit_values
from missions.sandbox import probe_result
from missions.terminals.launcher import LaunchRefused
from tests.conftest import ScriptedModels, need, perform
from tests.missions.commands import ended
from tests.missions.scenes import finishes, mission, runs

GOT_OUT = "1 of 70 attempts got out of the sandbox: a socket for vsock."


def test_no_command_begins_before_the_sandbox_was_tried_nor_when_it_did_not_hold(workshop):
    home = workshop.launcher.home
    probe_result._file(home).unlink()
    with pytest.raises(LaunchRefused, match="was not yet tried on this machine"):
        workshop.begin("true")
    probe_result.save_result(home, False, GOT_OUT)
    with pytest.raises(LaunchRefused, match="a socket for vsock"):
        workshop.begin("true")
    probe_result.save_result(home, True, "")
    assert ended(workshop.begin("true"))["code"] == 0


def test_what_was_tried_on_another_boot_or_two_days_ago_says_nothing(tmp_path, monkeypatch):
    assert probe_result.save_result(tmp_path, True, "").holds
    now = time.time()
    monkeypatch.setattr(probe_result.time, "time", lambda: now + probe_result.DAY + 1)
    assert probe_result.last_result(tmp_path).due
    monkeypatch.setattr(probe_result.time, "time", lambda: now + 2 * probe_result.DAY + 1)
    assert probe_result.last_result(tmp_path) is None
    monkeypatch.undo()
    monkeypatch.setattr(probe_result, "_boot", lambda: "another")
    assert probe_result.last_result(tmp_path) is None


@pytest.fixture
def nobody_elses_place(settings):
    """What is kept there of the sandbox is asked by all tests that run commands, in other processes, too."""
    with tempfile.TemporaryDirectory(prefix="magi-missions-") as folder:
        settings.MISSIONS_DIR = folder
        yield


@pytest.mark.django_db
@pytest.mark.usefixtures("nobody_elses_place")
def test_a_sandbox_that_does_not_hold_refuses_new_missions_and_new_commands(mira: User):
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())
    probe_result.save_result(workspace.missions_folder(), True, "")
    models = ScriptedModels()
    row = mission(mira, runs("true"), finishes(unproven="Nothing runs."), models=models)
    probe_result.save_result(workspace.missions_folder(), False, GOT_OUT)
    _, problems = submit_values({"goal": "Say hello."})
    asyncio.run(perform(row.pk, models))
    finding = asyncio.run(sandbox_selftest.check_sandbox())
    assert "a socket for vsock" in str(problems)
    assert row.steps.get(number=1).result.startswith(f"not_begun: {GOT_OUT}")
    assert (finding.subject, finding.well) == ("sandbox", True)
