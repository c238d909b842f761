"""The tools that publish a branch. The commit is made before the gate, and exactly that commit is published.

Why so: missions/DESIGN.md, What leaves a mission.
"""

import asyncio
from functools import partial

from pydantic import Field

from engine.models import Effect, ToolCall
from engine.tools import Tool, ToolRefused, ToolUse, exact_arguments

from .. import publishing
from ..publishing import BUNDLE_OF_MISSION as BUNDLE
from ..publishing import NotPublished
from .output import SHOWN, MissionToolArgumentsBase, tool_text

PUBLISH, PUBLISH_COMMIT = "publish", "publish_commit"


class PublishArguments(MissionToolArgumentsBase):
    branch: str = Field(min_length=1, max_length=100)
    message: str = Field(min_length=1, max_length=2_000, description="of the commit of what is not committed yet")


class PublishCommitArguments(PublishArguments):
    """As it was prepared: `difference` names all files and shows their lines, `digest` is of their names; of the files
    that are counted in `left_out` not all is shown. `commits`: those of the crew, oldest first, where it began with a
    repository; `base`: the commit of that which they stand on; `merged`: those of its other branches that go along.
    `there`: the commit that the branch has where it goes; `effect`: what becomes of it."""

    commit: str
    base: str = ""
    commits: list[str] = []
    merged: list[str] = []
    there: str = ""
    effect: str = ""
    goal: str = ""
    to: str
    files: int
    left_out: int
    difference: str
    digest: str


async def not_callable(asked: PublishArguments, use: ToolUse) -> str:
    """The procedure replaces this tool by PUBLISH_COMMIT after it has made the commit."""
    raise ToolRefused("Only an agent of a mission publishes.")


async def publish(asked: PublishCommitArguments, use: ToolUse) -> str:
    if wrong := publishing.branch_problem(asked.branch):
        raise ToolRefused(f"branch: {wrong}")
    if (now := publishing.publish_target() or BUNDLE) != asked.to:
        raise ToolRefused(f"changed: branches go to {now} by now, and it was decided about {asked.to}. Publish again.")
    try:
        about = (use.run.pk, asked.branch, asked.commit, asked.difference, asked.there)
        where = await asyncio.to_thread(publishing.publish, *about)
    except NotPublished as error:
        raise ToolRefused(f"not_published: {error}") from error
    return tool_text(PUBLISH, branch=asked.branch, commit=asked.commit, to=where)


async def settle(call: ToolCall, use: ToolUse) -> str | None:
    """After a crash: published if the target has the commit. None if not, and a person must decide."""
    asked = PublishCommitArguments.model_validate_json(call.arguments)
    try:
        there = await asyncio.to_thread(publishing.is_published, use.run.pk, asked.branch, asked.commit)
    except NotPublished:
        return None
    return tool_text(PUBLISH, branch=asked.branch, commit=asked.commit, to=asked.to) if there else None


TOOLS = (
    Tool(
        PUBLISH,
        "Publishes what was changed as a branch: in a clone your commits, and what is not committed as a last one. "
        "Somebody is asked first, about exactly that.",
        PublishArguments,
        Effect.REACHES_OUT,
        perform=not_callable,
        shown=SHOWN,
        kept=SHOWN,
    ),
    Tool(
        PUBLISH_COMMIT,
        "Publishes a commit as a branch. No agent has it: publish makes the commit.",
        PublishCommitArguments,
        Effect.REACHES_OUT,
        perform=publish,
        settle=settle,
        question="May this branch leave the sandbox?",
        exact=partial(exact_arguments, last="difference"),
        cut_from=lambda asked: asked.digest if asked.left_out or asked.merged else "",
        timeout=300.0,
        shown=SHOWN,
        kept=SHOWN,
    ),
)
