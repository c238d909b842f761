"""Tables with histories that no rule would allow, full of hostile texts: what is made of them must hold, too."""

from dataclasses import replace
from random import Random

from debates.rules.course import Message, Sort, Standing, Turn, Why
from debates.table import Artifact, Point, Shape, Side, Table, View, Words

from . import held
from .injections import INJECTIONS
from .strategies import NASTY

HOSTILE = [*INJECTIONS, *NASTY, "", "It is so.", "Ja, natürlich: 评审 passt."]


def table_of(seed: int) -> tuple[Table, Turn]:
    """A table and the turn that comes next, the same for a seed."""
    chance = Random(seed)
    members = chance.randint(2, 9)
    table = held.opened(members, view=chance.choice(list(View)))
    table = held.noted(table, held.floor.KeepTime("opening", 0))
    for _ in range(chance.randrange(60)):
        table = _more(table, chance, members)
    why = chance.choice([why for why in Why if why != Why.CLOSING])
    return table, Turn(999, chance.randint(1, members), why, asked_by=chance.randint(1, table.course.newest))


def _more(table: Table, chance: Random, members: int) -> Table:
    sort = chance.choices([Sort.SAID, Sort.CHAIR, Sort.NOTE], [8, 1, 1])[0]
    if sort == Sort.NOTE:
        kind = chance.choice(["reminder", "deadline"])
        return held.noted(table, held.floor.KeepTime(kind, table.course.clock))
    return _said(table, chance, members) if sort == Sort.SAID else _chaired(table, chance, members)


def _said(table: Table, chance: Random, members: int) -> Table:
    number, last = table.course.newest + 1, table.course.messages[-1]
    goes_on = last.sort == Sort.SAID and last.continues is None and chance.random() < 0.2
    seat = last.seat if goes_on else chance.randint(1, members)
    turn = Turn(number, seat or 1, chance.choice([Why.DRAW, Why.CHALLENGE]), number - 1, Standing.SPOKEN)
    message = Message(
        number,
        Sort.SAID,
        seat=seat,
        clock=None if goes_on else table.course.clock + 1,
        to=tuple(chance.sample(range(1, members + 1), chance.randrange(members))),
        wants_answer=chance.random() < 0.5,
        verdict=chance.choice(["", *table.words_of_options, "ABSTAIN"]),
        moved_by=tuple(chance.sample(range(1, number + 1), chance.randrange(min(4, number)))),
        withdrawn=chance.random() < 0.1,
        continues=last.number if goes_on else None,
        turn=number,
    )
    return held.heard(held.given(table, turn), message, _words(table, chance))


def _chaired(table: Table, chance: Random, members: int) -> Table:
    return held.chaired(table, chance.choice(HOSTILE), (chance.randint(1, members),), ask=True)


def _words(table: Table, chance: Random) -> Words:
    text = [chance.choice(HOSTILE) for _ in range(8)]
    point = Point(text[0], table.words_of_options[0], Side.FOR, "A1", 3, chance.choice(["", "2.1"]))
    cells = ((text[3], text[4]), (text[5], text[6]))
    shown = Artifact(text[1], chance.choice(list(Shape)), text[2], ("One", "Two"), cells)
    artifact = replace(shown, columns=(), rows=()) if shown.kind == Shape.TEXT else replace(shown, text="")
    number = chance.randrange(3)
    return Words(held.now(table), text[7], (point,) * number, artifact if number == 1 else None, text[1])
