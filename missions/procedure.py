"""A mission, performed: what comes next follows from its rows alone, so it goes on where it was left.

Why so: docs/decisions.md, Missions.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from engine.llm import pricing
from engine.llm.errors import RunFailed
from engine.llm.prompt_blocks import growing, no_preview, run_boundary
from engine.llm.response_format import ResponseFormat, tokens_for
from engine.models import Effect, Run, ToolCall
from engine.runtime.procedure import CommitChange
from engine.runtime.run_context import RunContext
from engine.runtime.suspension import Suspend, earliest_wait
from engine.tools import own_tools
from runs import submissions

from . import contents, egress_policy, publishing, questions, rules, sandbox_selftest, workspace, workspace_sources
from .command_exit import asks, ended_commands, wait_for_exits
from .egress_policy import ALLOW_OR_REFUSE
from .models import Mission, MissionAgent, MissionStep, Terminal, memory_selection, queries, writes
from .prompts import memory, steps
from .publishing import NotPublished
from .repositories import checkout
from .repositories.cloning import RepositoryRefused
from .repositories.git import GitFailed
from .rules import MEMORY_LENGTH
from .terminals.launcher import LaunchRefused
from .tools import ask_person, replacement_for
from .tools.ask_person import ASK_PERSON
from .tools.memory import COMPRESS, SUMMARIZE
from .tools.output import output_facts
from .tools.publish import PUBLISH_COMMIT
from .turn_scheduler import TurnScheduler
from .workspace_files import FileChange as FileChange

SHORTER = ResponseFormat(
    "mission-memory",
    memory.SHORTER_SCHEMA,
    memory.read_shorter,
    no_preview,
    steps.retry_message,
    said=lambda text: (text,),
    max_tokens=tokens_for(MEMORY_LENGTH),
)
SUMMARY = ResponseFormat(
    "mission-summary",
    memory.SUMMARY_SCHEMA,
    memory.read_summary,
    no_preview,
    steps.retry_message,
    exact_schema=memory.SUMMARY_EXACT,
    said=lambda summary: (summary.text, *summary.facts),
    max_tokens=tokens_for(memory.LONGEST_SUMMARY + memory.MOST_FACTS * memory.LONGEST_FACT),
)
SANDBOX_CODE = "sandbox"
MAX_LAST_CHANGES = 20  # times that changes are kept at the end: all files that are looked at, by MOST_CHANGES


def submit(**values: Any) -> Mission:
    """Queue a mission and wake the engine. Takes what `Mission.objects.submit` and `submissions.submit` take."""
    return submissions.submit_run(Mission.objects, waits_as="mission", **values)


def held_back(run: Run) -> int:
    """One last step of whoever coordinates: no mission is left without an end because others have spent what there
    was."""
    if not Run.objects.filter(pk=run.pk, reserved__gt=0).exists():
        return 0
    model = MissionAgent.objects.values_list("model", flat=True).get(mission=run.pk, number=rules.COORDINATOR)
    return pricing.cost(model, *rules.A_STEP) or 0


async def perform(run: RunContext) -> CommitChange:
    await _prepare(run)
    crew = AgentScheduler(run)
    while True:
        mission = await run.read_snapshot(partial(queries.load_mission, run.pk))
        if ends := await asyncio.to_thread(ended_commands, mission):
            await run.write(partial(writes.save_command_exits, run.pk, ends), "ends")
            continue
        what = await run.read(partial(queries.next_action, mission, run.seconds_worked, run.now))
        if isinstance(what, rules.MissionFinished):
            return await _conclude(run, mission)
        await _go_on(run, crew, mission, what)


async def _go_on(run: RunContext, crew: "AgentScheduler", mission: Mission, what: rules.NextAction) -> None:
    match what:
        case rules.MissionPaused(by):
            raise Suspend(f"Paused by {by}")
        case rules.WaitForEvent(until):
            if until is None and (asking := await _in_vain(run, mission)):
                await _stuck(run, mission, queries.told_that_nothing_is_left(mission), asking)
            else:
                raise Suspend(_waited_for(mission), until)
        case rules.Reached(limit):
            await _ask_for_more(run, mission, limit)
        case rules.MissionStuck(told):
            await _stuck(run, mission, told)
        case rules.ContinueAgents():
            if crew.steps >= rules.STEPS_AT_ONCE:
                await run.yield_to_others()
            await run.gather(crew.pursue(mission.bounds.at_once))


def _waited_for(mission: Mission) -> str:
    living = [one.command[:60] for one in mission.terminals.all() if one.is_running]
    return f"Waits for the command “{living[0]}”" if living else "Waits until the time is over that an agent has set"


async def _prepare(run: RunContext) -> None:
    """The sandbox is tried where it was not yet; then the workspace is made of the rows of what it holds at first."""
    with suppress(LaunchRefused):  # then no command begins, and each that is asked for says why
        await asyncio.to_thread(sandbox_selftest.ensure_probed)
    if (workspace.mission_folder(run.pk) / workspace.PREPARED).exists():
        return
    await run.write(partial(writes.bind_workspace, run.pk), "host")
    files = await run.read(partial(queries.newest_files, run.pk))
    begun = await run.read(partial(queries.begun_with, run.pk))
    kept = await run.read(partial(queries.newest_versions, run.pk))
    try:
        fill = await asyncio.to_thread(_taken, run.pk, begun) if begun else None
        files |= await asyncio.to_thread(contents.read, run.pk, kept)
        await asyncio.to_thread(workspace.prepare, run.pk, files.items(), fill)
        await asyncio.to_thread(contents.mark_programs, run.pk, kept)
    except (LaunchRefused, RepositoryRefused, GitFailed, OSError) as error:
        raise RunFailed(SANDBOX_CODE, f"There is no place for its workspace: {error}") from error
    if begun and begun.gone:
        await asyncio.to_thread(workspace.remove_files, run.pk, begun.gone)


def _taken(mission: Any, begun: queries.BegunWith) -> Callable[[Path], None]:
    """What makes the workspace of a repository, which is fetched once more where it does not lie here.
    RepositoryRefused, GitFailed."""
    place = publishing.repository(mission)
    if not checkout.take(place, begun.staged):
        again = workspace_sources.source_from_git(begun.address).repository  # only where that is still allowed
        checkout.take(place, again.staged if again else "")
    start = begun.start or begun.commit
    checkout.begin(place, begun.commit, start, begun.own_branch, begun.brought, begun.moment)
    return partial(checkout.fill, mission, place, begun.crew)


async def _in_vain(run: RunContext, mission: Mission) -> list[Terminal]:
    """The commands that live, where each of them waits for input and whoever began it knows that."""
    living = [one for one in mission.terminals.all() if one.is_running]
    told = await run.read(lambda: all(queries.was_told_that_it_asks(mission, one) for one in living))
    return living if told and await asyncio.to_thread(lambda: all(map(asks, living))) else []


async def _stuck(run: RunContext, mission: Mission, told: bool, asking: Sequence[Terminal] = ()) -> None:
    """Never a silent idle loop: the coordinator is told once, then a person is asked."""
    if not told:
        numbers = [one.number for one in asking]
        await run.write(partial(writes.notify_nothing_left, run.pk, numbers), "told")
        return
    heard = len(mission.messages_in_order)
    due = partial(writes.refuse_answered, run.pk, heard)
    with suppress(writes.AlreadyAnswered):  # by words that came since the look
        gate = await run.gate(f"{rules.STUCK_STEP}{heard}", due=due, **questions.about_nobody(mission, asking))
        await run.write(partial(writes.save_answer, run.pk, gate.pk), "decided")


async def _ask_for_more(run: RunContext, mission: Mission, limit: str) -> None:
    """Nothing new begins until a person has said whether it goes on."""
    gate = await run.gate(**await run.read(partial(questions.about_limit, mission, limit)))
    await run.write(partial(writes.keep_limit_answer, run.pk, gate.pk), "decided")


# ---- one agent ------------------------------------------------------------------------------------------------


class AgentScheduler:
    """The agents in one claim. Thinking is parallel, acting takes turns."""

    def __init__(self, run: RunContext) -> None:
        self._run, self.steps, self._acting = run, 0, asyncio.Lock()
        self._seen: Mission

    async def pursue(self, at_once: int) -> None:
        """Everybody who can, in turns, also who is made or woken meanwhile; until other runs shall have theirs. Beside
        one that waits at a gate the others go on as long as they can, and their timers hold."""
        try:
            await TurnScheduler(at_once, self._due, self._step_of).run_until_idle()
        except Suspend as waits:
            run = self._run
            self._seen = await run.read_snapshot(partial(queries.load_mission, run.pk))
            what = await run.read(partial(queries.next_action, self._seen, run.seconds_worked, run.now))
            if not isinstance(what, rules.ContinueAgents):
                return  # nobody waits any more for what was asked
            timer = await run.read(partial(queries.next_timer, self._seen, run.now))
            raise earliest_wait([waits, Suspend(until=timer)]) from None

    async def _due(self, beside: Collection[int], somebody_waits: bool) -> Sequence[int]:
        run = self._run
        if self.steps >= rules.STEPS_AT_ONCE and not somebody_waits:
            return ()
        self._seen = await run.read_snapshot(partial(queries.load_mission, run.pk))
        return await run.read(partial(queries.due_agents, self._seen, beside, run.seconds_worked, run.now))

    async def _step_of(self, number: int) -> None:
        if number < 0:
            await self._ask_about(self._seen, -number)
            return
        mission, agent = self._seen, self._seen.agent(number)
        try:
            await self._act(mission, agent)
        except RunFailed as failure:
            if agent.coordinates:
                raise  # its failure is the run's
            await self._run.write(partial(writes.save_failure, self._run.pk, agent.pk, str(failure)), "halt")
        self.steps += 1

    async def _ask_about(self, mission: Mission, number: int) -> None:
        """How an agent that has stopped goes on. The others go on meanwhile, and may let it go on, too."""
        run, agent = self._run, mission.agent(number)
        halt = queries.halt_of(mission, number)
        due = partial(writes.refuse_revived, run.pk, number, halt.heard)
        with suppress(writes.AlreadyAnswered):
            gate = await run.gate(due=due, **questions.about_agent(mission, agent, halt))
            await run.write(partial(writes.keep_halt_answer, run.pk, halt.pk, gate.pk), "decided")

    async def _act(self, mission: Mission, agent: MissionAgent) -> None:
        run, number = self._run, agent.number
        version, text = queries.agent_memory(mission, number)
        if len(text) > MEMORY_LENGTH:
            await self._shorten(mission, agent, version, text)
            return
        made = mission.steps_of(number)
        if made and made[-1].settled is None:
            await self._before(mission, agent, made[-1])
            await self._use(mission, made[-1])
            return
        work = await run.read(partial(queries.agent_work, mission, number, run.seconds_worked, run.now))
        whole = steps.step_messages(work, run_boundary(run.pk))
        count = queries.messages_of(work)
        due = rules.enough_for_summary(count) and rules.due_for_summary(count, queries.filled(whole, agent.model))
        if due and not work.missing:
            await self._summarise(mission, agent, whole)
            return
        await self._step(mission, agent, work)

    async def _step(self, mission: Mission, agent: MissionAgent, work: steps.AgentWork) -> None:
        run = self._run
        fitted, remembered = queries.step_in_room(work, agent.model, run_boundary(run.pk))
        tools = await run.read(partial(queries.arguments_of, mission, agent))
        read = partial(steps.read_step, tools=tools, last=work.last)
        form = ResponseFormat(
            "mission-step",
            steps.SCHEMA,
            read,
            partial(growing, fields=("reasoning",)),
            steps.retry_message,
            exact_schema=steps.exact_schema(work.tools, work.last),
            said=steps.own_texts,
            instructions=partial(steps.instructions, work),
        )
        heard = queries.newest_message(mission)
        keep = partial(writes.save_step, run.pk, agent.pk, heard, work.last, remembered)
        key = step_key(mission, agent)
        await run.request_model(key, agent.model, fitted.messages, form, keep, left_out=fitted.left_out)

    async def _before(self, mission: Mission, agent: MissionAgent, step: MissionStep) -> None:
        """What a model is asked for a tool, or for one that stops: then its history is made short first, if it is long.
        Asked again after a crash, nothing is left to ask."""
        run, number = self._run, agent.number
        earlier = await run.read(partial(queries.history_of, mission, number))
        if earlier and step.tool in (SUMMARIZE, "wait"):
            work = await run.read(partial(queries.agent_work, mission, number, run.seconds_worked, run.now))
            prompt, count = steps.step_messages(work, run_boundary(run.pk)), queries.messages_of(work)
            if step.tool == SUMMARIZE or rules.due_for_summary(count, queries.filled(prompt, agent.model)):
                await self._summarise(mission, agent, prompt)
        version, text = queries.agent_memory(mission, number)
        if step.tool == COMPRESS and text and not queries.written_since(mission, number, step.made):
            await self._shorten(mission, agent, version, text)

    async def _use(self, mission: Mission, step: MissionStep) -> None:
        """The tool of a step. Those that write take turns, and what they changed is kept with what came of them."""
        run = self._run
        if step.tool == ASK_PERSON:
            await self._ask_person(mission, step)
            return
        name = replacement_for(step.tool, step.arguments)
        tool = own_tools().get(name)
        if tool is None or tool.effect == Effect.READS or tool.change:
            call = await run.execute_tool(
                step.key, name, step.args, choices=ALLOW_OR_REFUSE, asked_in=await self._asked(step)
            )
            await run.write(partial(writes.save_result, run.pk, step.pk, call, (), ()), "result")
            return
        async with self._acting:
            await self._keep(step, await self._acted(mission, step, name))

    async def _ask_person(self, mission: Mission, step: MissionStep) -> None:
        asked = ask_person.AskPersonArguments.model_validate(step.arguments)
        about: dict[str, Any] = {"title": f"{step.agent} asks: {mission.run.title}", "text": asked.question}
        gate = await self._run.gate(step.key, kind="question", choices=ask_person.choices_of(asked), **about)
        answer = ask_person.answer_of(gate)
        said = (answer, ask_person.result_of(answer))
        await self._run.write(partial(writes.save_question, self._run.pk, step.pk, gate.pk, *said), "decided")

    async def _acted(self, mission: Mission, step: MissionStep, name: str) -> ToolCall:
        """What was refused once is not asked again; what leaves the sandbox is asked about, exactly as it would be."""
        run = self._run
        if why := await run.read(partial(queries.was_refused, mission, step)):
            return ToolCall(status=ToolCall.Status.FAILED, error=egress_policy.REFUSED_TEXT.format(why=why))
        arguments: Any = step.args
        if name == PUBLISH_COMMIT:
            try:
                arguments = await self._commit(mission, step)
            except NotPublished as error:
                return ToolCall(status=ToolCall.Status.FAILED, error=str(error))
        policy = egress_policy.policy_for_tool(mission, name)
        if policy == egress_policy.NEVER:
            why = egress_policy.NOT_POSSIBLE_TEXT.format(capability=egress_policy.CAPABILITIES[name])
            return ToolCall(status=ToolCall.Status.FAILED, error=why)
        asked: dict[str, Any] = {"choices": ALLOW_OR_REFUSE, "asked_in": await self._asked(step)}
        return await run.execute_tool(step.key, name, arguments, policy, **asked)

    async def _asked(self, step: MissionStep) -> Any:
        return await self._run.read(lambda: step.call)

    async def _commit(self, mission: Mission, step: MissionStep) -> dict[str, Any]:
        """What would be published: the commit is made once, whatever the files become while somebody decides."""
        said, run = step.arguments, self._run
        if wrong := publishing.branch_problem(said["branch"]):
            raise NotPublished(f"branch: {wrong}")
        first = await run.read(partial(queries.first_files, run.pk))
        message, moment = said["message"], int(step.made.timestamp())
        about = (run.pk, step.key, message, step.agent.name, first, moment)
        made = await asyncio.to_thread(publishing.prepare, *about)
        at = await asyncio.to_thread(publishing.target, run.pk, step.key, said["branch"], made.commit)
        said |= {"goal": mission.goal, "to": publishing.publish_target() or publishing.BUNDLE_OF_MISSION}
        return said | vars(made) | vars(at)

    async def _keep(self, step: MissionStep, call: ToolCall) -> None:
        run = self._run
        changes = await _changes(run)
        await asyncio.to_thread(contents.keep, run.pk, changes)
        await asyncio.to_thread(publishing.keep_head, run.pk, step.key)
        mission = await run.read(partial(queries.load_mission, run.pk))
        ends = await asyncio.to_thread(ended_commands, mission)
        await run.write(partial(writes.save_result, run.pk, step.pk, call, changes, ends), "result")

    async def _shorten(self, mission: Mission, agent: MissionAgent, version: int, text: str) -> None:
        """What its active memories say already is left out."""
        run = self._run
        known = await run.read(partial(memory_selection.memories_of_agent, mission, agent))
        texts = [one.version.text for one in memory_selection.memories_in_prompt(known)]
        fitted = queries.shorter_in_room(agent, text, texts, run_boundary(run.pk))
        keep, key = (
            partial(writes.save_shortened_memory, run.pk, agent.pk, version),
            f"memory.{agent.number}.{version}",
        )
        await run.request_model(key, agent.model, fitted.messages, SHORTER, keep, left_out=fitted.left_out)

    async def _summarise(self, mission: Mission, agent: MissionAgent, prompt: steps.Messages) -> None:
        """The dump is of the whole prompt, before anything of it is left out. Where it fails, the history stays."""
        run, number = self._run, agent.number
        done = await run.read(partial(queries.history_of, mission, number))
        summary = queries.summary_of(mission, agent)
        covers = done[-1].number
        dump = json.dumps(prompt, ensure_ascii=False)
        keep, before = partial(writes.save_summary, run.pk, agent.pk, covers, dump), summary.text if summary else ""
        fitted = queries.summary_in_room(agent, mission.goal, before, done, run_boundary(run.pk))
        key = f"summary.{number}.{covers}"
        try:
            await run.request_model(key, agent.model, fitted.messages, SUMMARY, keep, left_out=fitted.left_out)
        except RunFailed:
            await run.write(partial(writes.save_missing_summary, run.pk, agent.pk, covers), "summary")


def step_key(mission: Mission, agent: MissionAgent) -> str:
    """Of the next step. One that came to nothing after all its attempts is asked for under another key."""
    after = len(mission.steps_of(agent.number))
    errors = sum(one.agent_id == agent.pk and one.after == after for one in mission.halts.all())
    return f"{agent.number}.{after + 1}" + (f"-{errors}" if errors else "")


# ---- the end --------------------------------------------------------------------------------------------------


async def _conclude(run: RunContext, mission: Mission) -> CommitChange:
    """What lives is ended, and what shall show the result is run where nothing of it lives on."""
    if any(one.is_running for one in mission.terminals.all()):
        ends = await asyncio.to_thread(wait_for_exits, mission)
        await run.write(partial(writes.save_command_exits, run.pk, ends), "ends")
    await _keep_last_changes(run)
    if mission.begun_with:
        with suppress(NotPublished):  # then its page has no patch for git, and all else is kept
            message = f"{mission.run.title}\n\n{mission.finish.arguments['result'] if mission.finish else ''}".strip()
            await asyncio.to_thread(publishing.keep_end, run.pk, message)
    finish = mission.finish
    command = mission.check_command or (finish.arguments.get("check", "") if finish else "")
    if command and not await run.read(partial(check_result, run.pk)):
        call = await run.execute_tool("check", "fresh_check", {"command": command})
        facts = output_facts(call.output) if call.done else {}
        reason = facts.get("reason", "") if call.done else call.error
        code = None if reason else facts.get("exit_code")  # what was ended says nothing by its code
        await run.write(partial(writes.keep_check, run.pk, command, call, code, reason), "check")
    return partial(writes.conclude, run.pk)


async def _keep_last_changes(run: RunContext) -> None:
    """Of commands that went on beside the last step, and what was too much to be told after it."""
    for _ in range(MAX_LAST_CHANGES):
        if not (changes := await _changes(run)):
            break
        await asyncio.to_thread(contents.keep, run.pk, changes)
        await run.write(partial(writes.save_last_changes, run.pk, changes), "files")


async def _changes(run: RunContext) -> list[FileChange]:
    known, paths = await run.read(partial(queries.known_files, run.pk))
    return await asyncio.to_thread(publishing.changes, run.pk, known, paths)


def check_result(pk: Any) -> bool:
    return Mission.objects.filter(pk=pk, final_check__isnull=False).exists()
