from datetime import date

from engine.models import Effect
from engine.tools import Tool, Use
from office.models import Task, TaskState

from .asked import Arguments, Long, Query, Text, Who, changed, day, joined, listed, numbered, person


class Find(Arguments):
    query: Query = ""
    assignee: Who | None = None
    state: TaskState | None = None
    due_until: date | None = None


class Details(Arguments):
    assignee: Who | None = None
    due: date | None = None
    details: Text | None = None


class Add(Details):
    title: Long


class Change(Details):
    task: int
    title: Long | None = None
    state: TaskState | None = None


def find(asked: Find, use: Use) -> str:
    tasks = Task.objects.found(asked.query).select_related("assignee")
    if asked.assignee:
        tasks = tasks.filter(assignee=person(asked.assignee))
    if asked.state:
        tasks = tasks.filter(state=asked.state)
    if asked.due_until:
        tasks = tasks.filter(due__lte=asked.due_until)
    return listed(tasks, line, "There is no such task.")


def line(task: Task) -> str:
    whose = task.assignee and f"for {task.assignee}"
    return joined(f"{task.pk} {task.title}", task.state, whose, task.due and f"due {day(task.due)}", task.details[:200])


def add(asked: Add, use: Use) -> str:
    assignee = person(asked.assignee) if asked.assignee else None
    task = Task.objects.create(title=asked.title, assignee=assignee, due=asked.due, details=asked.details or "")
    return f"Task {task.pk} was added: {line(task)}"


def change(asked: Change, use: Use) -> str:
    task = numbered(Task.objects.all(), asked.task, "task")
    assignee = person(asked.assignee) if asked.assignee else None
    given = changed(
        task, asked.model_copy(update={"assignee": assignee}), "title", "assignee", "due", "state", "details"
    )
    task.save()
    return f"Task {task.pk} was changed ({', '.join(given)}): {line(task)}"


TOOLS = (
    Tool("tasks.find", "Finds tasks by words, assignee, state or due date.", Find, Effect.READS, change=find),
    Tool(
        "tasks.add", "Adds a task.", Add, Effect.WRITES, change=add, deed=lambda asked: f"Add the task “{asked.title}”"
    ),
    Tool(
        "tasks.change",
        "Changes a task, as its state or assignee.",
        Change,
        Effect.WRITES,
        change=change,
        deed=lambda asked: f"Change task {asked.task}{f', “{asked.title}”' if asked.title else ''}",
    ),
)
