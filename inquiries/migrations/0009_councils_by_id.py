"""A post that a council holds means it by its id. Older ones have none: see `engine.councils.with_earlier_id`."""

from django.db import migrations, models

from engine.migrations._aside import around
from inquiries.guards import GUARDS

ASIDE, BACK = around("inquiries_post", lifted=lambda: [GUARDS["inquiries_post"]])


class Migration(migrations.Migration):
    dependencies = [("inquiries", "0008_their_plural")]

    operations = [
        ASIDE,
        migrations.AddField(
            model_name="post",
            name="council_id",
            field=models.PositiveBigIntegerField(null=True),
        ),
        BACK,
    ]
