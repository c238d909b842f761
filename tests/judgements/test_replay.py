"""A judgement that is over, played again from its rows."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from engine.models import ModelCall, Run
from judgements.display import display_of, fragments
from judgements.models import Judgement
from judgements.rules import Verdict
from runs import reviews
from runs.procedure.spec import spec_of_run
from runs.record import replay
from tests.conftest import JAPAN, agents, perform, submitted_at

pytestmark = pytest.mark.django_db

START = datetime(2026, 11, 21, 14, 2, tzinfo=UTC)


def at(seconds):
    return START + timedelta(seconds=seconds)


def call(judgement, step, started, ended, status="answered", **values):
    values = {"attempt": 1, "model": "openai/a", "prompt": "[]", "deadline": at(0), **values}
    return ModelCall.objects.create(
        run=judgement.run, step=step, started=at(started), ended=at(ended), status=status, **values
    )


def decide(judgement, step, started, ended, decision="approve", reason="", **values):
    agent = judgement.agents.get(seat=step[0])
    agent.decisions.create(
        round=int(step[1]),
        decision=decision,
        reason=reason or f"Reason {step}.",
        call=call(judgement, step, started, ended, **values),
    )


@pytest.fixture
def judgement(mira):
    return submit(mira, agents("openai/a", "openai/b", "openai/c"))


def submit(owner, seated):
    with submitted_at(at(-2)):
        return Judgement.objects.submit(owner=owner, content=JAPAN, agents=seated)


def end(judgement, status, seconds, **values):
    Run.objects.update(status=status, started=at(0), ended=at(seconds), **values)
    return Judgement.objects.with_agents().get(pk=judgement.pk)


def past_of(judgement):
    return replay.RunReplay(spec_of_run(judgement.run).snapshot(judgement))


def played(judgement):
    return replay.build_replay(spec_of_run(judgement.run).snapshot(judgement))


@pytest.fixture
def finished(judgement):
    """Melchior decides at 5, 15, 25 s, Balthasar a second and Casper two seconds later; approved at 28 s."""
    for number in (1, 2, 3):
        for later, seat in enumerate("ABC"):
            decide(judgement, f"{seat}{number}", 10 * number - 10, 10 * number - 5 + later)
    Run.objects.update(outcome="approved")
    return end(judgement, "finished", 28)


def html_at(told, number):
    """The fragments as the page puts them together."""
    shown = {}
    for key, versions in told["fragments"].items():
        for frame, start, end, text in versions:
            before = shown.get(key, "")
            shown[key] = before[:start] + text + before[len(before) - end :] if frame <= number else before
    return shown


def said(told):
    return [(frame["at"], frame["said"]) for frame in told["frames"] if frame["said"]]


def test_the_past_knows_nothing_of_what_came_later(finished):
    past = past_of(finished)
    words = [past.display_at(at(second)).word for second in (-1, 0, 27, 28)]
    assert words == ["Idle", "Judging", "Judging", "Approved"]
    middle = past.display_at(at(5.5))
    assert (middle.lead, middle.rest) == ("Round 1 of 3.", "1 of 9 decisions are in.")
    assert [seat.state for seat in middle.seats] == ["pending", "judging", "judging"]
    assert middle.seats[0].tally.score == "0.10"


def test_it_is_told_with_its_real_timing(finished):
    told = played(finished)
    assert told["length"] == 28
    assert said(told)[:4] == [
        (0, "Round 1 started. Three agents are judging."),
        (5, "Round 1. Melchior: approve."),
        (6, "Round 1. Melchior: approve. Balthasar: approve."),
        (7, "Round 1 complete: 3 approve, 0 reject. Round 2 started."),
    ]
    assert [frame["mark"] for frame in told["frames"] if frame["mark"]] == ["approve"] * 10


def test_its_end_is_what_the_live_page_shows(finished):
    told = played(finished)
    display = display_of(Judgement.objects.with_agents().get(pk=finished.pk), finished.calls, {})
    live = {
        fragment.place: fragment.html(oob=False, replay=True) for fragment in fragments(display) if fragment.replayed
    }
    assert html_at(told, len(told["frames"]) - 1) == live


def test_every_frame_can_be_put_together_from_the_differences(finished):
    told = played(finished)
    number = next(n for n, frame in enumerate(told["frames"]) if frame["at"] == 6)
    shown = html_at(told, number)
    assert "2 of 9 decisions are in." in shown["verdict_sub"]
    assert "Reason B1." in shown["cell-1-2"]
    assert ">Reason C1.</span>" in shown["cell-1-3"]
    assert "data-typed=" in shown["cell-1-3"]
    assert "conn" not in shown["verdict_meta"]


def test_a_retry_and_a_fallback_are_played(judgement):
    failed = {"status": "failed", "error": "It answered 500."}
    call(judgement, "A1", 0, 3, retry_at=at(5), **failed)
    decide(judgement, "A1", 5, 7, "reject", attempt=2)
    past = past_of(end(judgement, "cancelled", 9))
    seats = [past.display_at(at(second)).seats[0] for second in (1, 4, 6, 8)]
    assert [(seat.state, seat.word) for seat in seats] == [
        ("judging", "Judging"),
        ("retrying", "Retry 1 of 3"),
        ("judging", "Judging"),
        ("pending", "Pending"),
    ]
    assert seats[1].until == at(5)


def test_an_attempt_that_failed_writes_nothing_of_what_a_later_one_said(judgement):
    call(judgement, "A1", 0, 3, "failed", error="It answered 500.", retry_at=at(5))
    decide(judgement, "A1", 5, 7, attempt=2)
    past = past_of(end(judgement, "cancelled", 9))
    assert [past.display_at(at(second)).seats[0].cells[0].reason for second in (1, 6)] == ["", "Reason A1."]


def test_a_round_is_a_chapter_once_however_often_it_was_taken_up_again(judgement):
    for step in ("B1", "C1"):
        decide(judgement, step, 0, 2)
    call(judgement, "A1", 0, 3, "failed", error="It answered 500.", retry_at=at(5))
    call(judgement, "A1", 5, 7, "interrupted", attempt=2)
    decide(judgement, "A1", 20, 22, attempt=3)
    call(judgement, "A2", 22, 24, "interrupted")
    told = played(end(judgement, "cancelled", 24))
    assert [(frame["at"], frame["chapter"]) for frame in told["frames"] if frame["chapter"]] == [
        (0, "Round 1"),
        (22, "2"),
    ]


def test_a_failure_that_was_tried_again_days_later_is_played_without_the_days(judgement):
    days = 2 * 86_400
    for step in ("B1", "C1"):
        decide(judgement, step, 0, 2)
    call(judgement, "A1", 0, 3, "failed", error="The key was refused.")
    call(judgement, "A1", days + 3, days + 7, "failed", error="It does not exist.", series=1)
    judged = end(judgement, "failed", days + 7, retries=1, error={"code": "unknown_model", "message": "Gone."})
    between = past_of(judged).display_at(at(60))
    assert (between.word, between.lead) == ("Error", "Failed in round 1, without a verdict.")
    assert "Melchior gave no decision in round 1 after 1 attempt: The key was refused." in between.rest
    told = played(Judgement.objects.with_agents().get(pk=judged.pk))
    assert told["length"] == 3 + 3 + 4
    assert [frame["gap"] for frame in told["frames"] if frame["gap"]] == ["2 days left out."]
    assert [frame["mark"] for frame in told["frames"] if frame["mark"]] == ["approve", "failed", "failed"]


def test_while_no_worker_had_it_it_waited(judgement):
    call(judgement, "A1", 0, 3, "interrupted")
    decide(judgement, "A1", 20, 22)
    past = past_of(end(judgement, "cancelled", 23))
    assert [past.display_at(at(second)).word for second in (2, 10, 21, 23)] == [
        "Judging",
        "Idle",
        "Judging",
        "Cancelled",
    ]


async def test_one_that_was_really_performed_ends_as_it_ended(judgement, models, async_client, mira):
    models.will("openai/a", "reject", "no JSON", "approve")
    await perform(judgement.pk, models)
    await async_client.aforce_login(mira)
    told = (await async_client.get(reverse("replay-frames", args=[judgement.pk]))).json()
    assert "Approved. 3 of 3 agents approve." in told["frames"][-1]["said"]
    assert "Melchior did not answer. Retry 1 of 3." in [frame["said"] for frame in told["frames"]]


def test_thirty_six_attempts_stay_small(mira, django_assert_max_num_queries):
    criteria = "Approve only what can be undone. " * 20
    judgement = submit(mira, [agent | {"criteria": criteria} for agent in agents("openai/a", "openai/b", "openai/c")])
    reason = "The proposal meets the criteria, its risks are known and small, and the effort fits its aim. " * 5
    for number in (1, 2, 3):
        for seat in "ABC":
            for attempt in (1, 2, 3):
                begin = 100 * number + 20 * attempt + ord(seat) / 50
                failed = {"status": "failed", "error": f"It answered 50{attempt}.", "retry_at": at(begin + 12)}
                call(judgement, f"{seat}{number}", begin, begin + 8, attempt=attempt, **failed)
            began = 100 * number + 90 + ord(seat) / 50
            decide(judgement, f"{seat}{number}", began, 100 * number + 95, reason=reason, attempt=4)
    Run.objects.update(outcome="approved")
    end(judgement, "finished", 400)
    with django_assert_max_num_queries(6):
        told = played(Judgement.objects.with_agents().get(pk=judgement.pk))
    assert ModelCall.objects.count() == 36
    assert len(json.dumps(told)) < 300_000


def get(client, judgement, name="replay", **headers):
    return client.get(reverse(name, args=[judgement.pk]), headers=headers)


def test_the_page_shows_the_state_before_round_1_without_a_socket(client, mira, finished):
    client.force_login(mira)
    html = get(client, finished).content.decode()
    assert "Idle" in html
    assert "Reason A1." not in html
    assert "ws-connect" not in html
    assert 'id="conn"' not in html


def test_a_replay_says_that_what_it_leads_to_was_overridden(client, mira, reviewer, finished):
    client.force_login(mira)
    assert "Overridden" not in get(client, finished).content.decode()
    reviews.add_review(finished.run, reviewer, "Not this week.", Verdict.REJECTED)
    assert re.search(r"It ended:\s+Approved.\s+Overridden: rejected by ", get(client, finished).content.decode())


def test_what_is_not_over_is_not_replayed(client, mira, judgement):
    client.force_login(mira)
    assert get(client, judgement)["Location"] == reverse("live", args=[judgement.pk])
    assert get(client, judgement, "replay-frames").status_code == 404


def test_nobody_replays_what_it_may_not_see(client, noor, finished):
    client.force_login(noor)
    assert [get(client, finished, name).status_code for name in ("replay", "replay-frames")] == [404, 404]


def test_frames_are_sent_again_only_where_they_have_changed(client, mira, finished):
    client.force_login(mira)
    answer = get(client, finished, "replay-frames")
    assert answer["Cache-Control"] == "private, no-cache"
    assert get(client, finished, "replay-frames", If_None_Match=answer["ETag"]).status_code == 304
    Run.objects.update(revision=99)
    assert get(client, finished, "replay-frames", If_None_Match=answer["ETag"]).status_code == 200


def test_the_live_page_leads_to_the_replay_once_it_is_over(client, mira, judgement):
    client.force_login(mira)
    link = reverse("replay", args=[judgement.pk])
    assert link not in get(client, judgement, "live").content.decode()
    end(judgement, "failed", 3, error={"code": "internal", "message": "Oh."})
    assert link in get(client, judgement, "live").content.decode()
