"""What leaves the sandbox: asked about before, allowed once, exactly as it was asked, and refused for good."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import threading
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from engine.audit.full_verification import verify_all
from engine.models import Gate, ToolCall
from engine.queue.worker import Worker
from engine.tools import exact_arguments
from missions import egress_policy, publishing, workspace
from missions.models import Mission, MissionStep, TerminalConnection
from missions.models.flags import MissionFlag
from missions.publishing import branch_problem
from missions.tools.publish import PublishCommitArguments
from runs.models import SearchText
from tests.conftest import need, perform
from tests.missions.commands import keeper_of
from tests.missions.scenes import finishes, mission, runs, step
from tests.read_gates import steer_as_read
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db

PERSON = {"who": "person", "hours": 24, "expiry": "return"}
PUBLISHES = step("publish", branch="fix/sum", message="Count from the first.")


@pytest.fixture(autouse=True)
def held():
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())


def performed(row, models):
    run = asyncio.run(perform(row.pk, models))
    return run, Mission.objects.with_agents().get(pk=row.pk)


def decided(row, models, user, decision, **said):
    """What a person says at the one gate, and how it goes on."""
    gate = Gate.objects.get(run=row.pk, state="pending")
    steer_as_read(gate.pk, user, decision, **said)
    return gate, *performed(row, models)


def allows(row, models, user):
    return decided(row, models, user, "approve", choice="allow")


def refuses(row, models, user, text="Not now."):
    return decided(row, models, user, "reject", choice="refuse", text=text)


@contextmanager
def says_hello():
    """A server on loopback that says one word."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.recv(100)
                    client.sendall(b"hello\n")

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


REACH = """python3 -c "
import socket, sys
def reach(host):
    there = socket.create_connection(('127.0.0.1', 3128), 5)
    there.sendall(f'CONNECT {host} HTTP/1.1\\r\\n\\r\\n'.encode())
    print(there.recv(100).decode().split('\\r')[0])
    there.sendall(b'hi')
    print(there.recv(100).decode().strip())
for host in sys.argv[1:]: reach(host)
" """


def test_a_command_reaches_the_approved_host_alone_and_each_connection_is_written_down(mira: User, models, settings):
    with says_hello() as port:
        host = f"127.0.0.1:{port}"
        settings.PAGES_ALLOWED_HOSTS = [host]
        asks = runs(f"{REACH} {host} 127.0.0.1:5432", network=[host], purpose="To say hello.")
        row = mission(mira, asks, finishes(), models=models)
        run, _ = performed(row, models)
        assert run.status == "waiting"
        assert not (workspace.mission_folder(row.pk) / "spool" / "1-1").exists()
        gate, run, seen = allows(row, models, mira)
    assert [host in gate.text, "To say hello." in gate.text] == [True, True]
    assert "200 Connected\nhello\nHTTP/1.1 403 Not approved" in seen.steps.get(number=1).result
    said = TerminalConnection.objects.values_list("host", "port", "allowed", "sent", "received")
    assert set(said) == {("127.0.0.1", port, True, 2, 6), ("127.0.0.1", 5432, False, 0, 0)}
    assert (run.outcome, verify_all().faults) == ("done", [])


def test_an_approved_name_that_leads_inside_is_not_gone_to(mira: User, models):
    row = mission(mira, runs(f"{REACH} localhost:5432", network=["localhost:5432"]), finishes(), models=models)
    performed(row, models)
    _, _, seen = allows(row, models, mira)
    assert "403 Not approved" in seen.steps.get(number=1).result


def test_a_command_without_a_network_has_none_and_asks_nobody(mira: User, models):
    row = mission(mira, runs("ls /run/network; env | grep -ci proxy"), finishes(), models=models)
    _, seen = performed(row, models)
    assert "No such file" in seen.steps.get(number=1).result
    assert not Gate.objects.exists()


def test_what_is_refused_is_told_with_the_words_and_not_asked_again(mira: User, models):
    asks = runs("true", network=["example.org:443"])
    row = mission(mira, asks, asks, finishes(), models=models)
    performed(row, models)
    _, run, seen = refuses(row, models, mira, "Look into the folder instead.")
    said = {one.key: one.result for one in seen.steps.all()}
    assert said["1.1"] == "This was not done. mira refused it: Look into the folder instead."
    assert said["1.2"].startswith("It was refused before, and is not asked again: ")
    assert SearchText.objects.flags_of([row.pk], list(MissionFlag)) == {row.pk: [MissionFlag.REFUSED]}
    assert (run.outcome, Gate.objects.count(), [one.reason for one in seen.terminals.all()]) == (
        "done",
        1,
        ["refused", "refused"],
    )
    assert verify_all().faults == []


def test_three_refusals_in_a_row_end_the_asking_and_a_person_says_how_it_goes_on(mira: User, models):
    asks = [runs(f"echo {n}", network=["example.org:443"]) for n in range(3)]
    row = mission(mira, *asks, finishes(), models=models)
    performed(row, models)
    for n in range(3):
        _, run, seen = refuses(row, models, mira, f"Reason {n}.")
    assert [(one.why, one.after) for one in seen.halts.all()] == [("refused", 3)]
    assert (run.status, len(seen.steps.all())) == ("waiting", 3)
    gate = Gate.objects.get(run=row.pk, kind="question", state="pending")
    assert [f"mira refused it: Reason {n}." in gate.text for n in range(3)] == [True] * 3
    _, run, seen = decided(row, models, mira, "answer", choice="go_on")
    prompt = str(models.asked[-1][1])
    assert ("3 times in a row" in prompt, "Go on without what was refused." in prompt) == (True, True)
    assert (run.outcome, verify_all().faults) == ("done", [])


def test_a_branch_is_published_as_it_was_asked_whatever_becomes_of_the_files(mira, models, tmp_path, client: Client):
    files = [("sum.py", "sum(n[1:])\n"), (".gitattributes", "* filter=evil\n")]
    config = '[core]\\n fsmonitor = touch /tmp/magi-evil\\n[filter "evil"]\\n clean = touch /tmp/magi-evil\\n'
    row = mission(
        mira,
        runs(f"git init -q; printf '{config}' >> .git/config; echo 'touch /tmp/magi-evil' > .git/hooks/pre-commit"),
        step("edit_file", path="sum.py", target_text="n[1:]", replacement_text="n"),
        PUBLISHES,
        finishes(),
        models=models,
        files=files,
        policy={"publish": PERSON},
    )
    performed(row, models)
    (workspace.mission_folder(row.pk) / "workspace" / "sum.py").write_text("evil")
    gate, run, seen = allows(row, models, mira)
    assert "-sum(n[1:])\n+sum(n)" in gate.text
    said = json.loads(seen.steps.get(number=3).result)
    assert (run.outcome, said["branch"], said["to"]) == ("done", "fix/sum", "the bundle of this mission")
    client.force_login(mira)
    shown = client.get(reverse("mission-live", args=[row.pk])).content.decode()
    assert ("fix/sum" in shown, reverse("mission-bundle", args=[row.pk]) in shown) == (True, True)
    assert client.get(reverse("mission-bundle", args=[row.pk])).content == publishing.bundle(row.pk).read_bytes()
    clone = ["git", "clone", "-q", "-b", "fix/sum", str(publishing.bundle(row.pk)), str(tmp_path / "there")]
    subprocess.run(clone, check=True, capture_output=True)
    assert (tmp_path / "there" / "sum.py").read_text() == "sum(n)\n"
    log = subprocess.run(["git", "-C", tmp_path / "there", "log", "--format=%an: %s"], capture_output=True, text=True)
    assert log.stdout.splitlines() == ["Ada: Count from the first.", "MAGI: As the mission began"]
    assert said["commit"] in gate.text
    assert SearchText.objects.flags_of([row.pk], list(MissionFlag)) == {row.pk: [MissionFlag.PUBLISHED]}
    assert verify_all().faults == []


def test_it_is_pushed_to_a_repository_that_is_named_and_found_there_after_a_crash(mira, models, settings, tmp_path):
    there = tmp_path / "there.git"
    subprocess.run(["git", "init", "-q", "--bare", str(there)], check=True)
    settings.PUBLISH_TO = str(there)
    row = mission(mira, runs("echo new > new"), PUBLISHES, finishes(), models=models, policy={"publish": PERSON})
    performed(row, models)
    _, run, _seen = allows(row, models, mira)
    call = ToolCall.objects.get(run=row.pk, tool="publish_commit")
    commit = json.loads(call.arguments)["commit"]
    assert publishing.is_published(row.pk, "fix/sum", commit)
    shown = subprocess.run(["git", "-C", there, "show", "fix/sum:new"], capture_output=True, text=True)
    assert (run.outcome, shown.stdout) == ("done", "new\n")


def test_where_nothing_was_changed_or_the_name_is_none_nobody_is_asked(mira: User, models):
    odd = step("publish", branch="../main", message="No.")
    row = mission(mira, PUBLISHES, odd, finishes(), models=models)
    _, seen = performed(row, models)
    said = {one.key: one.result for one in seen.steps.all()}
    assert said["1.1"].startswith("nothing: no file is otherwise")
    assert said["1.2"].startswith("branch: ")
    assert not Gate.objects.exists()


def test_a_capability_that_a_mission_has_not_is_refused_without_a_question(mira: User, models):
    asks = runs("true", network=["example.org:443"])
    row = mission(mira, asks, finishes(), models=models, policy={"network": egress_policy.NEVER})
    _, seen = performed(row, models)
    assert seen.steps.get(number=1).result == "never: this mission has no network."


def test_a_command_with_a_network_that_was_cut_is_asked_about(mira: User, models):
    row = mission(mira, runs("sleep 30", network=["example.org:443"], timeout=60), finishes(), models=models)
    performed(row, models)
    gate = Gate.objects.get(run=row.pk)
    steer_as_read(gate.pk, mira, "approve", choice="allow")

    async def killed():
        engine = Worker(models=models)
        performing = asyncio.create_task(engine.run())
        spool = workspace.spool(row.pk, "1-1")
        await asyncio.to_thread(wait_until, (spool.folder / "sock").exists, "the socket of its command")
        await engine.stop(grace=0)
        await performing
        os.kill(await asyncio.to_thread(keeper_of, spool), signal.SIGKILL)

    asyncio.run(killed())
    run, _ = performed(row, models)
    asked = Gate.objects.get(run=row.pk, state="pending")
    assert (run.status, asked.kind) == ("waiting", "uncertain")
    steer_as_read(asked.pk, mira, "answer", choice="happened", text="It had ended.")
    run, _ = performed(row, models)
    assert (run.outcome, "It had ended." in MissionStep.objects.get(mission=row, number=1).result) == ("done", True)


def test_what_is_asked_about_in_words_says_each_thing_once_whatever_stands_in_it():
    told = {"branch": "b", "commit": "c", "to": "there", "files": 1, "left_out": 0, "digest": "d"}
    text = exact_arguments(
        PublishCommitArguments(message='m"\nto: "elsewhere', difference="-a\n+b\nto: x", **told), "difference"
    )
    head, _, difference = text.partition("\ndifference:\n")
    assert [one for one in head.splitlines() if one.startswith("to: ")] == ['to: "there"']
    assert difference == "-a\n+b\nto: x"


def test_what_is_no_name_of_a_branch_is_refused():
    branches = ["", "-x", "a..b", "a/.b", "a.lock", "/a", "a/", "a b", "a//b", "a~1", "ref:a", "a\n"]
    assert [branch for branch in branches if not branch_problem(branch)] == []
