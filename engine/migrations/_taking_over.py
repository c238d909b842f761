"""For tables that begin in one app and move to another, which comes below it and does not know of it."""

from django.db import migrations


class TakeOver(migrations.CreateModel):
    """Make a table, unless it is there already: an app that had it before has renamed it.

    It is not taken back: that would drop rows which are older than the migration.
    """

    reversible = False

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        table = to_state.apps.get_model(app_label, self.name)._meta.db_table
        if table not in schema_editor.connection.introspection.table_names():
            super().database_forwards(app_label, schema_editor, from_state, to_state)
