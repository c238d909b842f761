import django.db.models.deletion
from django.db import migrations, models

from engine.ledger import immutability


def install(apps, schema_editor):
    from tests.checking.face import Checking

    immutability.install_triggers(schema_editor.connection, [Checking.guards["checking_summary"]])


def call(to, **values):
    return models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, to=to, **values)


class Migration(migrations.Migration):
    dependencies = [("checking", "0002_guards"), ("engine", "0018_gates")]
    operations = [
        migrations.CreateModel(
            name="Summary",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.TextField()),
                ("call", call("engine.modelcall", related_name="+")),
                ("subject", call("checking.check", related_name="summary")),
            ],
            options={"abstract": False},
        ),
        migrations.RunPython(install, migrations.RunPython.noop),
    ]
