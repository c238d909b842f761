"""A member as the table shows it: what it stands by, what it does now, and what it has done."""

from dataclasses import replace

from runs.questions import WRITES

from ..models import DebateMember
from ..rules.state import ABSTAIN, SteeringKind, TurnState
from .context import DebatePageContext
from .sentences import count_noun, retry_in_words
from .view_model import MISSING, UNDECIDED, MemberHistoryRow, MemberView, OptionStyle

ROLE_LENGTH = 60


def member_view(scene: DebatePageContext, member: DebateMember) -> MemberView:
    seat = _seat(scene, member)
    if scene.over:
        return replace(seat, out=_is_out(scene, member.seat))
    turn = open_turn(scene, member.seat)
    if turn:
        return _with_floor(scene, member, turn, seat)
    if _is_asked_alone(scene, member):
        return _with_call(scene, f"first-{member.seat}", replace(seat, now="Asked alone", sign="dots"), asked=False)
    if member.seat in pending_members(scene):
        return replace(seat, now="Asked", sign="right", asked=True)
    return replace(seat, out=_is_out(scene, member.seat))


def _seat(scene: DebatePageContext, member: DebateMember) -> MemberView:
    shown = (member.name, role_of(scene, member), position_view(scene, member.seat), member_line(scene, member.seat))
    return MemberView(member.seat, *shown, models=(member.model, member.fallback), who=member.who)


def role_of(scene: DebatePageContext, member: DebateMember) -> str:
    """What it is, in few words, and what the others call it where they know no names."""
    called, role = scene.called.get(member.seat, ""), _role(member)
    return f"{called}: {role}" if called and role else called or role


def _role(member: DebateMember) -> str:
    """The first words of those that say who it is."""
    first = next((line.strip() for line in member.who.splitlines() if line.strip()), "")
    role = first.split(". ")[0].rstrip(".")
    role = f"Person: {role}" if member.user_name and role else "A person" if member.user_name else role
    return role if len(role) <= ROLE_LENGTH else f"{role[: ROLE_LENGTH - 1].rstrip()}…"


def position_view(scene: DebatePageContext, seat: int) -> OptionStyle:
    verdict = scene.course.verdict_of.get(seat, "")
    return MISSING if not verdict and seat in scene.course.silent else scene.option_style(verdict)


def member_line(scene: DebatePageContext, seat: int) -> str:
    if seat in scene.course.withdrawn:
        return f"Withdrew after {count_noun(withdrew_after(scene, seat), 'message')}"
    if seat in scene.course.silent:
        return "Silent"
    return count_noun(scene.course.counts[seat], "message")


def withdrew_after(scene: DebatePageContext, seat: int) -> int:
    """How many messages of members there were by then, its own among them: as they are counted everywhere."""
    own = [one.number for one in scene.course.messages if one.withdrawn and one.seat == seat]
    left = [one.after for one in scene.course.acts(SteeringKind.WITHDRAW) if one.seat == seat]
    return scene.clock_at(min([*own, *left], default=0))


def _is_out(scene: DebatePageContext, seat: int) -> bool:
    return seat in scene.course.withdrawn or seat in scene.course.silent


def open_turn(scene: DebatePageContext, seat: int) -> TurnState | None:
    """The turn that it has right now."""
    turns = [*([scene.open_turn] if scene.open_turn else []), *scene.closing_turns]
    return next((turn for turn in turns if turn.seat == seat), None)


def step_of(turn: TurnState) -> str:
    return f"turn-{turn.number}"


def _with_floor(scene: DebatePageContext, member: DebateMember, turn: TurnState, seat: MemberView) -> MemberView:
    if member.user_name:
        return replace(seat, now="Has the floor", sign="pause", asked=True)
    if not scene.going_on and not scene.retried(step_of(turn)):
        return replace(seat, now="Next", sign="right", asked=True)
    return _with_call(scene, step_of(turn), replace(seat, now="Speaking", sign="dots"), asked=True)


def _with_call(scene: DebatePageContext, step: str, seat: MemberView, asked: bool) -> MemberView:
    """As its model is asked: that of a rehearsal, and one that writes, does what the seat says already."""
    question = scene.questions.get(step)
    if (not question or not question.waits) and (call := scene.retried(step)):
        return replace(seat, now=retry_in_words(scene, call), sign="retry", until=call.retry_at, asked=asked)
    if question is None or question.said == WRITES:
        return replace(seat, step=step, speaks=True)
    if question.waits:
        return replace(seat, now=question.short, sign="pause", asked=asked)
    return replace(seat, step=step, now=question.short, speaks=True)


def _is_asked_alone(scene: DebatePageContext, member: DebateMember) -> bool:
    missing = scene.course.settings.first and not scene.course.messages and not member.user_name
    return missing and scene.going_on and not hasattr(member, "first")


def pending_members(scene: DebatePageContext) -> frozenset[int]:
    """Whose answer the last message wants, of those that can still give one."""
    last = scene.course.messages_said[-1] if scene.course.messages_said else None
    wanted = last.to if last and last.wants_answer and not scene.course.because else ()
    return frozenset(wanted) & frozenset(scene.course.active)


def member_history(scene: DebatePageContext) -> tuple[MemberHistoryRow, ...]:
    """A line for each option, and for those that stand by none."""
    course = scene.course
    stood = {seat.seat: course.verdict_of.get(seat.seat, "") for seat in course.voters}
    verdicts = [*course.settings.options, *(one for one in (ABSTAIN, "") if one in stood.values())]
    return tuple(_row(scene, verdict, [seat for seat, by in stood.items() if by == verdict]) for verdict in verdicts)


def _row(scene: DebatePageContext, verdict: str, seats: list[int]) -> MemberHistoryRow:
    look = scene.option_style(verdict) if verdict or not scene.over else replace(UNDECIDED, word="None")
    return MemberHistoryRow(look, len(seats), ", ".join(_name(scene, seat) for seat in seats) or "Nobody")


def _name(scene: DebatePageContext, seat: int) -> str:
    name = scene.name(seat)
    if seat in scene.course.withdrawn:
        return f"{name} (withdrawn)"
    return f"{name} (silent)" if seat in scene.course.silent else name
