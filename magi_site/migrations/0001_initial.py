import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.contrib.auth.management import create_permissions

from magi_site.groups import DEFAULT_PERMISSIONS, create_groups
from magi_site.token_triggers import install_trigger, remove_trigger


def create_default_groups(apps, schema_editor):
    """Django creates permissions when all migrations are done; the groups need them now."""
    for config in apps.get_app_configs():
        config.models_module = True
        create_permissions(config, apps=apps, verbosity=0)
        config.models_module = None
    groups, permissions = (apps.get_model("auth", name).objects for name in ("Group", "Permission"))
    create_groups(groups, permissions, DEFAULT_PERMISSIONS)


def create_token_trigger(apps, schema_editor):
    install_trigger(schema_editor.connection)


def drop_token_trigger(apps, schema_editor):
    remove_trigger(schema_editor.connection)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("office", "0001_initial"),
        ("runs", "0001_initial"),
        ("missions", "0001_initial"),
        ("plans", "0001_initial"),
        ("inquiries", "0001_initial"),
        ("debates", "0001_initial"),
        ("judgements", "0001_initial"),
        ("engine", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Token',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(blank=True, max_length=60)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('expires', models.DateTimeField(blank=True, null=True)),
                ('scopes', models.CharField(blank=True, editable=False, max_length=200)),
                ('revoked', models.DateTimeField(editable=False, null=True)),
                ('last_used', models.DateTimeField(editable=False, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.RunPython(create_default_groups, migrations.RunPython.noop),
        migrations.RunPython(create_token_trigger, drop_token_trigger),
    ]
