"""Steps of migrations for which no models are made."""

from types import SimpleNamespace

import pytest
from django.db import connection

from engine.on_schema import OnSchema

EDITOR = SimpleNamespace(connection=connection)


def test_a_step_is_done_and_undone_without_a_state_of_models():
    seen = []
    step = OnSchema(lambda apps, editor: seen.append("on"), lambda apps, editor: seen.append("back"))
    step.database_forwards("engine", EDITOR, None, None)
    step.database_backwards("engine", EDITOR, None, None)
    assert seen == ["on", "back"]


def test_what_has_no_way_back_says_so():
    with pytest.raises(NotImplementedError):
        OnSchema(print).database_backwards("engine", EDITOR, None, None)
