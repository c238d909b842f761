"""What was said in debates before the moments at which scenes look at them."""

from typing import Any

from debates.prompt_context import PromptPoint
from debates.rules.state import SteeringKind, TurnReason
from tests.databases import copied
from tests.debates.table import Table, weeks

HIRE, CLAUSES, NO = "HIRE", "HIRE ON CONDITIONS", "DO NOT HIRE"
AMARA, ILSE, RAJIV, HANA, TOMAS = range(1, 6)


@copied
def asked_alone(owner: Any) -> Table:
    table = Table(owner)
    table.alone(AMARA, CLAUSES, "The 2023 study cannot be repeated with the data that are public.", 60)
    table.alone(TOMAS, NO, "Half a year without teaching is not in any budget.", 85)
    for seat in (ILSE, RAJIV, HANA):
        table.call(f"first-{seat}", "open")
    return table


@copied
def early(owner: Any) -> Table:
    table = asked_alone(owner)
    table.alone(ILSE, HIRE, "She has led nine people through a move.")
    table.alone(RAJIV, CLAUSES, "The students first.")
    table.alone(HANA, NO, "One author, no tests.")
    table.note()
    table.say(
        RAJIV,
        "Three of her five doctoral students finished in time. Amara, do the group's results hold up?",
        to=(AMARA,),
        wants_answer=True,
        points=(PromptPoint("Three of five finished in time", HIRE, "for", "A1", 41),),
    )
    table.say(
        AMARA,
        "They mostly do. Two of the four main papers share their data and code; the 2023 study does not.",
        why=TurnReason.REPLY,
        asked_by=table.newest,
        to=(RAJIV,),
        points=(
            PromptPoint("The 2023 study cannot be repeated", HIRE, "against", "A1", 58),
            PromptPoint("Two of four papers come with data and code", HIRE, "for", "A1", 52),
        ),
    )
    table.say(
        ILSE,
        "She led a group through a move between two institutes without losing anybody.",
        verdict=HIRE,
        reasoning="Groups rarely survive that.",
        points=(PromptPoint("Moved a group of nine and nobody left", HIRE, "for", "A3", 7),),
    )
    table.say(
        TOMAS,
        "Half a year without teaching costs us two lecturers. Nothing in her plan says who pays. Do you know?",
        to=(ILSE,),
        wants_answer=True,
        points=(PromptPoint("The plan names no cover for teaching", HIRE, "against", "A2", 23),),
    )
    table.say(
        ILSE,
        "She offers to teach the spring block from the second year on.",
        why=TurnReason.REPLY,
        asked_by=table.newest - 1,
        to=(TOMAS,),
        points=(PromptPoint("Offers the spring block from year two", HIRE, "for", "A2", 31, "5.1"),),
    )
    table.say(
        TOMAS,
        "An offer in a letter is no contract. Until it is written down I cannot carry it.",
        verdict=NO,
        reasoning="Nobody has said who pays.",
    )
    return table


@copied
def late(owner: Any, **more: Any) -> Table:
    """Three have changed, one has withdrawn, and somebody answers."""
    table = Table(owner, **more)
    for seat, verdict in enumerate((CLAUSES, HIRE, CLAUSES, NO, NO), 1):
        table.alone(seat, verdict)
    table.note()
    order = [
        3,
        1,
        2,
        5,
        2,
        5,
        4,
        1,
        3,
        4,
        2,
        1,
        3,
        5,
        4,
        2,
        3,
        1,
        2,
        4,
        5,
        2,
        3,
        1,
        4,
        2,
        5,
        1,
        3,
        4,
        2,
        5,
        1,
        4,
        3,
        2,
        1,
        4,
        5,
        2,
    ]
    stated = {3: (2, HIRE), 6: (5, NO), 8: (1, NO), 10: (4, NO), 13: (3, CLAUSES), 24: (1, CLAUSES), 34: (4, HIRE)}
    for number, seat in enumerate(order, 1):
        verdict = stated.get(number, (0, ""))[1]
        moved = (table.said,) if number in (24, 34) else ()
        to = (1 + (seat % 5),) if number % 2 else ()
        table.say(
            seat,
            f"The file says one thing and the letter another; I take the file. That is my point {number}.",
            to=to,
            verdict=verdict,
            reasoning="It was said well enough." if verdict else "",
            moved_by=moved,
            why=TurnReason.CALL,
        )
    table.say(
        HANA,
        "I ran through the repository's history again. The tests exist, on a branch that was never merged.",
        points=(PromptPoint("A test suite exists on an unmerged branch", HIRE, "for", "A2", 48),),
        why=TurnReason.CALL,
    )
    table.say(
        ILSE,
        "Then only the money is left. Tomás, what would the contract have to say?",
        to=(TOMAS,),
        wants_answer=True,
        why=TurnReason.CALL,
    )
    table.say(
        TOMAS,
        "Who teaches in the first year, and from which budget. I have asked four times. My verdict stands.",
        to=(ILSE,),
        verdict=NO,
        reasoning="The teaching costs stay open, and I have said it four times.",
        withdrawn=True,
        why=TurnReason.REPLY,
        asked_by=table.newest,
    )
    table.chair(
        "Would it be enough for you if the data of the 2023 study were public before the contract begins?", [AMARA]
    )
    table.steer(SteeringKind.ASK, AMARA)
    table.say(
        AMARA,
        "It would. The scans exist, only the consent forms are missing. With that condition I stand by hiring.",
        verdict=CLAUSES,
        reasoning="The data can be published within eight weeks.",
        why=TurnReason.ASKED,
        points=(PromptPoint("Data can be published within eight weeks", CLAUSES, "for", "A3", 19),),
        artifact=weeks(),
    )
    table.say(
        ILSE,
        "Rajiv, your condition was supervision. The reference in A3 covers the students. What is left of it?",
        to=(RAJIV,),
        wants_answer=True,
        points=(PromptPoint("A former student describes weekly supervision", HIRE, "for", "A3", 26),),
        why=TurnReason.CALL,
    )
    table.say(
        RAJIV,
        "Nothing that needs a clause. The student's letter answers what I asked, and I had not read that far down.",
        to=(ILSE,),
        verdict=HIRE,
        reasoning="The letter answers what I doubted.",
        moved_by=(table.newest,),
        why=TurnReason.REPLY,
        asked_by=table.newest,
        points=(PromptPoint("Weekly supervision is documented", HIRE, "for", "A3", 26),),
    )
    return table
