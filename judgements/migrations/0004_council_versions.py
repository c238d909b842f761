"""Councils get versions: what stands so far becomes each one's first. Schema, data and tidying in three migrations,
because PostgreSQL refuses to alter a table with changes of the same transaction waiting."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("judgements", "0003_fallback"),
    ]
    operations = [
        migrations.CreateModel(
            name="CouncilVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("name", models.CharField(max_length=60)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "council",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="versions", to="judgements.council"
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("council"), models.F("number"), name="one_council_version_per_number"
                    )
                ],
            },
        ),
        migrations.AddField(
            "council",
            "owner",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField("council", "created", models.DateTimeField(default=django.utils.timezone.now)),
        migrations.AddField("council", "archived", models.DateTimeField(null=True)),
        migrations.AddField(
            "council",
            "current",
            models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="judgements.councilversion",
            ),
        ),
        migrations.AddField(
            "member",
            "version",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="members",
                to="judgements.councilversion",
            ),
        ),
        migrations.AddField(
            "judgement",
            "council_version",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="judgements",
                to="judgements.councilversion",
            ),
        ),
        migrations.AddField(
            "judgement",
            "earlier",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="later",
                to="judgements.judgement",
            ),
        ),
    ]
