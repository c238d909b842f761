"""The command that verifies: what it holds the log against, and what it says of what it cannot read."""

import io
import re

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from engine.audit import sealing
from engine.audit.full_verification import verify_all
from engine.ledger import checkpoints
from engine.ledger.checkpoints import Checkpoint
from engine.ledger.entries import AuditEntry
from engine.ledger.merkle_log import DigestSalt, LogLeaf
from engine.models import Run
from judgements.models import Judgement, JudgementAgent
from runs import run_actions
from runs.models import SearchText
from tests.conftest import JAPAN, agents, only_on
from tests.databases import tampering
from tests.engine.test_triggers import committed

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def file(settings, tmp_path):
    settings.CHECKPOINT_FILE = tmp_path / "checkpoints"
    return settings.CHECKPOINT_FILE


def cancelled(owner):
    judgement = Judgement.objects.submit(owner=owner, content=JAPAN, agents=agents())
    run_actions.cancel(judgement, owner)
    return judgement


@pytest.fixture
def signed(mira):
    """Two judgements in the log, and a checkpoint of each."""
    return [(cancelled(mira), checkpoints.make_and_send())[1] for _ in range(2)]


def verified(*words):
    """Its exit status, and what it prints and says last."""
    out = io.StringIO()
    try:
        call_command("verify_record", *map(str, words), stdout=out, stderr=out)
    except CommandError as error:
        return error.returncode, out.getvalue() + str(error)
    return 0, out.getvalue()


def cut_the_log():
    """The newest judgement never was, by all that is in the database."""
    newest = LogLeaf.objects.latest("index").run_id
    with tampering():
        Checkpoint.objects.filter(size=LogLeaf.objects.size()).delete()
        DigestSalt.objects.filter(leaf__run=newest).delete()
        for model in (LogLeaf, AuditEntry, SearchText):
            model.objects.filter(run=newest).delete()
        JudgementAgent.objects.filter(judgement=newest).delete()
        Judgement.objects.filter(pk=newest).delete()
        Run.objects.filter(pk=newest).delete()


def test_the_log_is_held_against_the_checkpoints_that_were_written(signed, file):
    assert verified() == (
        0,
        f"{verified()[1].split(';')[0]}; {_log(signed[1].size)} Held against 2 checkpoints in {file}.\n",
    )
    cut_the_log()
    status, said = verified()
    assert status == 1
    by = f"the checkpoint at {signed[1].size} in checkpoints"
    assert f"The log is cut: leaves are missing at its end that {by} vouches for." in said


def test_a_fresh_installation_has_no_record_and_nothing_that_came_before_the_log(db):
    sealing.adopt_unsealed_runs()
    said = verified()[1]
    assert said.startswith("0 records with ")
    assert "sealed when the log began" not in said


def test_one_record_is_said_as_one(mira):
    cancelled(mira)
    assert verified()[1].startswith("1 record with ")


def test_a_log_that_is_cut_has_no_leaves_since_its_last_checkpoint(signed):
    cut_the_log()
    Checkpoint.objects.bulk_create([signed[1]])
    assert "leaves in the log, 0 of them since the last checkpoint." in verified()[1]


def _log(leaves):
    return f"{leaves} leaves in the log, 0 of them since the last checkpoint."


def test_told_so_it_holds_it_against_no_file(signed):
    cut_the_log()
    status, said = verified("--no-checkpoint-file")
    assert (status, "Held against no checkpoint of its own, as told." in said) == (0, True)


def test_a_machine_without_checkpoints_of_its_own_says_so_and_raises_no_alarm(mira, file):
    assert "No checkpoint was made yet." in verified()[1]
    cancelled(mira)
    Checkpoint.objects.make()
    said = f"{file} is not to be read here: held against the checkpoints in the database alone (1)."
    assert (verified()[0], said in verified()[1]) == (0, True)


def test_a_machine_that_wrote_only_some_of_them_raises_no_alarm(signed, file):
    file.write_text(signed[0].note)
    assert (verified()[0], "Held against 1 checkpoint in" in verified()[1]) == (0, True)


def test_a_file_of_checkpoints_that_is_empty_cut_or_damaged_is_a_problem(signed, file):
    whole = file.read_text()
    for text in ("", whole[:-40], whole.replace("—", "-", 1), whole[: len(whole) // 2 + 40]):
        file.write_text(text)
        status, said = verified()
        assert (status, "The file of checkpoints is empty, cut or damaged" in said) == (1, True), text


def test_what_can_be_read_of_a_damaged_file_still_counts(signed, file):
    file.write_text(f"magi/0123\n{signed[1].note}")
    cut_the_log()
    assert "The log is cut" in verified()[1]


def test_half_an_anchor_is_bad_usage(signed, tmp_path):
    anchor, note = tmp_path / "anchor", signed[1].note
    halves = ["", "\n", "Mail of last week", note[:-40], note + note[:30], note + note.replace(note[:25], "?" * 25)]
    for half in [*(half.encode() for half in halves), note.encode() + b"\xff"]:
        anchor.write_bytes(half)
        status, said = verified("--anchor", anchor)
        assert (status, said[:26]) == (64, "The anchor cannot be read:"), half
        assert len(said.splitlines()) == 1
    assert verified("--anchor", tmp_path / "nowhere")[0] == 64


def test_an_anchor_with_text_around_it_is_one(signed, tmp_path):
    (tmp_path / "anchor").write_text(f"To: audit@example.com\n\n{signed[0].note}Verify with --key magi/12\n> Thanks")
    assert verified("--anchor", tmp_path / "anchor")[0] == 0


def test_a_log_that_was_written_anew_is_one_problem_however_many_checkpoints_know_it(signed, mira):
    for _ in range(3):
        cancelled(mira)
        checkpoints.make_and_send()
    with tampering():
        LogLeaf.objects.filter(index=0).update(hash="0" * 64)
    said = [problem.text for problem in verify_all().faults if problem.run is None]
    assert said == [f"The log was changed after checkpoint {signed[0].size} was signed. So say 4 more."]


def test_a_checkpoint_that_is_garbage_is_a_problem_and_no_anchor(signed):
    with tampering():
        Checkpoint.objects.update(note="?")
    status, said = verified()
    assert (status, f"A checkpoint cannot be read. (the log: checkpoint {signed[0].size})" in said) == (1, True)


@only_on("postgresql")
@committed
def test_a_database_that_goes_away_is_one_sentence(signed):
    def stop_it(execute, sql, params, many, context):
        if 'FROM "judgements_agent"' in sql and connection.connection.info.backend_pid == pid:
            with psycopg.connect(**_address(), autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        return execute(sql, params, many, context)

    pid = connection.connection.info.backend_pid
    with connection.execute_wrapper(stop_it):
        report = verify_all()
    connection.close()
    assert [re.sub(r"\(.*", "", str(problem)) for problem in report.faults] == [
        "The database cannot be read to its end: it is damaged, or was stopped meanwhile. "
    ]


def _address():
    found = connection.settings_dict
    return {"host": found["HOST"], "port": found["PORT"], "user": found["USER"], "dbname": found["NAME"]}
