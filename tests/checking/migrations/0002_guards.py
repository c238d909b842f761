from django.db import migrations

from engine.ledger import immutability


def install(apps, schema_editor):
    from tests.checking.face import Checking

    immutability.install_triggers(schema_editor.connection, Checking.guards.values())


class Migration(migrations.Migration):
    dependencies = [("checking", "0001_initial")]
    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
