"""A run is blamed only for deaths that it met alone. What was counted before may have been met with others."""

from django.db import migrations, models


def forget_deaths(apps, schema_editor):
    apps.get_model("engine", "Run").objects.filter(ended=None, deaths__gt=0).update(deaths=0)


class Migration(migrations.Migration):
    dependencies = [("engine", "0010_pace")]
    operations = [
        migrations.SeparateDatabaseAndState(
            # on SQLite Django would make the table anew, and its guards would be gone
            [migrations.RunSQL("ALTER TABLE engine_run ADD COLUMN crashes smallint NOT NULL DEFAULT 0")],
            [migrations.AddField("run", "crashes", models.SmallIntegerField(db_default=0))],
        ),
        migrations.RunPython(forget_deaths, migrations.RunPython.noop),
    ]
