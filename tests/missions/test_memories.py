"""Long-term memories: read from files and written back, proposed, accepted, seen."""

from importlib import import_module
from itertools import product

import pytest
from django.core.management import call_command

from engine.audit.full_verification import verify_all
from missions import memory_review
from missions.memory_files import InvalidMemoryFile, MemoryFile, memory_file_text, parse_memory_file, rename_agents
from missions.models import MemoryVersion
from missions.rules import MemoryAccess, memory_access
from tests.callers import ApiCaller, fields
from tests.conftest import allow
from tests.databases import tampering

FILE = """\
---
# a note of ours
name: "rounding: half to even"
description: 'it''s how we round'   # short
active_for: [Tester, "LTM-Manager"]
visible_to:
- all
tags:
  - money
---
# Rounding

Half to even.
"""


def test_what_was_read_is_written_back_byte_by_byte():
    found = parse_memory_file(FILE)
    assert (found.name, found.description) == ("rounding: half to even", "it's how we round")
    assert (found.active_for, found.visible_to, found.except_for) == (("Tester", "LTM-Manager"), ("all",), ())
    assert memory_file_text(found) == FILE


@pytest.mark.parametrize(
    "odd", [FILE.replace("\n", "\r\n"), "\ufeff" + FILE, "---\nname: a\n---", "---\nname: a\n---\n"]
)
def test_so_is_what_was_written_elsewhere(odd):
    assert memory_file_text(parse_memory_file(odd)) == odd


def test_what_is_changed_keeps_the_lines_that_are_not_ours():
    found = parse_memory_file(FILE)
    after = parse_memory_file(memory_file_text(MemoryFile(**{**vars(found), "visible_to": ("Tester",)})))
    assert (after.visible_to, after.name, after.text) == (("Tester",), found.name, found.text)
    assert "# a note of ours" in after.front
    assert "tags:\n  - money\n" in after.front


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("no front", "does not begin with front matter"),
        ("---\nname: a\nname: b\n---\n", "twice"),
        ("---\n- a\n---\n", "no key"),
        ("---\nname: a\nactive_for: [a, b\n---\n", "Line [34]: expected ',' or ']'"),
        ("---\nname: a\nactive_for: [[b]]\n---\n", "Line 3: write one text"),
        ("---\nname: !!python/name:os.system\n---\n", "Line 2: write one text"),
        ("---\ndescription: a\n---\n", "has a name"),
        ('---\nname: "a\n---\n', "unexpected end"),
        ("---\nname: a\n b: c\n---\n", "Line 3: "),
    ],
)
def test_what_could_be_meant_otherwise_is_refused_with_its_place(said, why):
    with pytest.raises(InvalidMemoryFile, match=why):
        parse_memory_file(said)


def test_words_stay_words_and_are_written_so_that_they_do():
    found = parse_memory_file(
        "---\nname: 007\ndescription: >\n  Two\n  lines.\nactive_for: [yes, 12, ~x]\nvisible_to: null\n---\nX.\n"
    )
    assert (found.name, found.description, found.active_for, found.visible_to) == (
        "007",
        "Two lines.",
        ("yes", "12", "~x"),
        (),
    )
    anew = memory_file_text(MemoryFile("true", "a: b # c", "X.", active_for=("no", "null", "Ärger")))
    assert anew.startswith("---\nname: 'true'\ndescription: 'a: b # c'\nactive_for:\n  - 'no'\n  - 'null'\n  - Ärger\n")
    assert parse_memory_file(anew).active_for == ("no", "null", "Ärger")


def test_what_was_kept_before_it_had_to_be_yaml_is_written_anew():
    old = MemoryFile("a", "b: c", "X.", front="---\nname: a\ndescription: b: c\n---\n")
    assert parse_memory_file(memory_file_text(old)).description == "b: c"


def test_a_list_is_changed_by_signs_or_as_a_whole():
    assert rename_agents(("Ada", "Tester"), "+Reader,-tester") == ("Ada", "Reader")
    assert rename_agents(("Ada",), "Tester, all") == ("Tester", "all")
    with pytest.raises(InvalidMemoryFile):
        rename_agents((), "+a,b")


def test_who_sees_what_over_all_subsets_of_the_three_lists():
    others = ([], ["all"], ["ＬＴＭ-manager"], ["Somebody"])
    for active, visible, excepted in product(others, repeat=3):
        meets = [bool({"all", "ＬＴＭ-manager"} & set(one)) for one in (active, visible, excepted)]
        due = (
            MemoryAccess.NOTHING
            if meets[2] or not any(meets)
            else MemoryAccess.WHOLE
            if meets[0]
            else MemoryAccess.LISTED
        )
        assert memory_access(" LTM-Manager ", active_for=active, visible_to=visible, except_for=excepted) == due


@pytest.mark.django_db
def test_a_folder_comes_in_and_goes_out_under_the_same_names(tmp_path):
    there, back = tmp_path / "there", tmp_path / "back"
    there.mkdir()
    (there / "money.md").write_text(FILE)
    (there / "broken.md").write_text("---\nname: [\n---\n")
    assert dict(memory_review.import_memories(there, "team"))["broken.md"].startswith("Line ")
    assert dict(memory_review.import_memories(there, "team"))["money.md"] == ""
    assert memory_review.export_memories(back, "team") == ["money.md"]
    assert (back / "money.md").read_bytes() == FILE.encode()
    assert MemoryVersion.objects.filter(memory__library="team").count() == 1
    assert verify_all().faults == []


@pytest.mark.django_db
def test_a_proposal_is_seen_by_nobody_until_somebody_accepts_it():
    said = MemoryFile("rounding", "", "Half to even.", visible_to=("all",))
    first = memory_review.propose(said, "mira")
    assert list(MemoryVersion.objects.current("team")) == []
    memory_review.decide_proposal(first.pk, "noor", True)
    second = memory_review.propose(said, "mira", base=1)
    third = memory_review.propose(said, "mira")
    memory_review.decide_proposal(third.pk, "noor", False)
    with pytest.raises(memory_review.MemoryAlreadyDecided, match="noor has refused it"):
        memory_review.decide_proposal(third.pk, "noor", True)
    memory_review.decide_proposal(second.pk, "noor", True)
    with pytest.raises(memory_review.MemoryChanged, match="version 2 by now, not 1"):
        memory_review.propose(said, "mira", base=1)
    assert [one.number for one in MemoryVersion.objects.held("") if one.memory.name == "rounding"] == [2]
    assert verify_all().faults == []


@pytest.mark.django_db
def test_who_sees_it_is_changed_by_a_version_of_the_command_line(capsys):
    memory_review.propose(MemoryFile("rounding", "", "Half.", visible_to=("all",)), "mira", accepted=True)
    call_command("memories", "set", "rounding", "--visible-to", "+Tester,-all", "--active-for", "Ada")
    [now] = [one for one in MemoryVersion.objects.current("") if one.memory.name == "rounding"]
    assert (now.number, now.visible_to, now.active_for) == (2, ["Tester"], ["Ada"])


@pytest.mark.django_db
def test_a_memory_that_was_changed_behind_its_chain_is_found():
    memory_review.propose(MemoryFile("rounding", "", "Half.", visible_to=("all",)), "mira", accepted=True)
    assert verify_all().faults == []
    with tampering():
        MemoryVersion.objects.filter(memory__name="rounding").update(text="Down.")
    assert "memory" in str(verify_all().faults)


READY = import_module("missions.migrations._ready_made").READY


def test_two_rules_are_there_from_the_beginning():
    found = {file: (parse_memory_file(source), lists) for _, file, _, source, *lists in READY}
    (rule, of_rule), (keeping, of_keeping) = found["general_rule.md"], found["ltm_manager_rule.md"]
    assert [[*map(list, (one.active_for, one.visible_to, one.except_for))] for one in (rule, keeping)] == [
        of_rule,
        of_keeping,
    ]
    assert (rule.name, seen(rule, "Ada"), seen(rule, "ltm-manager")) == (
        "rule",
        MemoryAccess.WHOLE,
        MemoryAccess.NOTHING,
    )
    assert (seen(keeping, "LTM-Manager"), seen(keeping, "Ada")) == (MemoryAccess.WHOLE, MemoryAccess.NOTHING)


def seen(memory, name):
    return memory_access(name, active_for=memory.active_for, visible_to=memory.visible_to, except_for=memory.except_for)


@pytest.mark.django_db
def test_over_http_one_proposes_and_another_accepts(mira, mira_calls):
    asked = {"name": "rounding", "text": "Half.", "visible_to": ["all"]}
    assert "library" in fields(mira_calls.post("/memories", asked | {"library": "x" * 81}))
    assert mira_calls.post("/memories", asked).status_code == 201
    assert "lacks the scope" in mira_calls.post("/memories/rounding/accept", {"version": 1}).json()["detail"]
    accepting = ApiCaller(mira, scopes=["accept"])
    said = accepting.post("/memories/rounding/accept", {"version": 1})
    assert (said.status_code, "may not accept" in said.json()["detail"]) == (403, True)
    allow(mira, "missions.change_memory")
    assert accepting.post("/memories/rounding/accept", {"version": 1}).json()["state"] == "accepted"
    changed = mira_calls.patch("/memories/rounding", {"base": 1, "visible_to": ["Tester"]}).json()
    assert (changed["version"], changed["state"], changed["text"]) == (2, "proposed", "Half.")
    late = mira_calls.patch("/memories/rounding", {"base": 2, "text": "Up."})
    assert (late.status_code, "version 1 by now, not 2" in late.json()["detail"]) == (409, True)
    listed = mira_calls.get("/memories").json()
    assert [(one["name"], one["version"]) for one in listed["results"] if one["name"] == "rounding"] == [
        ("rounding", 1)
    ]
    assert [one["version"] for one in listed["proposals"]] == [2]
    assert accepting.post("/memories/rounding/accept", {"version": 2, "accept": False}).json()["state"] == "refused"
