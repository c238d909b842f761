"""A mission on a terminal: a line to the crew, an answer at a gate, and the next goal."""

import io
import os
import pty
import re
import select
import sys
import time

import pytest

from engine.models import Gate
from engine.policy import policy_of
from missions import workshop
from missions.spoken import Talk
from runs import steering
from tests.acceptance.site import ROOT, environment, manage
from tests.conftest import need
from tests.missions.scenes import mission

PATIENCE = 120


class Terminal:
    def __init__(self, words, env):
        self.said = ""
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.execve(sys.executable, [sys.executable, "manage.py", *words], env)

    def until(self, pattern):
        stop = time.monotonic() + PATIENCE
        while not re.search(pattern, self.said):
            assert time.monotonic() < stop, self.said
            if select.select([self.end], [], [], 1)[0]:
                try:
                    self.said += os.read(self.end, 65536).decode(errors="replace")
                except OSError:
                    assert re.search(pattern, self.said), self.said

    def types(self, line):
        os.write(self.end, line.encode())

    def status(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_line_is_said_to_the_crew_a_gate_is_answered_and_the_next_line_is_the_next_goal(tmp_path):
    need("sandbox", not workshop.missing(), workshop.missing())
    env = environment(tmp_path, DJANGO_SETTINGS_MODULE="tests.missions.spoken_settings")
    made = ["createsuperuser", "--username", "kelsier", "--email", "k@example.org", "--noinput"]
    assert manage(*made, env={**env, "DJANGO_SUPERUSER_PASSWORD": "a long enough secret"}).returncode == 0
    words = ["mission", "Ask me.", "--by", "kelsier", "--thoughts", "--calls", "--model", "rehearsal/instant"]
    there = Terminal(words, {**env, "TERM": "dumb"})
    there.until("Magi-01: Say something")
    there.types("Use the second file.\n")
    there.until("Magi-01: You said: Use the second file")
    there.until("Write “allow”")
    there.types("refuse Not today.\n")
    there.until("Not today")
    there.until("done: It is over")
    there.types("And now the next one.\n")
    there.until("And now the next one.*Working on|Working on “And now the next one")
    there.types("\x04")
    there.until("done: It is over[^$]*done: It is over|unproven")
    assert there.status() == 0


@pytest.mark.django_db
def test_what_is_typed_decides_at_the_gate_that_was_shown_and_at_no_other_one(mira, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    run, said = mission(mira).run, []
    about = {"run": run, "kind": "tool", "policy": policy_of({})}
    shown, unseen = (Gate.objects.ask(None, step=word, text=word, **about) for word in ("shown", "unseen"))
    talk = Talk(mira, said.append)
    talk.begin(run.pk)
    assert talk.asks(shown).startswith("  shown")
    steering.decide(shown.pk, mira, "reject", text="Elsewhere.")
    talk.take(run.pk, "allow")
    unseen.refresh_from_db()
    assert (unseen.state, said) == ("pending", ["Nothing that was shown here waits for you: nothing was decided."])
    talk.asks(unseen)
    talk.take(run.pk, "allow")
    unseen.refresh_from_db()
    assert unseen.state == "approved"
