"""Instructions of an agent may be longer. No database knows how long: nothing of it changes."""

from django.db import migrations, models

LONGER = migrations.AlterField("teamagent", "system", models.TextField(blank=True, max_length=12_000))


class Migration(migrations.Migration):
    dependencies = [("plans", "0013_tools_due")]

    operations = [migrations.SeparateDatabaseAndState(state_operations=[LONGER])]
