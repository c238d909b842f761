"""Matters have titles, and plans are found by the label of theirs, which is added at the end as all words are."""

from django.db import migrations, models

ADD = """UPDATE runs_searchtext SET words = words || ' =matter=' ||
    (SELECT replace(CAST(matter_id AS text), '-', '') FROM plans_plan WHERE plans_plan.run_id = runs_searchtext.run_id)
    WHERE run_id IN (SELECT run_id FROM plans_plan WHERE matter_id IS NOT NULL)"""


class Migration(migrations.Migration):
    dependencies = [("plans", "0006_told"), ("runs", "0004_label_of_kind")]

    operations = [
        migrations.AddField(
            model_name="matter",
            name="title",
            field=models.CharField(blank=True, max_length=120),
        ),
        migrations.RunSQL(ADD, migrations.RunSQL.noop),
    ]
