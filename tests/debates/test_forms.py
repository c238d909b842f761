"""What a new debate must be: everything that is wrong is said at once, each where it stands."""

from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from debates.attachments import DebateAttachments, from_text
from debates.forms import DebateSubmission
from debates.models import Debate

pytestmark = pytest.mark.django_db

OPTIONS = [{"word": "HIRE", "direction": "for"}, {"word": "WAIT"}, {"word": "DO NOT HIRE", "direction": "against"}]
MEMBERS = [
    {"name": "Amara Osei", "who": "Statistics.", "model": "rehearsal/instant"},
    {"name": "Ilse Brandt", "who": "Leads people.", "model": "rehearsal/instant"},
    {"name": "Rajiv Menon", "who": "Teaching.", "model": "rehearsal/instant"},
]


def asked(options: Any = OPTIONS, members: Any = MEMBERS, question: str = "Hire her?", **own: Any) -> DebateSubmission:
    return DebateSubmission.of(options, members, question=question, **own)


def problems(submission: DebateSubmission) -> dict[str, str]:
    assert not submission.is_valid()
    return {problem.path: problem.message for problem in submission.problems}


def test_what_is_right_can_be_submitted(mira: User):
    submission = asked(most=20, spend="3.00", word="plum", first=True)
    assert submission.is_valid()
    debate = Debate.objects.submit(owner=mira, **submission.values())
    assert (debate.most, debate.run.spend, debate.first, debate.reply) == (20, 3_000_000_000, True, False)
    assert [member.name for member in debate.seated] == ["Amara Osei", "Ilse Brandt", "Rajiv Menon"]


def test_everything_that_is_wrong_is_said_at_once():
    wrong = asked(OPTIONS[:1], [{"name": "Chair"}, {"name": "", "model": "x/y"}], question="", most=3, seed="ab")
    found = problems(wrong)
    assert {
        "question",
        "most",
        "seed",
        "options",
        "members.0.name",
        "members.0.model",
        "members.1.name",
    } <= found.keys()


def test_nobody_can_be_called_as_others_at_the_table_are():
    for name in ("Timekeeper", "chair", "EVERYONE", "ｃｈａｉｒ", "time\u200bkeeper"):
        found = problems(asked(members=[{**MEMBERS[0], "name": name}, *MEMBERS[1:]]))
        assert "somebody else at this table" in found["members.0.name"], name


def test_what_is_always_possible_is_no_option():
    for word in ("ABSTAIN", "abstain", "no_decision", "No  Decision"):
        assert "no option" in problems(asked([{"word": word}, *OPTIONS]))["options.0.word"], word


def test_two_members_are_told_from_each_other():
    for name in ("amara osei", "Ａmara  Osei"):
        found = problems(asked(members=[*MEMBERS, {**MEMBERS[0], "name": name}]))
        assert found == {"members.3.name": "Member 1 has this name already. Take another."}


def test_two_options_are_told_from_each_other():
    found = problems(asked([*OPTIONS, {"word": "hire"}]))
    assert found == {"options.3.word": "Option 1 has this word already. Take another."}


def test_two_to_nine_members_sit_down():
    for count, fits in ((1, False), (2, True), (9, True), (10, False)):
        members = [{**MEMBERS[0], "name": f"Member of {n}"} for n in range(count)]
        assert asked(members=members, most=20).is_valid() is fits, count


def test_a_verdict_is_one_of_two_to_six():
    for count, fits in ((1, False), (2, True), (6, True), (7, False), (500, False)):
        assert asked([{"word": f"OPTION {n}"} for n in range(count)]).is_valid() is fits, count


def test_each_member_may_say_something():
    members = [{"name": f"Member of {n}", "who": f"Looks at {n}.", "model": "rehearsal/instant"} for n in range(7)]
    assert problems(asked(members=members, most=6)) == {"most": "There are 7 members: let each say something."}


@pytest.mark.parametrize(
    ("given", "fits"), [({"most": 200}, 1), ({"most": 201}, 0), ({"title": "x" * 120}, 1), ({"title": "x" * 121}, 0)]
)
def test_messages_and_titles_have_their_bounds(given: dict[str, Any], fits: int):
    submission = asked(**given)
    assert submission.is_valid() is bool(fits)
    assert fits or problems(submission).keys() == given.keys()


def test_a_seat_is_a_models_or_a_persons(noor: User):
    seats = [{"name": "A", "user": "noor"}, {"name": "B", "user": "noor", "model": "rehearsal/instant"}, {"name": "C"}]
    found = problems(asked(members=seats))
    assert found["members.1.user"].startswith("A seat is a model's or a person's")
    assert found["members.2.model"].startswith("Choose a model for member 3")


def test_nobody_sits_on_two_seats(noor: User):
    seats = [{"name": "A", "user": "noor"}, {"name": "B", "user": "noor"}]
    assert problems(asked(members=seats)) == {
        "members.1.user": "noor sits on seat 1 already. One seat for each person."
    }


def test_a_person_is_kept_with_the_name_of_then(mira: User, noor: User):
    submission = asked(members=[{"name": "A", "user": "noor"}, MEMBERS[0]])
    assert submission.is_valid()
    debate = Debate.objects.submit(owner=mira, **submission.values())
    assert (debate.at_seat(1).user, debate.at_seat(1).user_name) == (noor, "noor")


def test_an_unknown_person_cannot_sit_down(noor: User):
    for user in ("nobody", "\u202enoor"):
        assert "Nobody here" in problems(asked(members=[{"name": "A", "user": user}, *MEMBERS]))["members.0.user"]


def test_a_model_needs_a_provider_that_is_known(settings: Any):
    settings.PROVIDERS = {name: {"base_url": "http://127.0.0.1:9/v1", "api_key": ""} for name in ("openai", "other")}
    found = problems(asked(members=[{"name": "A", "model": "anthropic/opus"}, MEMBERS[0]], timekeeper="nowhere/x"))
    assert "openai" in found["members.0.model"]
    assert "openai" in found["timekeeper"]


def test_a_moment_is_written_and_to_come():
    for until in ("soon", "2020-01-01T00:00", "2026-13-01"):
        assert "until" in problems(asked(until=until)), until


def test_money_is_an_amount():
    for spend in ("0", "-1", "nan", "1e30", "Infinity", "three"):
        assert problems(asked(spend=spend))["spend"].startswith("Write an amount in dollars"), spend


def test_a_seed_and_a_word_exclude_each_other():
    assert problems(asked(seed="ab" * 32, word="plum")) == {"word": "Give either a seed or a word, one of the two."}


def test_a_page_that_was_not_posted_has_two_of_each_and_nothing_to_correct():
    page = DebateSubmission()
    assert (len(page.options), len(page.members), page.problems) == (2, 2, [])


def test_a_model_without_a_word_on_who_it_is_is_refused():
    for who in ("", " \n", "\u200b", "..."):
        found = problems(asked(members=[{**MEMBERS[0], "who": who}, *MEMBERS[1:]]))
        assert found == {"members.0.who": "Say who member 1 is: what it knows, and what it looks at."}


def test_nobody_learns_by_a_seat_who_has_an_account(mira: User, noor: User):
    User.objects.create_user("gone", is_active=False)
    for name in ("noor", "nobody", "gone"):
        said = f"You share no group with a person called “{name}”. Seat yourself, or one who does."
        found = problems(asked(by=mira, members=[{"name": "A", "user": name}, *MEMBERS]))
        assert found == {"members.0.user": said}


def test_oneself_and_who_shares_a_group_may_sit_down(mira: User, noor: User):
    board = Group.objects.create(name="Board")
    board.user_set.add(mira, noor)
    seats = [{"name": "A", "user": "noor"}, {"name": "B", "user": "mira"}]
    assert asked(by=mira, members=seats).is_valid()


def test_a_model_that_reads_too_little_is_refused_beforehand(settings):
    prices = {"base_url": "http://127.0.0.1:9/v1", "api_key": "", "contexts": {"*": 12_000}}
    settings.PROVIDERS = {"small": prices}
    read = DebateAttachments()
    read.add("documents", partial(from_text, "Long letter", "words " * 5_000))
    members = [{**MEMBERS[0], "model": "small/x"}, *MEMBERS[1:]]
    found = problems(asked(members=members, attached=read))["members.0.model"]
    assert found.startswith("small/x reads 12,000 tokens at most, and this debate may come to ")
    assert "the longest is A1, Long letter, with" in found
    settings.PROVIDERS = {"small": {**prices, "contexts": {"x": 128_000}}}
    assert asked(members=members, attached=read).is_valid()
