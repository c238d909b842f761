"""Debates at the moments that pages are looked at."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from debates.rules.state import ABSTAIN, SteeringKind, TurnReason
from tests.databases import copied
from tests.debates.table import BEGINNING, PANEL, Table
from tests.debates.talks import AMARA, CLAUSES, HANA, HIRE, ILSE, NO, RAJIV, TOMAS, asked_alone, early, late


@copied
def speaking(owner: Any) -> Table:
    table = late(owner)
    table.speaks(HANA, why=TurnReason.REPLY, asked_by=table.newest)
    return table


@copied
def nine(owner: Any) -> Table:
    table = Table(owner, 9)
    for seat in range(1, 10):
        table.alone(seat, (HIRE, CLAUSES, NO)[seat % 3])
    table.note()
    table.play(33)
    table.speaks()
    return table


@copied
def two(owner: Any) -> Table:
    table = Table(owner, 2)
    for seat in (AMARA, ILSE):
        table.alone(seat, (HIRE, NO)[seat % 2])
    table.note()
    for number in range(7):
        table.say(
            1 + number % 2,
            f"The letter says more than the list of papers does, and that is reason {number + 1}.",
            to=(2 - number % 2,),
        )
    table.speaks(ILSE)
    return table


@copied
def rehearsed(owner: Any) -> Table:
    table = Table(owner, model="rehearsal/instant")
    for seat in range(1, 6):
        table.alone(seat, (HIRE, CLAUSES, NO)[seat % 3])
    table.note()
    table.play(21)
    table.steer(SteeringKind.CLOSE)
    table.close()
    for seat in range(1, 6):
        table.last_word(seat, verdict=HIRE, reasoning="It was answered.")
    table.end()
    return table


@copied
def with_elin(owner: Any, person: Any) -> Table:
    members = [{"name": name, "who": who, "model": "openai/a"} for name, who in PANEL[:5]]
    seated = {"name": "Elin Sato", "who": "Head of the workshop.", "user": person or owner}
    return Table(owner, members=[*members[:3], seated, members[4]])


@copied
def waiting(owner: Any, person: Any = None) -> Table:
    table = with_elin(owner, person)
    table.note()
    table.play(12)
    table.say(
        RAJIV,
        "Elin, you know both machines. Can they run for half a year without a head of laboratory?",
        to=(HANA,),
        wants_answer=True,
        why=TurnReason.CALL,
    )
    turn = table.open(HANA, why=TurnReason.REPLY, asked_by=table.newest)
    table.wait(turn, person or owner)
    table.become("waiting", wakes_at=BEGINNING + timedelta(days=1))
    return table


@copied
def seated(owner: Any) -> Table:
    """Somebody looks who sits at the table, while another one speaks."""
    table = with_elin(owner, owner)
    table.note()
    table.play(12)
    table.speaks(AMARA, why=TurnReason.CALL)
    return table


@copied
def last_words(owner: Any, person: Any = None) -> Table:
    """All but the person have said theirs."""
    table = with_elin(owner, person)
    table.note()
    table.play(12)
    table.steer(SteeringKind.CLOSE)
    table.close()
    for seat in (AMARA, ILSE, RAJIV, TOMAS):
        table.last_word(seat, "I stand by what I said.", verdict=HIRE, reasoning="It was answered.")
    table.wait(table.debate.turns.get(why=TurnReason.CLOSING, state="open"), person or owner)
    table.become("waiting", wakes_at=BEGINNING + timedelta(days=1))
    return table


@copied
def retried(owner: Any) -> Table:
    table = early(owner)
    turn = table.open(HANA)
    for attempt in (1, 2):
        table.call(
            turn.step,
            "failed",
            attempt,
            error="No answer within 60 s.",
            error_code="timeout",
            retry_at=BEGINNING + timedelta(hours=1),
        )
    return table


@copied
def silent(owner: Any) -> Table:
    table = early(owner)
    for _ in range(3):
        table.open(HANA)
        table.skip()
        table.say(AMARA, "Let us go on.", why=TurnReason.CALL)
    return table


@copied
def closing(owner: Any) -> Table:
    table = late(owner)
    table.say(HANA, "The workshop can carry both instruments until September.", why=TurnReason.CALL)
    table.chair("Thank you. I close the debate; please make your closing statements.")
    table.steer(SteeringKind.CLOSE)
    table.close()
    table.last_word(HANA, "The code is better than I first said. Hire.", verdict=HIRE, reasoning="The tests exist.")
    for turn in table.debate.turns.filter(why=TurnReason.CLOSING, state="open"):
        table.call(turn.step, "open")
    return table


@copied
def decided(owner: Any, **more: Any) -> Table:
    table = late(owner, **more)
    table.chair("Thank you. I close the debate; please make your closing statements.")
    table.steer(SteeringKind.CLOSE)
    table.close()
    table.last_word(
        AMARA,
        "Hire, if the data are public before the contract begins. Without that my verdict would be no.",
        verdict=CLAUSES,
        reasoning="Without that condition my verdict would be no.",
    )
    table.last_word(
        ILSE, "The post needs somebody who keeps a group together.", verdict=HIRE, reasoning="She has done it."
    )
    table.last_word(RAJIV, "Supervision is documented. I stand by hiring.", verdict=HIRE, reasoning="It is documented.")
    table.last_word(HANA, "The code is better than I first said. Hire.", verdict=HIRE, reasoning="The tests exist.")
    table.end()
    return table


@copied
def undecided(owner: Any) -> Table:
    table = early(owner)
    table.close()
    for seat, verdict in ((AMARA, CLAUSES), (RAJIV, ABSTAIN), (ILSE, HIRE), (HANA, CLAUSES), (TOMAS, NO)):
        table.last_word(seat, verdict=verdict, reasoning="As I said.")
    table.end()
    return table


@copied
def failed(owner: Any) -> Table:
    table = early(owner)
    table.become(
        "failed", error={"code": "member_failed", "message": "Fewer than two members can speak. Silent: Hana Kubo."}
    )
    return table


@copied
def cancelled(owner: Any) -> Table:
    table = early(owner)
    table.speaks(HANA)
    table.become("cancelled", cancelled_by_name="M. Okafor")
    return table


@copied
def queued(owner: Any) -> Table:
    table = Table(owner)
    table.become("queued", started=None)
    return table


SCENES: dict[str, Callable[[Any], Table]] = {
    one.__name__: one
    for one in (
        queued,
        asked_alone,
        early,
        speaking,
        two,
        nine,
        rehearsed,
        waiting,
        seated,
        last_words,
        retried,
        silent,
        closing,
        decided,
        undecided,
        failed,
        cancelled,
    )
}
