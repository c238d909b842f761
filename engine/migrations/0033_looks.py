"""One row for all looks at a provider that is away, and until when one takes no more requests."""

from django.db import migrations, models

from engine.ledger import immutability
from engine.migrations._aside import around

CHANGED = "engine_modelcall"
ASIDE, BACK = around(CHANGED, lifted=lambda: [immutability.ENGINE_TABLES[CHANGED]])


class Migration(migrations.Migration):
    dependencies = [("engine", "0032_left_out")]

    operations = [
        ASIDE,
        migrations.AddField("modelcall", "looks", models.PositiveIntegerField(db_default=0, default=0)),
        migrations.AddField("modelcall", "looked_since", models.DateTimeField(null=True)),
        BACK,
        migrations.AddField("modelwait", "until", models.DateTimeField(null=True)),
        migrations.AddField("modelwait", "limited", models.BooleanField(default=False)),
    ]
