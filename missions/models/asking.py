"""Questions to people about a mission as a whole: an agent has stopped, a limit is reached, no agent can continue.

The state is in the gates; nothing else is stored.
"""

from collections.abc import Sequence

from engine.models import Gate
from engine.models.gates import GateState

from .. import rules
from ..rules import GROWS, HALT_STEP, LIMIT_STEP, MissionLimits
from .missions import GATES, AgentStop, Mission, gates_about_it


def _asked(mission: Mission) -> Sequence[Gate]:
    """The gates as `active()` and `with_agents()` have read them; otherwise they are read now."""
    held: list[Gate] | None = getattr(mission.run, GATES, None)
    return list(gates_about_it().filter(run=mission.pk)) if held is None else held


def halt_step(mission: Mission, halt: AgentStop) -> str:
    """The step of the gate about this stop. It is unique, so a person is asked once."""
    earlier = [one.pk for one in mission.halts.all() if one.agent_id == halt.agent_id and one.pk <= halt.pk]
    number = next(one.number for one in mission.crew_list if one.pk == halt.agent_id)
    return f"{HALT_STEP}{number}.{len(earlier)}"


def is_settled(mission: Mission, step: str) -> bool:
    """Whether the question of this step was answered or is void."""
    return any(one.step == step and (one.used or one.state == GateState.VOID) for one in _asked(mission))


def allowed(mission: Mission, limit: str) -> int:
    """How often a person has extended the limit, each time by its first value."""
    begins = f"{LIMIT_STEP}{limit}."
    return sum(one.approved and one.used is not None for one in _asked(mission) if one.step.startswith(begins))


def bounds_of(mission: Mission) -> MissionLimits:
    return rules.with_more(mission.bounds, {limit: allowed(mission, limit) for limit in GROWS})


def cost_limit(mission: Mission) -> int | None:
    """Billionths of a US dollar, with extensions; None if the mission has no limit of its own."""
    spend: int | None = mission.run.spend
    return spend * (allowed(mission, "spend") + 1) if spend else None


def limit_step(mission: Mission, limit: str) -> str:
    return f"{LIMIT_STEP}{limit}.{allowed(mission, limit) + 1}"


def is_ended(mission: Mission) -> bool:
    """Whether a person has ended the mission, or no limit was extended in time."""
    return any(one.used and (_is_no_more(one) or one.choice == rules.END) for one in _asked(mission))


def _is_no_more(gate: Gate) -> bool:
    return gate.step.startswith(LIMIT_STEP) and not gate.approved
