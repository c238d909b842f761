"""Redaction: texts go for good and everywhere, what was decided stays, and the record still verifies."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from engine.audit import sealing
from engine.audit.full_verification import verify_all
from engine.ledger.entries import AuditEntry
from engine.ledger.merkle_log import DigestSalt
from engine.models import Review, Run
from judgements.models import Council, Judgement
from runs import reviews, run_actions
from runs.models import PresetUse, SearchText
from runs.procedure.spec import snapshot_of
from runs.record.document import record_line
from runs.record.redaction import redact_run, redactions_of
from runs.record.replay import build_replay
from tests.databases import tampering
from tests.judgements.past import submit
from tests.judgements.redacted import MARKER, REASON, history, judged, problems, shown

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own


def rows() -> str:
    """All that the tables hold, as one text."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table.startswith(("engine_", "judgements_")) and "runs_words" not in table:
                cursor.execute(f'SELECT * FROM "{table}"')
                found.append(str(cursor.fetchall()))
    return "\n".join(found)


# ---- open pages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page_name", ["live", "record", "replay"])
def test_an_open_page_hears_of_each_redaction(approved: Judgement, page: Client, page_name: str) -> None:
    def asked() -> tuple[str, str]:
        html = page.get(reverse(page_name, args=[approved.pk])).content.decode()
        mark, address = re.findall(r'data-erased="(\w+)" data-ask="(\S+)"', html)[0]
        return mark, page.get(address).content.decode()

    marks = [asked()]
    for _ in range(2):
        redact_run(approved.pk, "reviewer", REASON)
        marks.append(asked())
    assert all(painted == now for painted, now in marks)
    assert marks[0][0] == "none"
    assert len(set(marks)) == 3


# ---- what goes and what stays -----------------------------------------------------------------------------


def test_no_row_has_a_word_of_it_any_more(either: Judgement) -> None:
    assert MARKER in rows()
    redact_run(either.pk, "reviewer", REASON)
    assert MARKER not in rows()


def test_decisions_votes_verdict_models_and_tokens_stay(approved: Judgement) -> None:
    before = json.loads(record_line(approved.pk))["entries"]
    redact_run(approved.pk, "reviewer", REASON)
    *found, redacted = json.loads(record_line(approved.pk))["entries"]
    assert [entry["facts"] for entry in found] == [entry["facts"] for entry in before]
    assert not any(entry["texts"] for entry in found)
    assert redacted["texts"] == {"asked by": "mira", "account": str(approved.run.owner_id)}


def test_the_record_says_who_redacted_when_and_why(approved: Judgement) -> None:
    redact_run(approved.pk, "reviewer", REASON)
    (said,) = redactions_of(approved.pk)
    assert (said.by, said.reason) == ("reviewer", REASON)
    assert abs((said.at - Run.objects.get().redacted).total_seconds()) < 5


def test_one_that_goes_on_cannot_be_redacted(judgement: Judgement) -> None:
    with pytest.raises(ValueError, match=r"not over cannot be redacted\. Cancel it, or wait"):
        redact_run(judgement.pk, "reviewer", REASON)
    assert AuditEntry.objects.get().kind == "submitted"


def test_who_asked_stays_unless_the_names_are_to_go(approved: Judgement, mira: User) -> None:
    redact_run(approved.pk, "reviewer", REASON)
    assert Run.objects.values_list("owner", "asked_by").get() == (mira.pk, "mira")
    redact_run(approved.pk, "reviewer", REASON, names=True)
    assert Run.objects.values_list("owner", "asked_by").get() == (None, "")
    assert not Judgement.objects.visible_to(mira).exists()


def test_the_library_forgets_with_the_names_who_used_a_council(council: Council, mira: User) -> None:
    run = submit(mira, "Travel", council=council.current, status="cancelled").pk
    redact_run(run, "reviewer", REASON)
    assert PresetUse.objects.get().owner == mira
    redact_run(run, "reviewer", REASON, names=True)
    assert PresetUse.objects.get().owner is None


def test_open_pages_follow(approved: Judgement) -> None:
    before = Run.objects.get().revision
    redact_run(approved.pk, "reviewer", REASON)
    assert Run.objects.get().revision > before


# ---- the chain --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [False, True])
def test_an_honest_redaction_verifies(either: Judgement, names: bool) -> None:
    redact_run(either.pk, "reviewer", REASON, names=names)
    assert problems() == []
    assert verify_all().redacted == 1


def test_it_verifies_twice_and_with_notes_in_between_and_after(approved: Judgement, reviewer: User) -> None:
    redact_run(approved.pk, "reviewer", REASON)
    reviews.add_review(approved.run, reviewer, "A note that came after.")
    assert problems() == []
    redact_run(approved.pk, "", "Once more.", names=True)
    assert problems() == []
    assert Review.objects.exclude(text="").count() == 0
    reviews.add_review(approved.run, reviewer, "And another one.")
    assert problems() == []
    assert DigestSalt.objects.count() == 2  # of the newest redaction and of the note after it


def test_a_cancelled_one_verifies_with_the_names_that_stay(judgement: Judgement, mira: User) -> None:
    run_actions.cancel(judgement, mira)
    redact_run(judgement.pk, "reviewer", REASON)
    assert problems() == []
    assert Run.objects.values_list("asked_by", "cancelled_by_name").get() == ("mira", "mira")


def test_a_name_that_stayed_cannot_be_changed_unseen(approved: Judgement) -> None:
    redact_run(approved.pk, "reviewer", REASON)
    with tampering():
        Run.objects.update(asked_by="noor")
    assert problems()[0].startswith("The name of who asked was changed after ")


def test_texts_that_are_still_there_are_an_alarm(approved: Judgement) -> None:
    sealing.record_redaction(approved.pk, "reviewer", REASON, names={})
    assert any("its content is still there" in problem for problem in problems())


@committed
def test_the_later_one_of_two_verifies_and_compares_to_nothing(approved: Judgement, page: Client, mira: User) -> None:
    later = judged(mira, approved)
    redact_run(approved.pk, "reviewer", REASON)
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


def test_no_page_and_no_file_shows_a_word_of_it(either: Judgement, client: Client, reviewer: User) -> None:
    client.force_login(reviewer)
    before = [address for address in pages_of(either) if MARKER in shown(client, address)]
    assert len(before) >= 12
    redact_run(either.pk, "reviewer", REASON)
    assert [address for address in pages_of(either) if MARKER in shown(client, address)] == []


def test_the_history_finds_it_by_no_word_but_by_what_was_decided(approved: Judgement, mira: User) -> None:
    assert history(mira, {"q": MARKER}).count() == 1
    redact_run(approved.pk, "reviewer", REASON)
    assert history(mira, {"q": MARKER}).count() == 0
    assert history(mira, {"outcome": "approved"}).count() == 1
    assert history(mira, {"q": str(approved.pk)}).count() == 1
    assert "=flag=redacted" in SearchText.objects.get().words


def test_the_pages_say_what_happened(approved: Judgement, client: Client, reviewer: User) -> None:
    client.force_login(reviewer)
    redact_run(approved.pk, "reviewer", REASON)
    record = shown(client, reverse("record", args=[approved.pk]))
    for words in (": its texts were erased.", f"by reviewer. Reason: {REASON}", "Redacted judgement", ">Approved<"):
        assert words in record
    live = shown(client, reverse("live", args=[approved.pk]))
    assert "Redacted on " in live
    assert "Judge again" not in live + record
    assert f"Redacted judgement {str(approved.pk)[:8]}" in shown(client, reverse("history"))


def test_the_admin_calls_it_by_what_it_is_now(approved: Judgement, client: Client, reviewer: User) -> None:
    client.force_login(reviewer)
    redact_run(approved.pk, "reviewer", REASON)
    for name, args in (("changelist", []), ("change", [approved.pk])):
        html = shown(client, reverse(f"admin:judgements_judgement_{name}", args=args))
        assert f"Redacted judgement {str(approved.pk)[:8]}" in html


def test_the_file_says_who_and_why_and_has_no_text_of_what_is_gone(approved: Judgement, page: Client) -> None:
    redact_run(approved.pk, "reviewer", REASON)
    found = json.loads(shown(page, reverse("record-file", args=[approved.pk])))["entries"]
    assert found[0]["texts"] == {}
    assert (found[-1]["kind"], found[-1]["facts"]) == ("redacted", {"by": "reviewer", "reason": REASON})


def test_a_redacted_failure_is_final(failed: Judgement, page: Client, mira: User) -> None:
    redact_run(failed.pk, "reviewer", REASON)
    assert run_actions.retry(failed, mira) is False
    assert Run.objects.get().status == Run.Status.FAILED
    assert "Retry" not in shown(page, reverse("live", args=[failed.pk]))
    assert build_replay(snapshot_of(Judgement.objects.get().run))["frames"]
