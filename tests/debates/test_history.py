"""Debates in lists: the history, its files, the reviewers' desk and list."""

import csv
import io
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from debates import moderation
from debates.models import Debate, DebateFlag, Panel, writes
from debates.page.display import display_of
from debates.rules.state import ABSTAIN
from engine.models import Run
from engine.text.search_terms import label_term
from runs import reviews
from runs.formatting import overridden
from runs.history.query import RunHistory
from runs.models import SearchText
from runs.procedure.spec import specs
from runs.record.export import FORMATS
from tests.conftest import allow
from tests.databases import tampering
from tests.debates.rows import NAMES, OPTIONS, member, queued, say

pytestmark = pytest.mark.django_db


def ended(owner, *verdicts, title="", **asked):
    """A debate that is over, in which each member has said what it stands by."""
    debate = queued(owner, **({"title": title} if title else {}), **asked)
    for seat, verdict in enumerate(verdicts, 1):
        say(debate, seat, verdict)
    writes.conclude(debate.pk, "most")
    Run.objects.filter(pk=debate.pk).update(status="finished", started=timezone.now(), ended=timezone.now())
    return debate


def found(user, **sought):
    return [row.title for row in RunHistory(user, sought, face=specs()["debate"]).page().rows]


def file_of(user, format):
    """What the file says of all debates that this person may export, written as its pieces are."""
    face = specs()["debate"]
    read, begun = FORMATS[format].read(face), FORMATS[format].begun(face)
    rows = read.in_bulk(RunHistory(user, {}, face=face).after(None, 10))
    return FORMATS[format].frame(face)[0] + begun(list(rows.values()), "https://magi.example")


def row(user):
    return RunHistory(user, {}).page().rows[0]


# ---- a row ------------------------------------------------------------------------------------------------


def test_a_row_shows_who_stands_by_what_in_the_order_of_the_seats(mira):
    ended(mira, "HIRE", "WAIT", "HIRE")
    glance = row(mira).glance
    assert [seat.look.state for seat in glance.seats] == ["approve", "mid", "approve"]
    assert glance.seats_in_words == "3 members. Amara Osei: hire, Ilse Brandt: wait, Rajiv Menon: hire"
    assert glance.in_figures == "3 messages, 0 changes"


def test_the_verdict_of_a_challenge_is_nobodys_own(mira):
    debate = queued(mira)
    say(debate, 1, "HIRE")
    challenged = say(debate, 1, "WAIT")
    with tampering():
        debate.turns.filter(pk=challenged.turn_id).update(why="challenge")
    assert (row(mira).glance.seats[0].look.word, row(mira).glance.changes) == ("HIRE", 0)


def test_a_change_counts_and_the_last_word_holds(mira):
    debate = queued(mira)
    for verdict in ("HIRE", "HIRE", "WAIT", ABSTAIN):
        say(debate, 1, verdict)
    glance = row(mira).glance
    assert (glance.seats[0].look.word, glance.in_figures) == ("Abstains", "4 messages, 2 changes")


SHOWN = {
    ("HIRE", "HIRE", "WAIT"): ("approve", "Hire", ["minority of 1"]),
    ("WAIT", "WAIT", "WAIT"): ("mid", "Wait", []),
    ("DO NOT HIRE", "DO NOT HIRE", ABSTAIN): ("reject", "Do not hire", []),
    ("HIRE", "WAIT", "DO NOT HIRE"): ("stopped", "No decision", ["a tie"]),
}


def test_the_outcome_has_the_sign_of_its_option_and_what_is_to_be_known_of_it(mira):
    for verdicts, shown in SHOWN.items():
        ended(mira, *verdicts)
        one = row(mira)
        notes = [stamp.words for stamp in one.stamps if stamp.words != "Rehearsal"]
        assert (one.state, one.word, notes) == shown


def test_what_goes_on_says_so(mira):
    debate = queued(mira)
    Run.objects.filter(pk=debate.pk).update(status="running")
    assert (row(mira).state, row(mira).word) == ("judging", "Debating")


def test_an_override_has_the_sign_of_its_option(mira, reviewer):
    debate = ended(mira, "HIRE", "HIRE", "HIRE")
    Run.objects.filter(pk=debate.pk).update(override="DO NOT HIRE")
    assert ("Overridden: do not hire", "reject") in [(stamp.words, stamp.state) for stamp in row(mira).stamps]


def test_a_long_list_takes_as_many_queries_as_a_short_one(mira):
    numbers = []
    for _ in range(2):
        for _ in range(3):
            ended(mira, "HIRE", "HIRE", "WAIT")
        RunHistory(mira, {}).page()  # what she may is read once
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert RunHistory(mira, {}).page().rows
        numbers.append(len(asked))
    assert numbers[0] == numbers[1] <= 8


def test_the_history_of_debates_and_that_of_all_show_the_cell(page, mira):
    debate = ended(mira, "HIRE", "WAIT", "HIRE")
    for name in ("debate-history", "runs-history"):
        html = page.get(reverse(name)).content.decode()
        assert f'id="glance-{debate.pk}"' in html
        assert "3 messages, 0 changes" in html


# ---- what it is asked for ---------------------------------------------------------------------------------


def test_what_came_about_can_be_asked_for(mira, noor):
    ended(mira, "HIRE", "HIRE", "HIRE", title="one mind")
    ended(mira, "HIRE", "HIRE", "WAIT", title="apart")
    ended(mira, "HIRE", "WAIT", "DO NOT HIRE", title="nothing")
    seat = {"name": "Noor", "who": "", "model": "", "user": noor}
    ended(mira, "HIRE", "HIRE", title="with a person", members=[*map(member, NAMES[:1]), seat])
    assert found(mira, flag="unanimous") == ["with a person", "one mind"]
    assert found(mira, flag="minority") == ["apart"]
    assert found(mira, flag="person") == ["with a person"]
    assert found(mira, flag="no_decision") == found(mira, outcome="no_decision") == ["nothing"]


def test_a_change_of_mind_and_a_chair_that_named_an_option_can_be_asked_for(mira):
    moved, named = queued(mira, title="moved"), queued(mira, title="named")
    for verdict in ("HIRE", "WAIT"):
        say(moved, 1, verdict)
    moderation.post_message(named.pk, mira, "Would you wait?")
    for debate in (moved, named):
        writes.conclude(debate.pk, "most")
    assert (found(mira, flag="changed"), found(mira, flag="chair_named_option")) == (["moved"], ["named"])


def test_the_words_of_an_option_are_an_outcome(mira):
    ended(mira, "HIRE", "HIRE", "HIRE", title="hired")
    ended(mira, "DO NOT HIRE", "DO NOT HIRE", "WAIT", title="not")
    assert found(mira, outcome="DO NOT HIRE") == found(mira, outcome="do not hire") == ["not"]
    assert [one.title for one in RunHistory(mira, {"outcome": "HIRE"}).page().rows] == ["hired"]


def test_how_it_stands_is_no_outcome(mira):
    queued(mira, title="waits")
    ended(mira, "HIRE", "HIRE", "HIRE", title="hired")
    assert found(mira, outcome="queued") == ["waits"]


def test_a_panel_can_be_asked_for(mira):
    values = {"name": "Posts", "owner": mira, "rule": "median", "options": OPTIONS}
    panel = Panel.objects.create_first(members=[{"name": name, "who": "", "fallback": ""} for name in NAMES], **values)
    debate = queued(mira, title="by the panel")
    SearchText.objects.add(debate.pk, [label_term("panel", panel.pk)])
    queued(mira, title="by nobody's")
    assert found(mira, panel=panel.pk) == ["by the panel"]


def test_the_filters_of_debates_are_on_their_page(page, mira):
    html = page.get(reverse("debate-history"), {"outcome": "WAIT", "flag": "changed"}).content.decode()
    assert '<option value="WAIT"\n        selected>Wait</option>' in html
    for flag in DebateFlag.labels:
        assert f">{flag}</option>" in html


def test_members_messages_reasons_and_points_are_found_by_their_words(mira):
    debate = queued(mira, title="about her")
    moderation.post_message(debate.pk, mira, "Mind the aardvark.")
    assert found(mira, q="aardvark") == found(mira, q="rajiv menon") == found(mira, q="osei") == ["about her"]


# ---- files ------------------------------------------------------------------------------------------------


def test_the_table_has_columns_of_its_own(mira):
    ended(mira, "HIRE", "HIRE", "WAIT")
    [one] = csv.DictReader(io.StringIO(file_of(mira, "csv").removeprefix("\ufeff")))
    assert (one["outcome"], one["tally"], one["rule"]) == ("HIRE", "HIRE 2, WAIT 1, DO NOT HIRE 0", "Majority of all")
    assert (one["members"], one["verdicts"]) == ("Amara Osei, Ilse Brandt, Rajiv Menon", "HIRE, HIRE, WAIT")
    assert (one["messages"], one["changes"], one["rehearsal"]) == ("3", "0", "yes")
    assert one["flags"] == "A minority"


def test_a_line_of_json_is_the_object_of_the_api(mira):
    debate = ended(mira, "HIRE", "HIRE", "WAIT")
    one = json.loads(file_of(mira, "jsonl"))
    assert (one["id"], one["outcome"], one["flags"]) == (str(debate.pk), "HIRE", ["minority"])
    assert len(one["messages"]) == 3


# ---- review -----------------------------------------------------------------------------------------------


def test_the_desk_has_a_tile_for_what_needs_a_look(client, reviewer, mira):
    ended(mira, "HIRE", "WAIT", "DO NOT HIRE", title="Nothing came of it")
    client.force_login(reviewer)
    html = client.get(reverse("review"), {"look": "no_decision"}).content.decode()
    assert "Nothing came of it" in html
    assert 'data-state="stopped"' in html


def test_the_reviewers_list_of_debates_says_seats_panel_and_flags(client, reviewer, mira):
    ended(mira, "HIRE", "HIRE", "WAIT", title="Apart")
    client.force_login(reviewer)
    address = reverse("admin:debates_debate_changelist")
    html = client.get(address, {"flag": "minority"}).content.decode()
    assert "Amara Osei: hire, Ilse Brandt: hire, Rajiv Menon: wait" in html
    assert '<td class="field-flags">A minority, Rehearsed</td>' in html
    assert "Apart" not in client.get(address, {"status": "no_decision"}).content.decode()


def test_others_debates_are_nobodys_to_find(mira, noor):
    ended(mira, "HIRE", "HIRE", "HIRE")
    assert found(noor) == found(noor, flag="unanimous") == found(noor, outcome="HIRE") == []
    assert len(found(allow(noor, "engine.view_run"))) == 1
    assert Debate.objects.count() == 1


def test_that_nothing_was_decided_is_said_in_words_where_a_person_overrides(mira, reviewer):
    debate = ended(mira, "HIRE", "HIRE", "HIRE")
    reviews.add_review(debate.run, reviewer, "The second reference was not heard.", "no_decision")
    row = Debate.objects.with_members().get(pk=debate.pk)
    seen = [overridden(row.run), display_of(specs()["debate"].snapshot(row)).stamp.title]
    assert [("no decision" in text, "no_decision" in text) for text in seen] == [(True, False)] * 2
