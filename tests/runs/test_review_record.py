"""One record on the reviewers' desk: what it says, what a reviewer says of it, and who may."""

import re
from uuid import uuid4

import pytest
from django.urls import reverse

from engine.models import Review, Run
from judgements.models import Judgement
from runs import reviews
from runs.record.redaction import redact_run
from tests.conftest import ScriptedModels, allow, judged
from tests.databases import tampering

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own

REVIEW = reverse("review")


def address(run, **asked):
    return reverse("review-one", args=[run.pk]) + "".join(f"?{name}={value}" for name, value in asked.items())


def test_a_record_says_why_what_and_whether_it_is_unchanged(admin, approved, reviewer):
    reviews.add_review(approved.run, reviewer, "Not this week.", "rejected")
    html = admin.get(address(approved)).content.decode()
    for text in ("reviewer decided rejected instead", "“Not this week.”", "Casper", "Unchanged since", "entries"):
        assert text in html


@committed
def test_a_judgement_says_who_was_swayed(admin, mira):
    models = ScriptedModels()
    models.will("openai/a", "approve", "approve", "approve")
    models.will("openai/b", "approve", "reject", "reject")
    models.will("openai/c", "reject", "reject", "reject")
    html = admin.get(address(judged(mira, models))).content.decode()
    assert "Balthasar approved alone and rejects after reading the others." in html


def test_a_script_gets_the_record_alone(admin, approved):
    html = admin.get(address(approved), headers={"HX-Request": "true"}).content.decode()
    assert html.startswith('<article class="one"')
    assert "<html" not in html


def test_what_was_changed_is_said_with_what_to_do(admin, approved):
    with tampering():
        Judgement.objects.update(content="Something else.")
    html = admin.get(address(approved)).content.decode()
    assert "Changed after it was sealed" in html
    assert "The content was changed after " in html
    assert "do not rely on this record" in html


def say(client, run, **said):
    return client.post(address(run, look="overridden"), said)


def test_a_note_is_kept_and_leads_back_to_the_record(admin, approved):
    answer = say(admin, approved, what="note", text="Seen.")
    assert answer["Location"].endswith("look=overridden#said")
    assert [(one.kind, one.text) for one in Review.objects.all()] == [("note", "Seen.")]
    assert "Your note is in the record." in admin.get(answer["Location"]).content.decode()


def test_an_override_is_asked_for_once_more(admin, approved):
    html = say(admin, approved, what="override", text="Not now.", outcome="rejected").content.decode()
    assert "This cannot be undone. The agents&#x27; verdict stays." in html
    assert not Review.objects.exists()
    say(admin, approved, what="override", text="Not now.", outcome="rejected", sure="on")
    assert [(one.kind, one.outcome) for one in Review.objects.all()] == [("override", "rejected")]
    assert Run.objects.get().outcome == "approved"


def test_a_script_gets_the_stamp_and_the_line_after_an_override(admin, approved):
    said = {"what": "override", "text": "Not now.", "outcome": "rejected", "sure": "on"}
    html = admin.post(address(approved), said, headers={"HX-Request": "true"}).content.decode()
    assert "<b>Overridden</b> Rejected" in html
    assert "Overridden: rejected. It is in the record." in html
    assert re.search(r'<li class="rv rv--void" id="rv-[^"]+"\s+hx-swap-oob="true"', html)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"what": "note"}, "Write the note"),
        ({"what": "override", "outcome": "rejected"}, "Write the note, or the reason"),
        ({"what": "override", "text": "Not now."}, "Choose what you decide instead."),
        ({"what": "override", "text": "Not now.", "outcome": "perhaps", "sure": "on"}, "There is no such outcome."),
        ({"what": "note", "text": "A bell: \a"}, "cannot be kept"),
    ],
)
def test_what_cannot_be_kept_is_said_and_kept_as_typed(admin, approved, said, problem):
    answer = say(admin, approved, **said)
    assert answer.status_code == 422
    assert problem in answer.content.decode()
    assert not Review.objects.exists()


def test_a_reason_begins_where_it_was_begun_and_comes_back(admin, approved):
    said = {"what": "override", "text": "\nNot now.\n", "outcome": "rejected"}
    html = say(admin, approved, **said).content.decode()
    # the first line break behind the mark is no part of the text
    assert '<textarea name="text" hidden>\n\nNot now.\n</textarea>' in html
    kept = say(admin, approved, **said, keep="on").content.decode()
    assert ">\n\nNot now.\n</textarea>" in kept
    assert 'value="override" class="override" checked' in kept
    assert not Review.objects.exists()


def test_what_holds_already_is_refused_before_it_is_asked_for_again(admin, approved):
    answer = say(admin, approved, what="override", text="Yes.", outcome="approved")
    assert answer.status_code == 422
    assert "It is approved already. To agree with that, add a note." in answer.content.decode()
    assert 'name="outcome" value="approved"' not in answer.content.decode()


def test_an_override_that_comes_too_late_keeps_its_reason(admin, approved, reviewer):
    reviews.add_review(approved.run, reviewer, "Not this week.", "rejected")
    answer = say(admin, approved, what="override", text="Not at all.", outcome="rejected", sure="on")
    assert answer.status_code == 409
    for text in ("It is rejected already.", "Not at all."):
        assert text in answer.content.decode()


def test_an_override_that_is_sent_twice_is_answered_alike(admin, approved):
    said = {"what": "override", "text": "Not now.", "outcome": "rejected", "sure": "on"}
    assert [say(admin, approved, **said).status_code for _ in range(2)] == [302, 302]
    assert Review.objects.count() == 1


def test_what_is_erased_is_noted_and_overridden_by_nobody(admin, approved):
    redact_run(approved.pk, "mira", "Asked for it.")
    with pytest.raises(ValueError, match="nobody can read any more what was decided"):
        reviews.add_review(approved.run, None, "No.", "rejected")
    assert say(admin, approved, what="note", text="The letter asks for this.").status_code == 302
    html = admin.get(address(approved)).content.decode()
    assert 'name="what" value="note"' in html
    assert 'value="override"' not in html


def test_what_goes_on_is_not_reviewed(admin, judgement):
    html = admin.get(address(judgement)).content.decode()
    assert 'id="say"' not in html
    answer = say(admin, judgement, what="note", text="Early.")
    assert answer.status_code == 409
    assert "not over cannot be reviewed" in answer.content.decode()


def test_what_is_not_there_is_not_found(admin):
    assert admin.get(reverse("review-one", args=[uuid4()])).status_code == 404


# ---- who may --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("may", [[], ["engine.view_run"], ["engine.add_review"]])
def test_only_who_may_see_and_review_has_a_desk(page, mira, approved, may):
    allow(mira, *may)
    for path in (REVIEW, reverse("review-figures"), address(approved)):
        assert page.get(path).status_code == 403
    assert say(page, approved, what="note", text="Hm.").status_code == 403
    assert f'href="{REVIEW}"' not in page.get(reverse("history")).content.decode()


def test_the_bar_leads_who_may_to_the_desk_and_staff_from_there_to_the_admin(page, mira):
    mira = allow(mira, "engine.view_run", "engine.add_review")
    assert f'href="{REVIEW}"' in page.get(reverse("history")).content.decode()
    assert reverse("admin:index") not in page.get(REVIEW).content.decode()
    mira.is_staff = True
    mira.save()
    assert reverse("admin:index") in page.get(REVIEW).content.decode()
