"""Who changed a step of a plan that goes on, or said something to it, wrote what is asked about."""

from django.contrib.auth import get_user_model
from django.db import migrations

from engine.on_schema import OnSchema

OF_CHANGES = """
INSERT INTO engine_runauthor (run_id, user_id, name, part, place, made)
SELECT step.plan_id, state.by_user_id, MIN(state.by_name), 'changed', 'step-' || step.number, MIN(state.made)
FROM plans_stepstate state
JOIN plans_step step ON step.id = state.step_id
JOIN engine_run run ON run.id = step.plan_id
WHERE run.status NOT IN ('finished', 'cancelled') AND state.event = 'changed' AND state.by_user_id IS NOT NULL
GROUP BY step.plan_id, state.by_user_id, step.number
"""
OF_MESSAGES = """
INSERT INTO engine_runauthor (run_id, user_id, name, part, place, made)
SELECT said.plan_id, person.id, said.by_name, 'said', '', MIN(said.made)
FROM plans_message said
JOIN {users} person ON person.username = said.by_name
JOIN engine_run run ON run.id = said.plan_id
WHERE run.status NOT IN ('finished', 'cancelled') AND said.by_name <> ''
GROUP BY said.plan_id, person.id, said.by_name
"""


def find(apps, schema_editor):
    schema_editor.execute(OF_CHANGES)
    schema_editor.execute(OF_MESSAGES.format(users=get_user_model()._meta.db_table))


class Migration(migrations.Migration):
    dependencies = [("plans", "0011_asked_models"), ("engine", "0027_authors")]

    operations = [OnSchema(find, OnSchema.noop)]
