"""Redaction: texts go for good and everywhere, what was decided stays, and the record still verifies."""

import asyncio
import json
from pathlib import Path
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from engine.evidence import sealing
from engine.evidence.audit import verify_all
from engine.evidence.entries import Entry
from engine.evidence.log import Salt
from engine.llm.failures import Unauthorized
from engine.models import ModelCall, Review, Run
from judgements.models import Judgement
from judgements.rules import Verdict
from runs import reviews, steering
from runs.face import faces, snapshot_of
from runs.history import History
from runs.models import SearchText
from runs.record import record_line
from runs.redaction import redact, redactions_of, wipe
from runs.replay import replay
from tests.conftest import NOBODYS_ID, ScriptedModels, agents, at_once, only_on, perform, says
from tests.databases import once, tampering

pytestmark = pytest.mark.django_db(transaction=True)

MARKER = "quetzalcoatl"
REASON = "Mira asked for it."


def history(user: User, sought: dict[str, str]) -> History:
    return History(user, sought, face=faces()["judgement"])


def judged(owner: User, earlier: Judgement | None = None, *answers: str | Unauthorized) -> Judgement:
    """A judgement that is over, with the marker in every text that it has."""
    three = agents("openai/a", "openai/b", "openai/c")
    content = f"Send {MARKER} to Japan."
    made = Judgement.objects.submit(
        owner=owner, title=f"Title {MARKER}", content=content, agents=three, earlier=earlier
    )
    models = ScriptedModels()
    models.will("openai/a", f"prose {MARKER}", *[says("approve", f"{MARKER} is fine, I think.")] * 3)
    models.will("openai/b", *[says("reject", f"No {MARKER} here, please.")] * 2, *answers)
    models.will("openai/c", *[says("approve", f"Yes to {MARKER}.")] * 3)
    asyncio.run(perform(made.pk, models))
    return Judgement.objects.get(pk=made.pk)


@pytest.fixture
def approved(mira: User, reviewer: User, provider: None) -> Judgement:
    return once(make_approved, mira, reviewer)


def make_approved(mira: User, reviewer: User) -> Judgement:
    made = judged(mira)
    reviews.add(made.run, reviewer, f"A note on {MARKER}.")
    reviews.add(made.run, reviewer, f"Not {MARKER}.", Verdict.REJECTED)
    return made


@pytest.fixture
def failed(mira: User, provider: None) -> Judgement:
    return once(make_failed, mira)


def make_failed(mira: User) -> Judgement:
    return judged(mira, None, Unauthorized(f"The key {MARKER} was refused.", raw=MARKER))


def rows() -> str:
    """All that the tables hold, as one text."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table.startswith(("engine_", "judgements_")) and "runs_words" not in table:
                cursor.execute(f'SELECT * FROM "{table}"')
                found.append(str(cursor.fetchall()))
    return "\n".join(found)


def problems() -> list[str]:
    return [str(problem) for problem in verify_all().faults]


# ---- what goes and what stays -----------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["approved", "failed"])
def test_no_row_has_a_word_of_it_any_more(which: str, request: pytest.FixtureRequest) -> None:
    judgement = request.getfixturevalue(which)
    assert MARKER in rows()
    redact(judgement.pk, "reviewer", REASON)
    assert MARKER not in rows()


def test_decisions_votes_verdict_models_and_tokens_stay(approved: Judgement) -> None:
    before = json.loads(record_line(approved.pk))["entries"]
    redact(approved.pk, "reviewer", REASON)
    *found, redacted = json.loads(record_line(approved.pk))["entries"]
    assert [entry["facts"] for entry in found] == [entry["facts"] for entry in before]
    assert not any(entry["texts"] for entry in found)
    assert redacted["texts"] == {"asked by": "mira", "account": str(approved.run.owner_id)}


def test_the_record_says_who_redacted_when_and_why(approved: Judgement) -> None:
    redact(approved.pk, "reviewer", REASON)
    (said,) = redactions_of(approved.pk)
    assert (said.by, said.reason) == ("reviewer", REASON)
    assert abs((said.at - Run.objects.get().redacted).total_seconds()) < 5


def test_one_that_goes_on_cannot_be_redacted(judgement: Judgement) -> None:
    with pytest.raises(ValueError, match=r"not over cannot be redacted\. Cancel it, or wait"):
        redact(judgement.pk, "reviewer", REASON)
    assert Entry.objects.get().kind == "submitted"


def test_who_asked_stays_unless_the_names_are_to_go(approved: Judgement, mira: User) -> None:
    redact(approved.pk, "reviewer", REASON)
    assert Run.objects.values_list("owner", "asked_by").get() == (mira.pk, "mira")
    redact(approved.pk, "reviewer", REASON, names=True)
    assert Run.objects.values_list("owner", "asked_by").get() == (None, "")
    assert not Judgement.objects.visible_to(mira).exists()


def test_open_pages_follow(approved: Judgement) -> None:
    before = Run.objects.get().revision
    redact(approved.pk, "reviewer", REASON)
    assert Run.objects.get().revision > before


# ---- the chain --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("which", ["approved", "failed"])
def test_an_honest_redaction_verifies(which: str, names: bool, request: pytest.FixtureRequest) -> None:
    redact(request.getfixturevalue(which).pk, "reviewer", REASON, names=names)
    assert problems() == []
    assert verify_all().redacted == 1


def test_it_verifies_twice_and_with_notes_in_between_and_after(approved: Judgement, reviewer: User) -> None:
    redact(approved.pk, "reviewer", REASON)
    reviews.add(approved.run, reviewer, "A note that came after.")
    assert problems() == []
    redact(approved.pk, "", "Once more.", names=True)
    assert problems() == []
    assert Review.objects.exclude(text="").count() == 0
    reviews.add(approved.run, reviewer, "And another one.")
    assert problems() == []
    assert Salt.objects.count() == 2  # of the newest redaction and of the note after it


def test_a_cancelled_one_verifies_with_the_names_that_stay(judgement: Judgement, mira: User) -> None:
    steering.cancel(judgement, mira)
    redact(judgement.pk, "reviewer", REASON)
    assert problems() == []
    assert Run.objects.values_list("asked_by", "cancelled_by_name").get() == ("mira", "mira")


def test_a_name_that_stayed_cannot_be_changed_unseen(approved: Judgement) -> None:
    redact(approved.pk, "reviewer", REASON)
    with tampering():
        Run.objects.update(asked_by="noor")
    assert problems()[0].startswith("The name of who asked was changed after ")


def test_texts_that_are_still_there_are_an_alarm(approved: Judgement) -> None:
    sealing.redact(approved.pk, "reviewer", REASON, names={})
    assert any("its content is still there" in problem for problem in problems())


def test_the_later_one_of_two_verifies_and_compares_to_nothing(approved: Judgement, page: Client, mira: User) -> None:
    later = judged(mira, approved)
    redact(approved.pk, "reviewer", REASON)
    assert problems() == []
    html = page.get(reverse("record", args=[later.pk])).content.decode()
    assert f"Redacted judgement {str(approved.pk)[:8]}" in html
    assert "It cannot be told any more" in html
    assert MARKER in html  # of the later one, which has its texts


# ---- pages and files --------------------------------------------------------------------------------------


def pages_of(judgement: Judgement) -> list[str]:
    own = ("live", "record", "record-file", "fragments", "replay", "replay-frames")
    about = [reverse(name, args=[judgement.pk]) for name in own]
    history = [reverse("history"), reverse("export", args=["csv"]), reverse("export", args=["jsonl"])]
    input_page = f"{reverse('new')}?again={judgement.pk}"
    changes = f"{reverse('history-changes')}?row={judgement.pk}.0&newest="
    admin = [
        reverse("admin:judgements_judgement_changelist"),
        reverse("admin:judgements_judgement_change", args=[judgement.pk]),
        reverse("admin:index"),
    ]
    return [*about, *history, input_page, changes, *admin, reverse("redact", args=[judgement.pk]), reverse("councils")]


def shown(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    if not answer.streaming:
        return answer.content.decode()

    async def read() -> bytes:
        return b"".join([piece async for piece in answer])

    return asyncio.run(read()).decode()


@pytest.mark.parametrize("which", ["approved", "failed"])
def test_no_page_and_no_file_shows_a_word_of_it(
    which: str, request: pytest.FixtureRequest, client: Client, reviewer: User
) -> None:
    judgement = request.getfixturevalue(which)
    client.force_login(reviewer)
    before = [address for address in pages_of(judgement) if MARKER in shown(client, address)]
    assert len(before) >= 12
    redact(judgement.pk, "reviewer", REASON)
    assert [address for address in pages_of(judgement) if MARKER in shown(client, address)] == []


def test_the_history_finds_it_by_no_word_but_by_what_was_decided(approved: Judgement, mira: User) -> None:
    assert history(mira, {"q": MARKER}).count() == 1
    redact(approved.pk, "reviewer", REASON)
    assert history(mira, {"q": MARKER}).count() == 0
    assert history(mira, {"outcome": "approved"}).count() == 1
    assert history(mira, {"q": str(approved.pk)}).count() == 1
    assert "=flag=redacted" in SearchText.objects.get().words


def test_the_pages_say_what_happened(approved: Judgement, client: Client, reviewer: User) -> None:
    client.force_login(reviewer)
    redact(approved.pk, "reviewer", REASON)
    record = shown(client, reverse("record", args=[approved.pk]))
    for words in (": its texts were erased.", f"by reviewer. Reason: {REASON}", "Redacted judgement", ">Approved<"):
        assert words in record
    live = shown(client, reverse("live", args=[approved.pk]))
    assert "Redacted on " in live
    assert "Judge again" not in live + record
    assert f"Redacted judgement {str(approved.pk)[:8]}" in shown(client, reverse("history"))


def test_the_admin_calls_it_by_what_it_is_now(approved: Judgement, client: Client, reviewer: User) -> None:
    client.force_login(reviewer)
    redact(approved.pk, "reviewer", REASON)
    for name, args in (("changelist", []), ("change", [approved.pk])):
        html = shown(client, reverse(f"admin:judgements_judgement_{name}", args=args))
        assert f"Redacted judgement {str(approved.pk)[:8]}" in html


def test_the_file_says_who_and_why_and_has_no_text_of_what_is_gone(approved: Judgement, page: Client) -> None:
    redact(approved.pk, "reviewer", REASON)
    found = json.loads(shown(page, reverse("record-file", args=[approved.pk])))["entries"]
    assert found[0]["texts"] == {}
    assert (found[-1]["kind"], found[-1]["facts"]) == ("redacted", {"by": "reviewer", "reason": REASON})


def test_a_redacted_failure_is_final(failed: Judgement, page: Client, mira: User) -> None:
    redact(failed.pk, "reviewer", REASON)
    assert steering.retry(failed, mira) is False
    assert Run.objects.get().status == Run.Status.FAILED
    assert "Retry" not in shown(page, reverse("live", args=[failed.pk]))
    assert replay(snapshot_of(Judgement.objects.get().run))["frames"]


# ---- the files of the database ----------------------------------------------------------------------------


@only_on("sqlite")
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
    redact(made.pk, "reviewer", REASON)
    assert wipe()
    assert word not in files()
    assert problems() == []


def _asked(question: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchone()[0]


def files() -> str:
    name = Path(connection.settings_dict["NAME"])
    return "".join(path.read_bytes().decode("latin-1") for path in name.parent.glob(f"{name.name}*"))


def test_the_search_still_finds_the_others_after_wiping(approved: Judgement, mira: User) -> None:
    judged(mira)
    redact(approved.pk, "reviewer", REASON)
    wipe()
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


def test_the_question_names_the_others_of_the_same_content(approved: Judgement, client: Client, reviewer: User) -> None:
    later = judged(reviewer, approved)
    last = judged(reviewer, later)
    client.force_login(reviewer)
    html = shown(client, reverse("redact", args=[approved.pk]))
    assert all(str(one.pk) in html for one in (later, last))
    redact(later.pk, "reviewer", REASON)
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


def test_the_files_can_be_written_anew(approved: Judgement, capsys: pytest.CaptureFixture[str]) -> None:
    redact(approved.pk, "reviewer", REASON)
    call_command("redact", wipe=True)
    assert capsys.readouterr().err == ""
    assert problems() == []


def test_the_command_line_leaves_what_goes_on(judgement: Judgement, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="1 of 1 were left"):
        call_command("redact", str(judgement.pk), reason=REASON)
    assert "not over" in capsys.readouterr().err
    assert not ModelCall.objects.exists()


@pytest.mark.parametrize("other", ["redact", "retry"])
def test_an_override_at_the_same_time_waits_its_turn(other: str, failed: Judgement, mira: User) -> None:
    """Both touch the run and the log: in one order."""
    against = {
        "redact": lambda: redact(failed.pk, "reviewer", REASON),
        "retry": lambda: steering.retry(failed, mira),
    }[other]
    outcomes = at_once(lambda: reviews.add(failed.run, mira, "Not so.", Verdict.REJECTED), against, refused=ValueError)
    assert all(not isinstance(outcome, ValueError) or "not over" in str(outcome) for outcome in outcomes)
    assert problems() == []
