import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from engine.models import Run
from judgements.models import Council, Judgement
from tests.conftest import JAPAN, NOBODYS_ID, agents
from tests.judgements.test_record import record, words
from tests.judgements.test_views import filled

pytestmark = pytest.mark.django_db


def again(page, judgement):
    return page.get(reverse("new"), {"again": judgement.pk}).content.decode()


def submit(mira, content=JAPAN, **values):
    return Judgement.objects.submit(owner=mira, content=content, agents=agents(), **values)


def live(page, judgement):
    return page.get(reverse("live", args=[judgement.pk])).content.decode()


def test_judging_again_starts_from_what_was_judged(page, mira):
    trio = agents("openai/a", "openai/b", "openai/c")
    judgement = Judgement.objects.submit(owner=mira, content=JAPAN, title="A journey", agents=trio)
    html = again(page, judgement)
    assert f"{JAPAN}</textarea>" in html
    assert 'name="title" type="text" autocomplete="off" value="A journey"' in html
    assert all(f'value="openai/{name}"' in html for name in "abc")
    assert f'<input type="hidden" name="again" value="{judgement.pk}">' in html
    assert "Judges again: A journey (idle," in words(html)


def test_a_title_that_came_from_the_content_is_not_taken_for_a_written_one(page, judgement):
    assert 'name="title" type="text" autocomplete="off" value=""' in again(page, judgement)


def test_the_council_stays_chosen_while_it_has_the_same_agents(page, council, mira):
    judgement = Judgement.objects.submit(owner=mira, content=JAPAN, agents=council.agents(), council=council.current)
    chosen = f'value="{council.pk}" checked'
    assert chosen in again(page, judgement)
    changed = [{**agent, "criteria": "Others."} for agent in council.agents()]
    council.revise(name=council.name, agents=changed, author=mira)
    assert chosen not in again(page, judgement)


def test_no_example_takes_the_place_of_what_is_judged_again(page, judgement):
    assert "?example=" in page.get(reverse("new")).content.decode()
    assert "?example=" not in again(page, judgement)


def test_a_council_that_is_archived_is_not_chosen_again(page, council, mira):
    judgement = Judgement.objects.submit(owner=mira, content=JAPAN, agents=council.agents(), council=council.current)
    Council.objects.filter(pk=council.pk).update(archived=judgement.run.created)
    assert 'name="council" value="" checked' in again(page, judgement)


def test_a_judgement_remembers_which_one_it_judges_again(page, judgement):
    page.post(reverse("new"), filled(again=judgement.pk))
    assert Judgement.objects.exclude(pk=judgement.pk).get().earlier == judgement


def test_errors_do_not_make_it_forget(page, judgement):
    html = page.post(reverse("new"), filled(again=judgement.pk, content="")).content.decode()
    assert f'<input type="hidden" name="again" value="{judgement.pk}">' in html


def test_an_id_that_is_none_is_ignored(page):
    for pk in ("", "nonsense", "0", NOBODYS_ID):
        assert page.get(reverse("new"), {"again": pk}).status_code == 200, pk
        page.post(reverse("new"), filled(again=pk))
    assert [one.earlier for one in Judgement.objects.all()] == [None] * 4


def test_the_judgement_of_somebody_else_is_ignored(client, judgement, noor):
    client.force_login(noor)
    assert JAPAN not in again(client, judgement).replace('placeholder="' + JAPAN, "")
    client.post(reverse("new"), filled(again=judgement.pk))
    assert Judgement.objects.exclude(pk=judgement.pk).get().earlier is None


def test_both_pages_of_both_judgements_name_each_other(page, mira):
    earlier = submit(mira, title="First")
    later = submit(mira, title="Second", earlier=earlier)
    Run.objects.filter(pk=earlier.pk).update(status="cancelled")
    for show in (live, record):
        assert "Judges again: First (cancelled," in words(show(page, later))
        assert "Judged again: Second (idle," in words(show(page, earlier))
        assert reverse("live", args=[earlier.pk]) in show(page, later)


def test_what_was_amended_is_shown_word_by_word(page, mira):
    earlier = submit(mira, "I travel to Japan & Korea in May.")
    html = record(page, submit(mira, "I travel to Japan & Taiwan in May.", earlier=earlier))
    html = re.sub(r'<span class="vh">[^<]*</span>|\s+(?=>)', "", html)
    assert "Japan &amp; <del>Korea</del><ins>Taiwan</ins> in May." in html
    assert "<h3>Title</h3>" in html


def test_amended_agents_are_shown_by_what_was_amended(page, mira):
    others = agents()
    others[1] |= {"model": "rehearsal/magi", "criteria": "Criteria of Balthasar, amended."}
    later = Judgement.objects.submit(owner=mira, content=JAPAN, agents=others, earlier=submit(mira))
    assert re.findall("<h3>(Title|Content|Agent.*?)</h3>", record(page, later)) == [
        "Agent 2, model",
        "Agent 2, criteria",
    ]


def test_nothing_that_was_changed_is_said_too(page, mira):
    later = submit(mira, earlier=submit(mira))
    assert "Nothing was changed." in record(page, later)
    assert "Nothing was changed." in live(page, later)


def test_an_earlier_judgement_that_one_may_not_see_is_not_shown(client, judgement, noor):
    later = submit(noor, earlier=judgement)
    client.force_login(noor)
    assert "Judges again" not in record(client, later) + live(client, later)


def test_markup_in_what_was_amended_stays_text(page, mira):
    later = submit(mira, "<img src=x onerror=alert(1)>", earlier=submit(mira))
    assert "<img" not in record(page, later)


def test_a_record_that_was_judged_again_takes_few_queries(page, mira):
    first = submit(mira)
    second = submit(mira, earlier=first)
    for _ in range(3):
        submit(mira, earlier=second)
    with CaptureQueriesContext(connection) as queries:
        record(page, second)
    assert len(queries) <= 16


def test_saving_the_agents_as_a_council_on_the_way_forgets_nothing(page, judgement):
    posted = {**filled("", again=str(judgement.pk)), "content": JAPAN}
    assert f'name="again" value="{judgement.pk}"' in page.post(reverse("council-new"), posted).content.decode()
    saved = page.post(reverse("council-new"), {**posted, "name": "Once more"}).content.decode()
    assert f'name="again" value="{judgement.pk}"' in saved
