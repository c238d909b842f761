"""What MCP servers offered and could not be taken, with the reason, as it was at the last look."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("engine", "0033_looks")]

    operations = [
        migrations.CreateModel(
            name="McpLeftOut",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("server", models.CharField(max_length=40)),
                ("why", models.TextField()),
                ("seen", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={"ordering": ["server", "pk"], "default_permissions": ()},
        ),
    ]
