"""By which doors texts are erased, and what the files of the database keep of them."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from engine.models import ModelCall, Run
from judgements.models import Judgement
from judgements.rules import Verdict
from runs import reviews, run_actions
from runs.record.redaction import redact_run, redactions_of, wipe_database_files
from tests.conftest import NOBODYS_ID, ScriptedModels, agents, at_once, only_on, perform, says
from tests.judgements.redacted import MARKER, REASON, history, judged, problems, shown

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own


@only_on("sqlite")
@committed
def test_no_file_of_sqlite_has_a_word_of_it(mira: User, provider: None) -> None:
    judged(mira)
    word = f"zyx{uuid4().hex[:12]}"
    made = Judgement.objects.submit(owner=mira, content=f"Send {word} off. " * 300, agents=agents(*["openai/a"] * 3))
    models = ScriptedModels()
    models.will("openai/a", *[says("approve", f"{word} is fine.")] * 9)
    asyncio.run(perform(made.pk, models))
    judged(mira)
    assert word in files()
    assert _asked("PRAGMA secure_delete") == 1
    redact_run(made.pk, "reviewer", REASON)
    assert wipe_database_files()
    assert word not in files()
    assert problems() == []


def _asked(question: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchone()[0]


def files() -> str:
    name = Path(connection.settings_dict["NAME"])
    return "".join(path.read_bytes().decode("latin-1") for path in name.parent.glob(f"{name.name}*"))


@committed
def test_the_search_still_finds_the_others_after_wiping(approved: Judgement, mira: User) -> None:
    judged(mira)
    redact_run(approved.pk, "reviewer", REASON)
    wipe_database_files()
    assert history(mira, {"q": MARKER}).count() == 1


# ---- doors ------------------------------------------------------------------------------------------------


def test_staff_confirm_with_a_reason(approved: Judgement, client: Client, reviewer: User) -> None:
    client.force_login(reviewer)
    address = reverse("redact", args=[approved.pk])
    assert address in shown(client, reverse("record", args=[approved.pk]))
    refused = client.post(address, {"reason": " "})
    assert "Write who demands it and why." in refused.content.decode()
    assert Run.objects.get().redacted is None
    done = client.post(address, {"reason": REASON})
    assert (done.status_code, done["Location"]) == (302, reverse("record", args=[approved.pk]))
    assert [(one.by, one.reason) for one in redactions_of(approved.pk)] == [("reviewer", REASON)]


def test_nobody_else_may(approved: Judgement, client: Client, mira: User, noor: User) -> None:
    address = reverse("redact", args=[approved.pk])
    for user, status in ((mira, 403), (noor, 404)):
        client.force_login(user)
        assert client.get(address).status_code == status
        assert client.post(address, {"reason": REASON}).status_code == status
    client.force_login(mira)
    assert address not in shown(client, reverse("record", args=[approved.pk]))
    assert Run.objects.get().redacted is None


@committed
def test_the_question_names_the_others_of_the_same_content(approved: Judgement, client: Client, reviewer: User) -> None:
    later = judged(reviewer, approved)
    last = judged(reviewer, later)
    client.force_login(reviewer)
    html = shown(client, reverse("redact", args=[approved.pk]))
    assert all(str(one.pk) in html for one in (later, last))
    redact_run(later.pk, "reviewer", REASON)
    html = shown(client, reverse("redact", args=[approved.pk]))
    assert str(later.pk) not in html
    assert str(last.pk) in html


def test_the_question_is_not_asked_of_one_that_goes_on(judgement: Judgement, client: Client, reviewer: User) -> None:
    client.force_login(reviewer)
    address = reverse("redact", args=[judgement.pk])
    for answer in (client.get(address), client.post(address, {"reason": REASON})):
        assert answer.status_code == 409
        assert "Cancel it, or wait for its end." in answer.content.decode()


def test_the_command_line_redacts(approved: Judgement, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("redact", str(approved.pk), reason=REASON, names=True)
    assert f"{approved.pk}: redacted" in capsys.readouterr().out
    assert (Run.objects.get().asked_by, redactions_of(approved.pk)[0].by) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Name runs"),
        (["--dry-run", NOBODYS_ID], "Name runs"),
        (["--due", "--names"], "Name runs"),
        (["--wipe", "--due"], "Name runs"),
        (["--reason", REASON], "Name runs"),
        ([NOBODYS_ID], "Say who demands it"),
        ([NOBODYS_ID, "--reason", REASON], "There is no run"),
    ],
)
def test_the_command_line_says_what_is_missing(arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        call_command("redact", *arguments)


@committed
def test_the_files_can_be_written_anew(approved: Judgement, capsys: pytest.CaptureFixture[str]) -> None:
    redact_run(approved.pk, "reviewer", REASON)
    call_command("redact", wipe=True)
    assert capsys.readouterr().err == ""
    assert problems() == []


def test_the_command_line_leaves_what_goes_on(judgement: Judgement, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="1 of 1 were left"):
        call_command("redact", str(judgement.pk), reason=REASON)
    assert "not over" in capsys.readouterr().err
    assert not ModelCall.objects.exists()


@pytest.mark.postgresql
@pytest.mark.parametrize("other", ["redact", "retry"])
@committed
def test_an_override_at_the_same_time_waits_its_turn(other: str, failed: Judgement, mira: User) -> None:
    """Both touch the run and the log: in one order."""
    against = {
        "redact": lambda: redact_run(failed.pk, "reviewer", REASON),
        "retry": lambda: run_actions.retry(failed, mira),
    }[other]
    outcomes = at_once(
        lambda: reviews.add_review(failed.run, mira, "Not so.", Verdict.REJECTED), against, refused=ValueError
    )
    refused = [str(outcome) for outcome in outcomes if isinstance(outcome, ValueError)]
    assert all("not over" in sentence or "were erased" in sentence for sentence in refused)
    assert problems() == []
