"""Two runs of one kind side by side: what differs, and who may see it."""

import asyncio
import re
from hashlib import sha256

import pytest
from django.urls import reverse

from debates.models import Debate
from engine.models import NewDocument, Run
from judgements.models import Judgement
from runs.record import redaction
from tests.conftest import NOBODYS_ID, ScriptedModels, agents, perform, person, says
from tests.contract import EXAMPLES, PLAYED, played
from tests.databases import copied
from tests.inquiries.scenes import inquiry
from tests.judgements.test_record import words
from tests.missions.scenes import finishes, mission, step

pytestmark = pytest.mark.django_db


def judge(owner, content, decision, title="Release", **more):
    trio = agents("openai/a", "openai/b", "openai/c")
    made = Judgement.objects.submit(owner=owner, content=content, title=title, agents=trio, **more)
    models = ScriptedModels()
    models.will("openai/a", *[says(decision, f"{content} It is {decision}ed.")] * 3)
    models.will("openai/b", *[says(decision)] * 3)
    asyncio.run(perform(made.pk, models))
    return made


def make_two():
    first = judge(person("mira"), "Deploy on Friday and drop the column.", "reject")
    return first, judge(person("mira"), "Deploy on Monday.", "approve", earlier=first)


@pytest.fixture(scope="module")
def _two():
    return copied(make_two)


@pytest.fixture
def two(_two, mira):
    """A rejected judgement, and an approved one that judged its text again otherwise."""
    return _two()


def side_by_side(page, a, b):
    return page.get(reverse("compare"), {"a": a.pk, "b": b.pk})


def test_two_judgements_say_what_differs_and_last_what_does_not(page, two):
    said = [f"{one.lead} {one.rest}" for one in side_by_side(page, *two).context["differs"]]
    assert said[0] == "The text. Content: 5 words in A alone, 1 in B alone."
    assert said[1] == "The outcome. Rejected in A, Approved in B."
    assert said[2].startswith("6 of 9 decisions. Melchior and Balthasar: rejects in A and approves in B.")
    assert said[3] == "Not the rest. The same three agents, models, criteria and weights."


def test_who_decided_otherwise_is_framed_and_last_reasons_stand_in_pairs(page, two):
    html = side_by_side(page, *two).content.decode()
    assert html.count('class="mini__differs"') == 12
    assert "Deploy on Friday and drop the column. It is rejected." in html
    assert "<del" in html
    assert "<ins" in html


def test_ticks_of_a_list_put_the_earlier_one_first(page, mira):
    first, second = (EXAMPLES["judgement"](mira) for _ in range(2))
    answer = page.get(reverse("compare"), {"run": [second.pk, first.pk]})
    assert answer["Location"] == f"{reverse('compare')}?a={first.pk}&b={second.pk}"
    assert "Tick two" in page.get(reverse("compare"), {"run": first.pk}).content.decode()


def test_two_of_different_kinds_do_not_stand_side_by_side(page, mira):
    answer = side_by_side(page, EXAMPLES["judgement"](mira), EXAMPLES["debate"](mira))
    assert (answer.status_code, "Only two runs of one kind" in answer.content.decode()) == (400, True)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_two_of_any_kind_stand_side_by_side(page, mira, kind):
    answer = side_by_side(page, EXAMPLES[kind](mira), EXAMPLES[kind](mira))
    assert answer.status_code == 200
    assert answer.context["differs"][-1].rest.startswith("The same text")


def test_nobody_sees_by_the_side_of_an_own_one_what_is_anothers(page, mira, noor):
    own, other = EXAMPLES["judgement"](mira), EXAMPLES["judgement"](noor)
    assert side_by_side(page, own, other).status_code == 404
    assert page.get(reverse("compare"), {"run": [own.pk, other.pk]}).status_code == 404
    assert page.get(reverse("compare"), {"a": own.pk, "b": NOBODYS_ID}).status_code == 404
    assert page.get(reverse("compare"), {"a": own.pk, "b": "none"}).status_code == 404


def test_what_was_erased_is_not_compared(page, two):
    first, second = two
    redaction.redact_run(first.pk, "reviewer", "Asked for.")
    answer = side_by_side(page, first, second)
    assert "It cannot be told any more" in answer.content.decode()
    assert "Friday" not in answer.content.decode()


def test_what_was_judged_again_leads_to_both(page, two):
    first, second = two
    html = page.get(reverse("record", args=[second.pk])).content.decode()
    assert f"{reverse('compare')}?a={first.pk}&amp;b={second.pk}" in html
    assert "Compare with the earlier one" in words(html)
    assert Run.objects.count() == 2


def sentences(page, a, b):
    return [f"{one.lead} {one.rest}" for one in side_by_side(page, a, b).context["differs"]]


OTHER = "rehearsal/slow"
RESTS_ON_TEXTS = (
    r"same text|\b(answer|changed files|crew|members|files|action)\b|(?<!number of )\b(steps|sources|claims)\b"
)


@pytest.fixture(scope="module", params=sorted(PLAYED))
def _two_of_a_kind(request):
    return copied(lambda: [played(request.param, person("mira")) for _ in "AB"])


@pytest.fixture
def two_of_a_kind(_two_of_a_kind, mira):
    return _two_of_a_kind()


def test_nothing_is_said_that_rests_on_texts_that_were_erased(page, two_of_a_kind):
    """Of one of the two, and then of both."""
    for run in two_of_a_kind:
        redaction.redact_run(run.pk, "reviewer", "Asked for.")
        assert not re.search(RESTS_ON_TEXTS, " ".join(sentences(page, *two_of_a_kind)))
        html = side_by_side(page, *two_of_a_kind).content.decode()
        assert ("pair--differs" in html, "Not in A" in words(html)) == (False, False)


def test_members_of_one_name_are_the_same_only_by_model_and_description(page, mira):
    first, other, described = (
        EXAMPLES["debate"](mira),
        debate_of(mira, model=OTHER),
        debate_of(mira, who="Knows nothing."),
    )
    assert "The same text, outcome, members" in sentences(page, first, EXAMPLES["debate"](mira))[-1]
    for another in (other, described):
        said = sentences(page, first, another)
        assert "The members. Of another model or description in B: Ben." in said
        assert "members" not in said[-1]


def debate_of(owner, **changed):
    """That of the examples, but for its second member."""
    held = EXAMPLES["debate"](owner)
    ada, ben = ({name: getattr(one, name) for name in ("name", "who", "model")} for one in held.members.all()[1:])
    options = list(held.options.values("word", "meaning", "direction"))
    asked = {"question": held.question, "options": options, "members": [ada, ben | changed], "most": 6}
    return Debate.objects.submit(owner=owner, timekeeper="rehearsal/instant", seed=bytes(32), **asked)


def changed_to(owner, text):
    models = ScriptedModels()
    row = mission(owner, writes(text), finishes(), models=models, files=[("sum.py", "a - b\n")])
    asyncio.run(perform(row.pk, models))
    return row


def writes(text):
    return step("write_to_file", path="sum.py", content=text)


def test_files_are_the_same_by_what_is_in_them_and_not_by_how_many_lines_changed(page, mira):
    first = changed_to(mira, "a + b\n")
    assert "The same text, outcome, changed files and crew." in sentences(page, first, changed_to(mira, "a + b\n"))[-1]
    said = sentences(page, first, changed_to(mira, "a * b\n"))
    assert "The files. Changed otherwise, or in one of the two alone: 1." in said
    assert "files" not in said[-1]


def read(owner, *documents):
    read = [NewDocument("law.txt", "text", (text,), sha256(text.encode()).hexdigest()) for text in documents]
    return inquiry(owner, documents=read)


def test_sources_are_the_same_by_what_is_in_them_and_not_by_their_titles(page, mira):
    first = read(mira, "The limit is 150.", "The limit was 700.")
    assert "sources" in sentences(page, first, read(mira, "The limit is 150.", "The limit was 700."))[-1]
    said = sentences(page, first, read(mira, "The limit is 150.", "The limit was 2,500."))
    assert "The sources. 2 of them were read in one of the two alone." in said
    assert "sources" not in said[-1]
