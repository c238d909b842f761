from judgements.presets import describe_changes
from tests.conftest import NAMES


def saved(name="Magi", order=NAMES, **changed):
    """A council as it was saved; `Casper_model="x"` changes a part of an agent."""
    trio = [{"name": n, "model": "openai/a", "criteria": f"Criteria of {n}.", "fallback": ""} for n in order]
    for place, value in changed.items():
        agent, _, part = place.partition("_")
        next(a for a in trio if a["name"] == agent)[part] = value
    return name, trio


def test_equal_versions_have_no_changes():
    assert describe_changes(saved(), saved()) == []


def test_each_thing_that_changed_is_one_sentence():
    after = saved("Wise men", Melchior_criteria="Be strict.", Balthasar_model="openai/b", Casper_name="Caspar")
    after[1][2]["criteria"] = "Criteria of Casper."
    assert describe_changes(saved(), after) == [
        "The council was renamed from Magi to Wise men.",
        "Criteria of Melchior changed.",
        "Balthasar asks openai/b instead of openai/a.",
        "Casper was renamed to Caspar.",
    ]


def test_a_model_that_was_left_open_is_the_default_one():
    assert describe_changes(saved(), saved(Casper_model="")) == ["Casper asks the default model instead of openai/a."]


def test_a_fallback_comes_changes_and_goes():
    one, other = saved(Casper_fallback="openai/b"), saved(Casper_fallback="openai/c")
    assert describe_changes(saved(), one) == ["Casper has openai/b as fallback now."]
    assert describe_changes(one, other) == ["Casper has openai/c as fallback instead of openai/b."]
    assert describe_changes(one, saved()) == ["Casper has no fallback any more."]


def test_agents_that_change_places_are_not_taken_for_renamed():
    assert describe_changes(saved(), saved(order=("Casper", "Balthasar", "Melchior"))) == [
        "Casper and Melchior changed places."
    ]


def test_a_newcomer_takes_the_name_of_the_one_who_is_gone():
    after = saved(order=("Artaban", "Melchior", "Balthasar"))
    after[1][0]["criteria"] = "Criteria of Casper."
    assert describe_changes(saved(), after) == [
        "Melchior and Balthasar changed places.",
        "Casper was renamed to Artaban.",
    ]


def test_a_council_that_held_a_name_twice_can_be_put_right():
    name, before = saved(order=("Melchior", "Melchior", "Casper"))
    after = saved(order=("Melchior", "Balthasar", "Casper"))
    assert describe_changes((name, before), after) == [
        "Melchior was renamed to Balthasar.",
        "Criteria of Balthasar changed.",
    ]
