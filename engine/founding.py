"""A database in which there is nothing yet gets the tables that migrations end with, and what stands in them at first.

To go through the history of all tables for that takes 18 s of a processor: Django makes the classes of all
models anew for most steps, and rows that could be turned into others are not there. What a migration brings that no
model says (an index, ready-made rows) it marks here as part of the founding; guards are those of today.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from django.db.migrations import RunPython
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from engine.ledger import immutability

Step = Callable[[Any, Any], None]
Operation = TypeVar("Operation", bound=RunPython)


def at_founding(operation: Operation, instead: Step | None = None) -> Operation:
    """The same operation, whose step is one of the founding, too: with the last state of all models, when all tables
    are made. `instead` is done then in its place, where something else is to be done with what came later."""
    cast(Any, operation).founding = instead or operation.code
    return operation


def found(connection: Any) -> None:
    """All or nothing; nothing at all in a database that has any table."""
    if connection.introspection.table_names():
        return
    loader, all_guards = MigrationLoader(None), immutability.all_guards()
    apps = loader.project_state().apps
    with connection.schema_editor() as editor:
        _let_it_take_its_time(connection)
        for model in apps.get_models():
            editor.create_model(model)
        immutability.install_function(connection)
        immutability.install_triggers(connection, all_guards)
        for step in _steps(loader):
            step(apps, editor)
        recorder = MigrationRecorder(connection)
        editor.create_model(recorder.Migration)
        for key in loader.graph.nodes:
            recorder.record_applied(*key)


def _let_it_take_its_time(connection: Any) -> None:
    """On a busy machine minutes may pass from one statement of it to the next, where no query has so long."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")


def _steps(loader: MigrationLoader) -> Iterator[Step]:
    """In the order in which the migrations would be made."""
    seen: dict[tuple[str, str], None] = {}
    for leaf in loader.graph.leaf_nodes():
        seen.update(dict.fromkeys(loader.graph.forwards_plan(leaf)))
    for key in seen:
        for operation in loader.graph.nodes[key].operations:
            if step := getattr(operation, "founding", None):
                yield step
