"""Who asked for a run that another one began from is an author of what that one asks."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("engine", "0029_councils_by_id")]

    operations = [
        migrations.AlterField(
            "runauthor",
            "part",
            models.CharField(
                choices=[
                    ("said", "said something to it"),
                    ("answered", "answered a question of it"),
                    ("changes", "asked for changes"),
                    ("changed", "changed its text"),
                    ("asked", "asked for a run that it began from"),
                ],
                max_length=10,
            ),
        ),
    ]
