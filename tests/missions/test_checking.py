"""A check that waits for somebody is ended with the reason; one that can do without, or still works, is not."""

import asyncio
from shutil import which

import pytest

from missions.rules import CHECK_ASKS
from missions.sandbox.bwrap import SandboxLimits
from missions.tools import fresh_check
from missions.workspace import program_of_check

IN_GIT = "git init -q g && cd g && git config user.name A && git config user.email a@a.example"
ASK = {
    "a question of the shell": 'read -p "Go on? [y/N] " a; test "$a" = y',
    "a question after work": "sleep 0.3; echo done; read a",
    "a question of the terminal": "read a < /dev/tty",
    "a question beside what goes on": "(sleep 600 &); read a",
    "a menu": "select a in one two; do break; done",
    "a secret": 'read -s -p "Word? " a',
    "a secret of a program": "python3 -c 'import getpass; getpass.getpass()'",
    "input()": "python3 -c 'input()'",
    "a prompt of Python": "python3 -q",
    "a shell": "bash --norc",
    "a program without its file": "sort",
    "the last of a pipe": "true | cat - /dev/tty",
    "before it removes": "touch f; rm -i f",
    "before it overwrites": "touch f h; cp -i f h",
    "a key": "read -rsn1",
    "a full screen": "printf '\\033[?1049hmenu'; read -rsn1",
    "a pager by its name": "seq 1 1000 | less",
    "an editor by its name": "vi -u NONE new.txt",
}
DO_NOT = {
    "a pipe": "echo y | (read a; test $a = y)",
    "nothing to read": "! read a < /dev/null",
    "a question with an end": "! read -t 0.3 a",
    "work without a word": "sleep 1.5",
    "work": "seq 1 100000 > /dev/null",
    "a pager that is asked for": "seq 1 1000 | $PAGER",
    "a log": f"{IN_GIT} && git commit -qm one --allow-empty && seq 1 200 > f && git add f && git diff --cached",
    "a commit without its words": f"{IN_GIT} && ! git commit -q --allow-empty",
    "an editor that is asked for": "$EDITOR new.txt",
}
NEEDS = {
    "a pager by its name": "less",
    "an editor by its name": "vi",
    "a log": "git",
    "a commit without its words": "git",
}


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(fresh_check, "ASKS_FOR", 1.0)
    monkeypatch.setattr(fresh_check, "DRAWS_FOR", 1.0)
    monkeypatch.setattr(fresh_check, "LOOK", 0.2)


def test_who_asks_is_ended_and_who_does_not_is_left_alone(workshop):
    commands = {name: one for name, one in (ASK | DO_NOT).items() if which(NEEDS.get(name, "sh"))}

    async def reason_of(name):
        call = name.translate(str.maketrans(" ()'", "____"))
        program = program_of_check(commands[name])
        await asyncio.to_thread(workshop.launcher.begin, workshop.mission, call, program, ".", SandboxLimits())
        spool = workshop.spool(call)
        reason = await fresh_check._until_it_ends_or_asks(spool)
        spool.stop("ended")
        return reason, spool.end

    async def in_turn(names):
        return {name: await reason_of(name) for name in names}

    async def all_of_them():  # some at once: each waits most of its time
        names = list(commands)
        return [await one for one in map(asyncio.ensure_future, [in_turn(names[n::6]) for n in range(6)])]

    found = {name: said for part in asyncio.run(all_of_them()) for name, said in part.items()}
    assert {name for name, (reason, _) in found.items() if reason == CHECK_ASKS} == commands.keys() & ASK.keys()
    assert {name: end for name, (_, end) in found.items() if name in DO_NOT and (not end or end["code"])} == {}
