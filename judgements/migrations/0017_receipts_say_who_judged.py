from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from judgements.guards import GUARDS

GUARD = [GUARDS["judgements_receipt"]]


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, GUARD)


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, GUARD)


class Migration(migrations.Migration):
    dependencies = [("judgements", "0016_council_locked")]
    operations = [
        OnSchema(lift, install),
        migrations.AddField("receipt", "agents_sha256", models.CharField(max_length=64, blank=True)),
        migrations.AddField("receipt", "rehearsal", models.BooleanField(null=True)),
        migrations.AddField("receipt", "expected", models.JSONField(null=True)),
        OnSchema(install, lift),
    ]
