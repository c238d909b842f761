"""A mission on a terminal: a line to the crew, an answer at a gate, and the next goal."""

import io
import os
import pty
import re
import select
import signal
import sys

import pytest

from engine.models import Gate
from engine.policy import parse_policy
from engine.runtime.tool_execution import UNCERTAIN_CHOICES as AFTER_A_CRASH
from missions import workspace
from missions.interactive_cli import InteractiveSession
from missions.tools.ask_person import AskPersonArguments, choices_of
from runs import run_actions
from tests.acceptance.site import ROOT, environment, manage
from tests.conftest import need
from tests.missions.scenes import mission
from tests.waiting import wait_until


class ManagedTerminal:
    """`manage.py` on a pseudo-terminal. Left in whatever way, it does not go on."""

    def __init__(self, words, env):
        self.said = ""
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.execve(sys.executable, [sys.executable, "manage.py", *words], env)

    def until(self, pattern):
        wait_until(lambda: re.search(pattern, self.heard()), pattern)

    def heard(self):
        if select.select([self.end], [], [], 1)[0]:
            try:
                self.said += os.read(self.end, 65536).decode(errors="replace")
            except OSError:  # it has ended: no more will come
                assert self.said, "it said nothing"
        return self.said

    def types(self, line):
        os.write(self.end, line.encode())

    def status(self):
        pid, self.pid = self.pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)  # the kernel hangs up on what it began
            self.status()
        os.close(self.end)


def test_a_line_is_said_to_the_crew_a_gate_is_answered_and_the_next_line_is_the_next_goal(tmp_path):
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())
    env = environment(tmp_path, DJANGO_SETTINGS_MODULE="tests.missions.spoken_settings")
    made = ["createsuperuser", "--username", "kelsier", "--email", "k@example.org", "--noinput"]
    assert manage(*made, env={**env, "DJANGO_SUPERUSER_PASSWORD": "a long enough secret"}).returncode == 0
    words = ["mission", "Ask me.", "--by", "kelsier", "--thoughts", "--calls", "--model", "rehearsal/instant"]
    with ManagedTerminal(words, {**env, "TERM": "dumb"}) as there:
        there.until("Magi-01: Name a colour")
        there.types("Use the second file.\n")
        there.until("Magi-01: You said: Use the second file")
        there.until(r"1\. allow: Approve once\s+2\. refuse: Reject")
        there.types("refuse Not today.\n")
        there.until("Not today")
        there.until("done: It is over")
        there.types("And now the next one.\n")
        there.until("And now the next one.*Working on|Working on “And now the next one")
        there.types("\x04")
        there.until("done: It is over[^$]*done: It is over|unproven")
        assert there.status() == 0


def test_the_process_of_a_terminal_ends_with_its_test(tmp_path):
    with ManagedTerminal(["shell"], environment(tmp_path, empty=True)) as there:
        pid = there.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.django_db
def test_what_is_typed_decides_at_the_gate_that_was_shown_and_at_no_other_one(mira, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    run, said = mission(mira).run, []
    about = {"run": run, "kind": "tool", "policy": parse_policy({})}
    shown, unseen = (Gate.objects.open(None, step=word, text=word, **about) for word in ("shown", "unseen"))
    talk = InteractiveSession(mira, said.append)
    talk.start(run.pk)
    assert talk.asks(shown)[0] == "  shown"
    run_actions.decide(shown.pk, mira, "reject", text="Elsewhere.")
    talk.handle_line(run.pk, "allow")
    unseen.refresh_from_db()
    assert (unseen.state, said) == ("pending", ["Nothing that was shown here waits for you: nothing was decided."])
    talk.asks(unseen)
    talk.handle_line(run.pk, "allow")
    unseen.refresh_from_db()
    assert unseen.state == "approved"


COLOURS = AskPersonArguments(question="Which colour?", choices=["red", "blue"])


@pytest.fixture
def asks(mira, monkeypatch):
    """Shows a question with these choices on a terminal; what can be typed there, and what the terminal says."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    run, said = mission(mira).run, []
    talk = InteractiveSession(mira, said.append)
    talk.start(run.pk)

    def ask(choices):
        about = {"kind": "question", "policy": parse_policy({}), "choices": choices, "text": "Which colour?"}
        gate = Gate.objects.open(None, run=run, step=f"ask {Gate.objects.count()}", **about)
        said.extend(talk.asks(gate))

        def types(line):
            talk.handle_line(run.pk, line)
            found = Gate.objects.with_decisions().get(pk=gate.pk)
            return found.state, found.last_decision and (found.choice, found.words)

        return types

    return ask, said


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("line", "recorded"),
    [
        ("2", ("2", "")),
        ("BLUE", ("2", "")),
        ("2: as the sky", ("2", "as the sky")),
        ("3: green", ("other", "green")),
        ("other: green", ("other", "green")),
    ],
)
def test_a_question_with_choices_takes_a_number_or_a_word(asks, line, recorded):
    ask, said = asks
    types = ask(choices_of(COLOURS))
    assert said[1:4] == ["    1. red", "    2. blue", "    3. Something else, in these words"]
    assert types(line) == ("answered", recorded)


@pytest.mark.django_db
def test_anything_else_at_a_question_with_choices_is_asked_again_and_decides_nothing(asks):
    ask, said = asks
    types = ask(choices_of(COLOURS))
    lines = ["", "green", "4", "0", "2 or 1", "redder", "3", "other", ": red", "2\u200b1"]
    assert [line for line in lines if types(line) != ("pending", None)] == []
    assert said.count("    2. blue") == 1 + len(lines)
    assert len([sentence for sentence in said if sentence.endswith("Nothing was decided.")]) == len(lines)


@pytest.mark.django_db
def test_after_a_crash_no_word_is_taken_for_it_happened(asks):
    ask, _ = asks
    types = ask([*AFTER_A_CRASH])
    assert types("I do not know") == ("pending", None)
    assert types("3") == ("answered", ("leave", ""))


@pytest.mark.django_db
def test_a_number_that_is_also_an_answer_is_asked_again(asks):
    ask, said = asks
    types = ask(choices_of(AskPersonArguments(question="How many?", choices=["2", "3"])))
    assert types("2") == ("pending", None)
    assert any("“#1”" in sentence for sentence in said)
    assert types("#2") == ("answered", ("2", ""))


@pytest.mark.django_db
def test_a_question_without_choices_takes_any_words_but_none(asks):
    ask, _ = asks
    types = ask(choices_of(AskPersonArguments(question="Which colour?")))
    assert types("") == ("pending", None)
    assert types("2 of them") == ("answered", ("other", "2 of them"))


@pytest.mark.django_db
def test_words_after_a_yes_are_no_yes(asks):
    ask, _ = asks
    types = ask([])
    assert types("allow nothing of it") == ("pending", None)
    assert types("2 Not today.") == ("rejected", ("", "Not today."))


@pytest.mark.django_db
def test_a_number_that_comes_after_the_gate_was_decided_elsewhere_is_said_to_nobody(asks, mira):
    ask, said = asks
    types = ask(choices_of(COLOURS))
    gate = Gate.objects.get()
    run_actions.decide(gate.pk, mira, "answer", choice="1")
    assert types("2") == ("answered", ("1", ""))
    assert said[-1] == "Nothing that was shown here waits for you: nothing was decided."
    assert gate.run.mission.messages_in_order == []
