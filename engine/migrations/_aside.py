"""For tables that are guarded: what stands on them or looks into them goes while they change, and comes back."""

from django.db import migrations

from engine.ledger import immutability
from engine.on_schema import OnSchema


def around(*tables, lifted=list):
    """What a migration does first and last. The guards that `lifted` returns are put up anew after it, as far as all
    columns that they name are there by then."""
    aside: list[str] = []

    def put_aside(apps, schema_editor):
        aside[:] = immutability.suspend(schema_editor.connection, *tables)
        immutability.remove_triggers(schema_editor.connection, lifted())

    def put_back(apps, schema_editor):
        while aside:
            schema_editor.execute(aside.pop())
        immutability.install_triggers(schema_editor.connection, lifted())

    return OnSchema(put_aside, put_back), OnSchema(put_back, put_aside)
