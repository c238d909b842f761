"""Performing a mission. The next action follows from its rows alone, so any engine can continue it after a crash.

Why so: missions/DESIGN.md, Missions.
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
from .command_exit import ended_commands, wait_for_exits, waits_for_input
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
MAX_LAST_CHANGES = 20  # rounds of MOST_CHANGES files: enough for all files that are looked at


def submit(**values: Any) -> Mission:
    """Queue a mission and wake the engine. Takes what `Mission.objects.submit` and `submissions.submit` take."""
    return submissions.submit_run(Mission.objects, waits_as="mission", **values)


def held_back(run: Run) -> int:
    """The cost of one last step of the coordinator, in billionths of a US dollar.

    It is kept back so that a mission can finish after its budget is spent. 0 if nothing is reserved.
    """
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
        await _take_action(run, crew, mission, what)


async def _take_action(run: RunContext, crew: "AgentScheduler", mission: Mission, what: rules.NextAction) -> None:
    match what:
        case rules.MissionPaused(by):
            raise Suspend(f"Paused by {by}")
        case rules.WaitForEvent(until):
            if until is None and (asking := await _commands_that_all_ask(run, mission)):
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
    """Probe the sandbox, if this process has not, and create the workspace from rows, if it does not exist."""
    with suppress(LaunchRefused):  # commands then fail, each with the reason
        await asyncio.to_thread(sandbox_selftest.ensure_probed)
    if (workspace.mission_folder(run.pk) / workspace.PREPARED).exists():
        return
    await run.write(partial(writes.bind_workspace, run.pk), "host")
    files = await run.read(partial(queries.newest_files, run.pk))
    begun = await run.read(partial(queries.begun_with, run.pk))
    kept = await run.read(partial(queries.newest_versions, run.pk))
    try:
        fill = await asyncio.to_thread(_take_repository, run.pk, begun) if begun else None
        files |= await asyncio.to_thread(contents.read, run.pk, kept)
        await asyncio.to_thread(workspace.prepare, run.pk, files.items(), fill)
        await asyncio.to_thread(contents.mark_programs, run.pk, kept)
    except (LaunchRefused, RepositoryRefused, GitFailed, OSError) as error:
        raise RunFailed(SANDBOX_CODE, f"There is no place for its workspace: {error}") from error
    if begun and begun.gone:
        await asyncio.to_thread(workspace.remove_files, run.pk, begun.gone)


def _take_repository(mission: Any, begun: queries.BegunWith) -> Callable[[Path], None]:
    """Prepare the mission's repository and return the function that fills its workspace.

    A repository that is not on this machine is fetched again. Raises RepositoryRefused and GitFailed.
    """
    place = publishing.repository(mission)
    if not checkout.take(place, begun.staged):
        again = workspace_sources.source_from_git(begun.address).repository  # only where that is still allowed
        checkout.take(place, again.staged if again else "")
    start = begun.start or begun.commit
    checkout.begin(place, begun.commit, start, begun.own_branch, begun.brought, begun.moment)
    return partial(checkout.fill, mission, place, begun.crew)


async def _commands_that_all_ask(run: RunContext, mission: Mission) -> list[Terminal]:
    """The running commands, if every one waits for input and its agent knows that; otherwise empty."""
    living = [one for one in mission.terminals.all() if one.is_running]
    told = await run.read(lambda: all(queries.was_told_that_it_asks(mission, one) for one in living))
    return living if told and await asyncio.to_thread(lambda: all(map(waits_for_input, living))) else []


async def _stuck(run: RunContext, mission: Mission, told: bool, asking: Sequence[Terminal] = ()) -> None:
    """Tell the coordinator once that nothing can wake it; after that, ask a person."""
    if not told:
        numbers = [one.number for one in asking]
        await run.write(partial(writes.notify_nothing_left, run.pk, numbers), "told")
        return
    heard = len(mission.messages_in_order)
    due = partial(writes.refuse_answered, run.pk, heard)
    with suppress(writes.AlreadyAnswered):  # by a message that came after the rows were read
        gate = await run.gate(f"{rules.STUCK_STEP}{heard}", due=due, **questions.about_nobody(mission, asking))
        await run.write(partial(writes.save_answer, run.pk, gate.pk), "decided")


async def _ask_for_more(run: RunContext, mission: Mission, limit: str) -> None:
    """Ask a person whether the limit is extended. No step begins before the answer."""
    gate = await run.gate(**await run.read(partial(questions.about_limit, mission, limit)))
    await run.write(partial(writes.save_limit_answer, run.pk, gate.pk), "decided")


# ---- one agent ------------------------------------------------------------------------------------------------


class AgentScheduler:
    """Runs the steps of agents within one claim. Models are asked in parallel; tools that write run one at a time."""

    def __init__(self, run: RunContext) -> None:
        self._run, self.steps, self._acting = run, 0, asyncio.Lock()
        self._seen: Mission

    async def pursue(self, at_once: int) -> None:
        """Run all agents that can step, including those that are spawned or woken meanwhile.

        It ends after rules.STEPS_AT_ONCE steps, so that other runs get a turn. While one agent waits at a gate, the
        others continue as long as they can, and their timers stay in effect.
        """
        try:
            await TurnScheduler(at_once, self._due, self._step_of).run_until_idle()
        except Suspend as waits:
            run = self._run
            self._seen = await run.read_snapshot(partial(queries.load_mission, run.pk))
            what = await run.read(partial(queries.next_action, self._seen, run.seconds_worked, run.now))
            if not isinstance(what, rules.ContinueAgents):
                return  # the mission no longer waits for the gate
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
                raise  # without its coordinator the run fails
            await self._run.write(partial(writes.save_failure, self._run.pk, agent.pk, str(failure)), "halt")
        self.steps += 1

    async def _ask_about(self, mission: Mission, number: int) -> None:
        """Ask a person how a stopped agent shall continue. Other agents continue meanwhile and may resume it, too."""
        run, agent = self._run, mission.agent(number)
        halt = queries.halt_of(mission, number)
        due = partial(writes.refuse_revived, run.pk, number, halt.heard)
        with suppress(writes.AlreadyAnswered):
            gate = await run.gate(due=due, **questions.about_agent(mission, agent, halt))
            await run.write(partial(writes.save_halt_answer, run.pk, halt.pk, gate.pk), "decided")

    async def _act(self, mission: Mission, agent: MissionAgent) -> None:
        run, number = self._run, agent.number
        version, text = queries.agent_memory(mission, number)
        if len(text) > MEMORY_LENGTH:
            await self._shorten(mission, agent, version, text)
            return
        made = mission.steps_of(number)
        if made and made[-1].settled is None:
            await self._prepare_tool(mission, agent, made[-1])
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

    async def _prepare_tool(self, mission: Mission, agent: MissionAgent, step: MissionStep) -> None:
        """Make the requests to models that the step's tool needs: summaries and shorter memories.

        A long history is also summarised before `wait`. After a crash, finished requests are not repeated.
        """
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
        """Execute the tool of a step and save its result. Tools that write run one at a time, with changed files."""
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
            await self._save_result(step, await self._call_tool(mission, step, name))

    async def _ask_person(self, mission: Mission, step: MissionStep) -> None:
        asked = ask_person.AskPersonArguments.model_validate(step.arguments)
        about: dict[str, Any] = {"title": f"{step.agent} asks: {mission.run.title}", "text": asked.question}
        gate = await self._run.gate(step.key, kind="question", choices=ask_person.choices_of(asked), **about)
        answer = ask_person.answer_of(gate)
        said = (answer, ask_person.result_of(answer))
        await self._run.write(partial(writes.save_question, self._run.pk, step.pk, gate.pk, *said), "decided")

    async def _call_tool(self, mission: Mission, step: MissionStep, name: str) -> ToolCall:
        """Call a tool that writes. A call that was rejected at a gate before fails without another gate.

        A call that leaves the sandbox needs an approval of its exact arguments.
        """
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
        """The arguments of the publication. The commit is made before the gate, so later changes do not affect it."""
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

    async def _save_result(self, step: MissionStep, call: ToolCall) -> None:
        run = self._run
        changes = await _changes(run)
        await asyncio.to_thread(contents.keep, run.pk, changes)
        await asyncio.to_thread(publishing.keep_head, run.pk, step.key)
        mission = await run.read(partial(queries.load_mission, run.pk))
        ends = await asyncio.to_thread(ended_commands, mission)
        await run.write(partial(writes.save_result, run.pk, step.pk, call, changes, ends), "result")

    async def _shorten(self, mission: Mission, agent: MissionAgent, version: int, text: str) -> None:
        """Ask the model for a shorter memory. It is shown the active memories, to leave out what they contain."""
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
        """Summarise older steps. The stored dump is the whole prompt, before it is fitted to the model.

        If the request fails, the history stays as it is.
        """
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
    """The key of the agent's next step. After a failure of all attempts, the step has a new key."""
    after = len(mission.steps_of(agent.number))
    errors = sum(one.agent_id == agent.pk and one.after == after for one in mission.halts.all())
    return f"{agent.number}.{after + 1}" + (f"-{errors}" if errors else "")


# ---- the end --------------------------------------------------------------------------------------------------


async def _conclude(run: RunContext, mission: Mission) -> CommitChange:
    """End running commands, save the last changes, and run the check in a fresh sandbox."""
    if any(one.is_running for one in mission.terminals.all()):
        ends = await asyncio.to_thread(wait_for_exits, mission)
        await run.write(partial(writes.save_command_exits, run.pk, ends), "ends")
    await _keep_last_changes(run)
    if mission.begun_with:
        with suppress(NotPublished):  # the mission then has no mailbox for git am; nothing else depends on it
            message = f"{mission.run.title}\n\n{mission.finish.arguments['result'] if mission.finish else ''}".strip()
            await asyncio.to_thread(publishing.keep_end, run.pk, message)
    finish = mission.finish
    command = mission.check_command or (finish.arguments.get("check", "") if finish else "")
    if command and not await run.read(partial(check_result, run.pk)):
        call = await run.execute_tool("check", "fresh_check", {"command": command})
        facts = output_facts(call.output) if call.done else {}
        reason = facts.get("reason", "") if call.done else call.error
        code = None if reason else facts.get("exit_code")  # the exit code of a killed command means nothing
        await run.write(partial(writes.save_check, run.pk, command, call, code, reason), "check")
    return partial(writes.conclude, run.pk)


async def _keep_last_changes(run: RunContext) -> None:
    """Save changes of commands that ran beside the last step, and those beyond the limit of one step."""
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
