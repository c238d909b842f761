"""Comparison of two judgements: which decisions differ, in which round, and the last reasons."""

from collections.abc import Iterator

from runs.procedure.comparison_parts import ComparedPair, ComparedPairs, ComparedRun, ComparisonResult, Difference
from runs.text_diff import text_amendments

from .display import JudgementDisplay
from .view_model import AgentView, RoundCell

Agents = list[tuple[AgentView, AgentView]]
AGENT_FIELDS = ("name", "model", "fallback", "criteria")


def compare_judgements(a: JudgementDisplay, b: JudgementDisplay, erased: bool) -> ComparisonResult:
    agents = list(zip(a.seats, b.seats, strict=True))
    otherwise = [
        cells for seats in agents for cells in zip(*(seat.cells for seat in seats), strict=True) if _turned(*cells)
    ]
    both = sum(one.decided and other.decided for s, t in agents for one, other in zip(s.cells, t.cells, strict=True))
    changed = {name for name in AGENT_FIELDS for one, other in agents if getattr(one, name) != getattr(other, name)}
    return ComparisonResult(
        differs=list(_differs(agents, len(otherwise), both, changed)),
        same=list(_same(a, b, changed, bool(otherwise) or both == 0)),
        amended=[one for seats in agents for one in text_amendments(*(_written(seat) for seat in seats))],
        pairs=[ComparedPairs("Last reasons", [_pair(*seats, erased) for seats in agents])],
        part="judgements/_compared_votes.html",
        context={"votes": _votes(a, b, {(cell.number, cell.round) for cell, _ in otherwise})},
    )


def _turned(one: RoundCell, other: RoundCell) -> bool:
    return one.decided and other.decided and one.state != other.state


def _written(seat: AgentView) -> dict[str, str]:
    return {f"Agent {seat.number}, {name}": getattr(seat, name) for name in AGENT_FIELDS}


# ---- sentences --------------------------------------------------------------------------------------------


def _differs(agents: Agents, otherwise: int, both: int, changed: set[str]) -> Iterator[Difference]:
    if otherwise:
        yield Difference("check", f"{otherwise} of {both} decisions.", " ".join(_ways(agents)))
    if changed:
        what = [word for name, word in _NAMED.items() if name in changed]
        who = [str(one.number) for one, other in agents if _written(one) != _written(other)]
        yield Difference(
            "person", "The agents.", f"Other {_listed(what)} of agent{'s' * (len(who) > 1)} {_listed(who)}."
        )


_NAMED = {"name": "names", "model": "models", "fallback": "fallback models", "criteria": "criteria"}


def _ways(agents: Agents) -> Iterator[str]:
    """Yield a sentence for each pair of verdicts in A and B; differing verdicts first."""
    ways: dict[tuple[str, str], list[str]] = {}
    for one, other in sorted(agents, key=lambda seats: seats[0].state == seats[1].state):
        ways.setdefault((one.word.lower(), other.word.lower()), []).append(other.name)
    for (was, became), names in ways.items():
        said = f"{was} in both" if was == became else f"{was} in A and {became} in B"
        yield f"{_listed(names)}: {said}."


def _same(a: JudgementDisplay, b: JudgementDisplay, changed: set[str], otherwise: bool) -> Iterator[str]:
    yield from () if otherwise else ("decisions",)
    if {"name", "model"}.isdisjoint(changed):
        yield "three agents"
    yield from ("models",) if not {"model", "fallback"} & changed else ()
    yield from ("criteria",) if "criteria" not in changed else ()
    if a.council and a.council == b.council:
        yield "council"
    yield "weights"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# ---- votes and reasons ------------------------------------------------------------------------------------


def _votes(a: JudgementDisplay, b: JudgementDisplay, otherwise: set[tuple[int, int]]) -> list[dict[str, object]]:
    """Return the rounds of both; each cell is paired with whether it was decided differently in the other one."""
    return [
        {
            "letter": letter,
            "approve": f"{sum(seat.state == 'approve' for seat in one.seats)} of {len(one.seats)} approve",
            "seats": one.seats,
            "rounds": [
                (number.number, [(cell, (cell.number, cell.round) in otherwise) for cell in number.cells])
                for number in one.rounds
            ],
        }
        for letter, one in zip("AB", (a, b), strict=True)
    ]


def _pair(one: AgentView, other: AgentView, erased: bool) -> ComparedPair:
    name = one.name if one.name == other.name else f"{one.name}, in B {other.name}"
    criteria = "the same criteria" if one.criteria == other.criteria else "other criteria"
    return ComparedPair(name, _side(one), _side(other), criteria, one.number, erased)


def _side(seat: AgentView) -> ComparedRun:
    last = next((cell for cell in seat.newest_first if cell.reason), None)
    return ComparedRun(seat.word, seat.state, seat.tally.score, last.reason if last else "")
