"""What a person was asked about a mission as a whole, and has said: of an agent that has stopped, of a limit, of nobody
who can go on. Gates say it; nothing else is kept."""

from collections.abc import Sequence

from engine.models import Gate
from engine.models.gates import GateState

from .. import rules
from ..rules import GROWS, HALT_STEP, LIMIT_STEP, MissionLimits
from .missions import GATES, AgentStop, Mission, gates_about_it


def _asked(mission: Mission) -> Sequence[Gate]:
    """As `at_work` and `whole` have read them, or read now."""
    held: list[Gate] | None = getattr(mission.run, GATES, None)
    return list(gates_about_it().filter(run=mission.pk)) if held is None else held


def halt_step(mission: Mission, halt: AgentStop) -> str:
    """The place of the question about it: a person is asked once."""
    earlier = [one.pk for one in mission.halts.all() if one.agent_id == halt.agent_id and one.pk <= halt.pk]
    number = next(one.number for one in mission.crew_list if one.pk == halt.agent_id)
    return f"{HALT_STEP}{number}.{len(earlier)}"


def is_settled(mission: Mission, step: str) -> bool:
    """Whether somebody has said how it goes on, or nobody need say it any more."""
    return any(one.step == step and (one.used or one.state == GateState.VOID) for one in _asked(mission))


def allowed(mission: Mission, limit: str) -> int:
    """How often a person has allowed as much again."""
    begins = f"{LIMIT_STEP}{limit}."
    return sum(one.approved and one.used is not None for one in _asked(mission) if one.step.startswith(begins))


def bounds_of(mission: Mission) -> MissionLimits:
    return rules.with_more(mission.bounds, {limit: allowed(mission, limit) for limit in GROWS})


def cost_limit(mission: Mission) -> int | None:
    """In billionths of a dollar; None where nothing of its own bounds it."""
    spend: int | None = mission.run.spend
    return spend * (allowed(mission, "spend") + 1) if spend else None


def limit_step(mission: Mission, limit: str) -> str:
    return f"{LIMIT_STEP}{limit}.{allowed(mission, limit) + 1}"


def is_ended(mission: Mission) -> bool:
    """A person wants it to end, or allowed no more in time."""
    return any(one.used and (_is_no_more(one) or one.choice == rules.END) for one in _asked(mission))


def _is_no_more(gate: Gate) -> bool:
    return gate.step.startswith(LIMIT_STEP) and not gate.approved
