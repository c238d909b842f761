"""The client package against a real server: runs of all kinds, and functions behind a gate."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.acceptance.site import ROOT, ServedSite, manage, play
from tests.acceptance.test_api import token_of
from tests.conftest import EVERYTHING, need
from tests.crash.caller import COUNCIL, MAKE

sys.path.insert(0, str(ROOT / "client"))
from magi import AlreadyDone, AsyncMagi, Magi, MagiError, MagiUnreachable, NotApproved, gate

NO = MAKE.replace("Approve everything.", "Reject everything.").replace(f'"{COUNCIL}"', '"No"')


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("client"), MAGI_DEFAULT_MODEL="rehearsal/instant") as site:
        assert manage("shell", "-c", MAKE + NO, env=site.env).returncode == 0
        site.token = token_of(site)
        yield site


@pytest.fixture(scope="module")
def magi(site):
    return Magi(site.url, site.token)


def test_a_judgement_is_waited_for_and_a_rehearsal_is_no_approval(magi):
    run = magi.judge("Deploy on Friday.", council=COUNCIL, title="Friday")
    assert (run.kind, run.over, run.holds, run.approved, run.title) == ("judgement", True, "approved", False, "Friday")
    assert magi.judge("Deploy on Friday.", council="No").holds == "rejected"
    assert run.id in [one.id for one in magi.runs(kind="judgement", q="Friday")]
    assert magi.record(run.id)["id"] == run.id


def test_other_kinds_are_begun_waited_for_and_cancelled(magi):
    members = [{"name": name, "who": "Somebody.", "model": "rehearsal/instant"} for name in ("Ada", "Ben")]
    options = [{"word": "MOVE", "direction": "for"}, {"word": "STAY", "direction": "against"}]
    assert magi.debate("Shall we move?", options=options, members=members, most=6).over
    assert magi.ask("Is it so?", documents=[{"title": "a.txt", "text": "It is so."}]).over
    plan = magi.plan("Write to Ada Lovelace about the review.", team="People")
    assert plan.waits_for_people or plan.over
    if not plan.over:
        assert magi.cancel(plan.id).status == "cancelled"


def test_it_can_be_awaited(site):
    async def both():
        magi = AsyncMagi(site.url, site.token)
        return await asyncio.gather(*(magi.judge(f"Number {n}", council=COUNCIL) for n in range(3)))

    assert [run.holds for run in asyncio.run(both())] == ["approved"] * 3


def test_what_is_refused_is_said_in_magis_sentence(magi, site):
    with pytest.raises(MagiError, match="council") as error:
        magi.judge("x", council="Nobody")
    assert error.value.status == 422
    with pytest.raises(MagiError, match="token"):
        Magi(site.url, "magi_no").councils()
    with pytest.raises(ValueError, match="https"):
        Magi("file:///etc/passwd", "x")


def test_a_token_from_a_file_works_and_no_token_is_ever_repeated(site):
    assert Magi(site.url, f"{site.token}\n").councils()
    with pytest.raises(ValueError, match="The token is none") as refused:
        Magi(site.url, "magi_se\ncret")
    assert "cret" not in str(refused.value)


def test_nobody_there_is_said_and_is_no_approval():
    magi = Magi("http://127.0.0.1:9", "x", timeout=1)
    magi._wire._once  # noqa: B018
    with pytest.raises(MagiUnreachable):
        magi._wire._once("GET", "/councils", None, "")


# ---- a gate ---------------------------------------------------------------------------------------------------


def test_a_function_runs_only_where_exactly_its_call_was_approved(magi):
    done = []

    @gate(COUNCIL, magi=magi, rehearsal=True)
    def deploy(release, *, to="staging"):
        done.append((release, to))
        return "deployed"

    @gate("No", magi=magi, rehearsal=True)
    def drop(table):
        done.append(table)

    assert deploy("4.12") == "deployed"
    with pytest.raises(NotApproved, match="rejected") as refused:
        drop("users")
    assert refused.value.run.holds == "rejected"
    assert "drop" in refused.value.run.all["content"]
    assert '"table": "users"' in refused.value.run.all["content"]
    assert done == [("4.12", "staging")]


def test_a_rehearsals_yes_opens_nothing_unless_that_is_said(magi):
    done = []
    with pytest.raises(NotApproved, match="rehearsal"):
        gate(COUNCIL, magi=magi)(lambda word: done.append(word))("x")
    assert done == []


def test_a_key_is_one_act_whoever_comes_and_however_often(magi):
    done = []

    @gate(COUNCIL, magi=magi, key=lambda release: f"Release “{release}”, 東京", rehearsal=True)
    def deploy(release):
        done.append(release)

    deploy("4.13")
    for _ in range(2):
        with pytest.raises(AlreadyDone):
            deploy("4.13")
    assert done == ["4.13"]


def test_arguments_that_change_meanwhile_change_nothing(magi):
    done, asked = [], {"to": "staging"}

    class Changing(Magi):
        def consume(self, *args, **more):
            asked["to"] = "production"
            return super().consume(*args, **more)

    @gate(COUNCIL, magi=Changing(magi._wire.url, magi._wire._token), rehearsal=True)
    def deploy(what):
        done.append(what)

    deploy(asked)
    assert (done, asked) == ([{"to": "staging"}], {"to": "production"})


def test_arguments_that_are_no_json_are_refused_before_anybody_is_asked(magi):
    with pytest.raises(TypeError):
        gate(COUNCIL, magi=magi)(lambda what: None)(object())


def test_a_coroutine_is_gated_too(magi):
    @gate(COUNCIL, magi=magi, rehearsal=True)
    async def deploy(release):
        return release

    assert asyncio.run(deploy("4.14")) == "4.14"


def test_kills_between_approval_and_act_make_no_act_twice(tmp_path):
    done = play("tests.crash.kill", "caller", "--kills", "6" if EVERYTHING else "1", data=tmp_path)
    assert done.returncode == 0, done.stdout


# ---- from a shell ---------------------------------------------------------------------------------------------


def shell(site, *words, text="", **more):
    env = {"PATH": os.environ["PATH"], "MAGI_URL": site.url, "MAGI_TOKEN": site.token}
    env |= {"PYTHONPATH": str(ROOT / "client")} | more
    return subprocess.run(words, env=env, input=text, capture_output=True, text=True, timeout=120)


def magi_judge(site, *words, text="", **more):
    return shell(site, sys.executable, "-m", "magi", "judge", *words, text=text, **more)


def test_the_command_ends_as_the_verdict_says(site):
    yes = magi_judge(site, "Deploy", "--council", COUNCIL, "--allow-rehearsal")
    assert (yes.returncode, yes.stdout) == (0, "approved\n")
    assert magi_judge(site, "-", "--council", "No", "--allow-rehearsal", text="Deploy").returncode == 1
    assert magi_judge(site, "Deploy", "--council", COUNCIL).returncode == 2
    assert magi_judge(site, "Deploy", "--council", "Nobody").returncode == 64
    assert magi_judge(site, "Deploy", MAGI_TOKEN="").returncode == 64
    found = magi_judge(site, "Deploy", "--council", COUNCIL, "--allow-rehearsal", "--json")
    assert json.loads(found.stdout)["verdict"] == "approved"


def test_a_gate_elsewhere_is_asked_by_the_command_of_this_one(site, tmp_path):
    env = site.env | {"MAGI_TOKEN": site.token, "MAGI_DATA_DIR": str(tmp_path)}
    words = ("judge", "Deploy", "--council", COUNCIL, "--remote", site.url)
    done = manage(*words, env=env)
    assert done.returncode == 2, done.stderr  # a rehearsal
    assert done.stdout.strip() == "approved"
    assert not (tmp_path / "magi.sqlite3").exists()


def step_of_the_action():
    text = (ROOT / "client" / "examples" / "action.yml").read_text()
    script = text.partition("run: |\n")[2]
    return "\n".join(line.removeprefix(" " * 8) for line in script.splitlines())


@pytest.mark.parametrize(("council", "status", "word"), [("No", 1, "rejected"), (COUNCIL, 2, "approved")])
def test_the_step_of_the_pipeline_fails_unless_it_is_approved(site, tmp_path, council, status, word):
    need("bash", bool(shutil.which("bash")), "bash is not installed")
    asked = {"MAGI_CONTENT": "Deploy", "MAGI_COUNCIL": council, "MAGI_TITLE": "A title", "MAGI_KEY": f"run-{council}"}
    where = {"GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_ACTION_PATH": str(ROOT / "client" / "examples")}
    done = shell(site, "bash", "-eo", "pipefail", "-c", step_of_the_action(), PYTHONPATH="", **asked, **where)
    assert done.returncode == status, done.stderr
    assert (tmp_path / "output").read_text() == f"verdict={word}\n"


def test_a_pipeline_that_runs_again_asks_anew():
    text = (ROOT / "client" / "examples" / "action.yml").read_text()
    [key] = [line for line in text.splitlines() if "MAGI_KEY:" in line]
    assert {"github.run_id", "github.run_attempt", "github.job"} <= set(re.findall(r"github\.\w+", key))


def test_nothing_is_pushed_that_was_not_approved(site, tmp_path):
    need("git", bool(shutil.which("git")), "git is not installed")
    bare, work, tools = tmp_path / "bare", tmp_path / "work", tmp_path / "bin"
    tools.mkdir()
    (tools / "magi").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m magi "$@" --allow-rehearsal\n')
    (tools / "magi").chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"

    def git(*words, **more):
        named = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
        return shell(site, "git", "-C", str(work), *named, *words, PATH=path, HOME=str(tmp_path), **more)

    work.mkdir()
    shell(site, "git", "init", "-q", "--bare", str(bare))
    git("init", "-q")
    git("remote", "add", "origin", str(bare))
    shutil.copy(ROOT / "client" / "examples" / "pre-push", work / ".git" / "hooks" / "pre-push")
    git("commit", "-q", "--allow-empty", "-m", "First")
    refused = git("push", "-q", "origin", "HEAD:refs/heads/main", MAGI_COUNCIL="No")
    assert refused.returncode != 0
    assert "not approved" in refused.stderr
    assert git("ls-remote", "origin").stdout == ""
    assert git("push", "-q", "origin", "HEAD:refs/heads/main", MAGI_COUNCIL=COUNCIL).returncode == 0
    assert "refs/heads/main" in git("ls-remote", "origin").stdout
    both = {"MAGI_COUNCIL": COUNCIL, "MAGI_BRANCHES": "refs/heads/main refs/heads/release"}
    assert git("push", "-q", "origin", "HEAD:refs/heads/release", **both).returncode == 0
    git("commit", "-q", "--amend", "--allow-empty", "-m", "Other")
    forced = git("push", "-q", "--force", "origin", "HEAD:refs/heads/main", MAGI_COUNCIL=COUNCIL)
    page = next(line for line in forced.stderr.splitlines() if "/judgements/" in line)
    content = Magi(site.url, site.token).look(page.rstrip("/").rpartition("/")[2]).all["content"]
    assert "would be gone" in content
    assert "A: First" in content
