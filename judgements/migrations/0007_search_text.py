"""The words that judgements can be found by: the table. The next migration indexes and fills it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgements", "0006_members_of_versions")]
    operations = [
        migrations.CreateModel(
            name="SearchText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "judgement",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="search",
                        to="judgements.judgement",
                    ),
                ),
                ("words", models.TextField()),
            ],
        ),
    ]
