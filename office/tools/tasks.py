from datetime import date

from pydantic import ConfigDict

from engine.models import Effect
from engine.tools import Tool, ToolUse
from office.models import Task, TaskState

from .arguments import (
    Long,
    OfficeToolArguments,
    Query,
    Text,
    Who,
    apply_changes,
    day,
    format_list,
    joined_fields,
    person,
    row_by_number,
)


class FindTasksArguments(OfficeToolArguments):
    model_config = ConfigDict(title="Find")

    query: Query = ""
    assignee: Who | None = None
    state: TaskState | None = None
    due_until: date | None = None


class TaskArguments(OfficeToolArguments):
    assignee: Who | None = None
    due: date | None = None
    details: Text | None = None


class AddTaskArguments(TaskArguments):
    model_config = ConfigDict(title="Add")

    title: Long


class ChangeTaskArguments(TaskArguments):
    model_config = ConfigDict(title="Change")

    task: int
    title: Long | None = None
    state: TaskState | None = None


def find(asked: FindTasksArguments, use: ToolUse) -> str:
    tasks = Task.objects.found(asked.query).select_related("assignee")
    if asked.assignee:
        tasks = tasks.filter(assignee=person(asked.assignee))
    if asked.state:
        tasks = tasks.filter(state=asked.state)
    if asked.due_until:
        tasks = tasks.filter(due__lte=asked.due_until)
    return format_list(tasks, line, "There is no such task.")


def line(task: Task) -> str:
    whose = task.assignee and f"for {task.assignee}"
    return joined_fields(
        f"{task.pk} {task.title}", task.state, whose, task.due and f"due {day(task.due)}", task.details[:200]
    )


def add(asked: AddTaskArguments, use: ToolUse) -> str:
    assignee = person(asked.assignee) if asked.assignee else None
    task = Task.objects.create(title=asked.title, assignee=assignee, due=asked.due, details=asked.details or "")
    return f"Task {task.pk} was added: {line(task)}"


def change(asked: ChangeTaskArguments, use: ToolUse) -> str:
    task = row_by_number(Task.objects.all(), asked.task, "task")
    assignee = person(asked.assignee) if asked.assignee else None
    given = apply_changes(
        task, asked.model_copy(update={"assignee": assignee}), "title", "assignee", "due", "state", "details"
    )
    task.save()
    return f"Task {task.pk} was changed ({', '.join(given)}): {line(task)}"


TOOLS = (
    Tool(
        "tasks.find",
        "Finds tasks by words, assignee, state or due date.",
        FindTasksArguments,
        Effect.READS,
        change=find,
    ),
    Tool(
        "tasks.add",
        "Adds a task.",
        AddTaskArguments,
        Effect.WRITES,
        change=add,
        deed=lambda asked: f"Add the task “{asked.title}”",
    ),
    Tool(
        "tasks.change",
        "Changes a task, as its state or assignee.",
        ChangeTaskArguments,
        Effect.WRITES,
        change=change,
        deed=lambda asked: f"Change task {asked.task}{f', “{asked.title}”' if asked.title else ''}",
    ),
)
