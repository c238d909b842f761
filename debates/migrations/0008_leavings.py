"""Who leaves a seat out of turn says so in a message of its own, with a number among the others."""

from django.db import migrations, models
from django.db.models import Q

from engine.migrations._aside import around

before, after = around("debates_message")


class Migration(migrations.Migration):
    dependencies = [("debates", "0007_advisory")]

    operations = [
        before,
        migrations.RemoveConstraint(model_name="message", name="message_of_somebody"),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.CheckConstraint(
                name="message_of_somebody",
                condition=(
                    Q(kind__in=["said", "closing"], turn__isnull=False, member__isnull=False)
                    | (Q(kind="chair") & ~Q(by_name=""))
                    | (Q(kind="leaving", turn__isnull=True, member__isnull=False, withdrawn=True) & ~Q(by_name=""))
                    | (Q(kind="note", after__isnull=False) & ~Q(note=""))
                ),
            ),
        ),
        after,
    ]
