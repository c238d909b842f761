"""Steps of migrations that look at the schema alone.

Django makes the classes of all models as they were then for each `RunPython`, which takes a second with five kinds of
runs; triggers and indexes need none of them.
"""

from collections.abc import Callable
from typing import Any

from django.db import router
from django.db.migrations import RunPython

Step = Callable[[Any, Any], None]


class OnSchema(RunPython):
    """As `RunPython`, for functions that use what they get in the second place, the schema's editor, alone."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._do(self.code, app_label, schema_editor)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if self.reverse_code is None:
            raise NotImplementedError("You cannot reverse this operation")
        self._do(self.reverse_code, app_label, schema_editor)

    def _do(self, step: Step, app_label: str, schema_editor: Any) -> None:
        if router.allow_migrate(schema_editor.connection.alias, app_label, **self.hints):
            step(None, schema_editor)
