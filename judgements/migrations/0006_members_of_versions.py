import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgements", "0005_first_council_versions")]
    operations = [
        migrations.RemoveConstraint("member", "one_member_per_seat"),
        migrations.RemoveField("member", "council"),
        migrations.RemoveField("judgement", "council"),
        migrations.AlterField(
            "member",
            "version",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="members",
                to="judgements.councilversion",
            ),
        ),
        migrations.AddConstraint(
            "member",
            models.UniqueConstraint(models.F("version"), models.F("seat"), name="one_member_per_seat"),
        ),
    ]
