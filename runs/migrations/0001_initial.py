import django.db.models.deletion
import django.utils.timezone
import secrets
from django.conf import settings
from django.db import migrations, models
from runs.migrations._search_index import create_index, drop_index


class Migration(migrations.Migration):

    initial = True
    replaces = [("runs", "0001_search_and_keys")]  # its name in older databases

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('engine', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AccessGrant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('to', models.CharField(max_length=150)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended', models.DateTimeField(null=True)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('group', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='given', to='engine.run')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='given', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'runs_given',
                'ordering': ['-made', '-pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='BadgeLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('until', models.DateTimeField()),
                ('ended', models.DateTimeField(null=True)),
                ('shelf', models.CharField(blank=True, max_length=40)),
                ('key', models.BigIntegerField(null=True)),
                ('words', models.CharField(max_length=40)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='badges', to='engine.run')),
            ],
            options={
                'db_table': 'runs_badge',
                'ordering': ['-made', '-pk'],
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='GrantView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateTimeField()),
                ('last', models.DateTimeField()),
                ('times', models.PositiveIntegerField(default=1)),
                ('given', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='looks', to='runs.accessgrant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'runs_givenlook',
                'ordering': ['-since', '-pk'],
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200)),
                ('request_hash', models.CharField(max_length=64)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='request_key', to='engine.run')),
            ],
        ),
        migrations.CreateModel(
            name='PresetUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shelf', models.CharField(max_length=40)),
                ('key', models.BigIntegerField()),
                ('rehearsal', models.BooleanField()),
                ('owner', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='starts', to='engine.run')),
            ],
            options={
                'db_table': 'runs_start',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='SavedSearch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40)),
                ('query', models.CharField(blank=True, max_length=4000)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'runs_savedview',
                'ordering': ['made', 'pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='SearchText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.TextField()),
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='search', to='engine.run')),
            ],
        ),
        migrations.CreateModel(
            name='ShareLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('until', models.DateTimeField()),
                ('ended', models.DateTimeField(null=True)),
                ('for_whom', models.CharField(blank=True, max_length=60)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='engine.run')),
            ],
            options={
                'db_table': 'runs_share',
                'ordering': ['-made', '-pk'],
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ShareLinkView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateTimeField()),
                ('last', models.DateTimeField()),
                ('times', models.PositiveIntegerField(default=1)),
                ('share', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='looks', to='runs.sharelink')),
            ],
            options={
                'db_table': 'runs_sharelook',
                'ordering': ['-since', '-pk'],
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', models.CharField(max_length=2000)),
                ('shape', models.CharField(choices=[('standard', 'Standard Webhooks'), ('slack', 'Slack'), ('mattermost', 'Mattermost'), ('teams', 'Microsoft Teams'), ('ntfy', 'ntfy')], default='standard', max_length=10)),
                ('kind', models.CharField(blank=True, max_length=40)),
                ('saved', models.CharField(blank=True, max_length=100)),
                ('what', models.CharField(blank=True, choices=[('over', 'It is over'), ('asks', 'It asks somebody to decide')], max_length=10)),
                ('nonce', models.CharField(default=secrets.token_hex, editable=False, max_length=64)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='hooks', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='engine.run')),
            ],
            options={
                'db_table': 'runs_hook',
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('happening', models.BigIntegerField()),
                ('what', models.CharField(choices=[('over', 'It is over'), ('asks', 'It asks somebody to decide')], max_length=10)),
                ('gate', models.BigIntegerField(null=True)),
                ('happened', models.DateTimeField()),
                ('message_id', models.CharField(max_length=40, unique=True)),
                ('state', models.CharField(choices=[('to_send', 'To send'), ('sending', 'Sending'), ('sent', 'Sent'), ('given_up', 'Given up')], default='to_send', max_length=10)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('error', models.CharField(blank=True, max_length=300)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('until', models.DateTimeField()),
                ('due', models.DateTimeField(default=django.utils.timezone.now)),
                ('taken', models.DateTimeField(null=True)),
                ('ended', models.DateTimeField(null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('hook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='runs.webhook')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='engine.run')),
            ],
            options={
                'db_table': 'runs_delivery',
                'ordering': ['-pk'],
                'default_permissions': (),
            },
        ),
        migrations.AddConstraint(
            model_name='accessgrant',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('group__isnull', False), ('user', None)), models.Q(('group', None), ('user__isnull', False)), _connector='OR'), name='given_to_one'),
        ),
        migrations.AddConstraint(
            model_name='accessgrant',
            constraint=models.UniqueConstraint(models.F('run'), models.F('user'), condition=models.Q(('ended', None)), name='given_once_to_a_person'),
        ),
        migrations.AddConstraint(
            model_name='accessgrant',
            constraint=models.UniqueConstraint(models.F('run'), models.F('group'), condition=models.Q(('ended', None)), name='given_once_to_a_group'),
        ),
        migrations.AddConstraint(
            model_name='badgelink',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('key__isnull', False), ('run', None)), models.Q(('key', None), ('run__isnull', False)), _connector='OR'), name='badge_of_one_thing'),
        ),
        migrations.AddConstraint(
            model_name='idempotencykey',
            constraint=models.UniqueConstraint(models.F('owner'), models.F('key'), name='one_request_per_key'),
        ),
        migrations.AddIndex(
            model_name='presetuse',
            index=models.Index(fields=['shelf', 'key', '-id'], name='start_newest_first'),
        ),
        migrations.AddIndex(
            model_name='presetuse',
            index=models.Index(fields=['owner', 'shelf', 'key', '-id'], name='start_by_owner'),
        ),
        migrations.AddConstraint(
            model_name='savedsearch',
            constraint=models.UniqueConstraint(models.F('user'), models.F('name'), name='one_view_per_name'),
        ),
        migrations.AddConstraint(
            model_name='sharelinkview',
            constraint=models.CheckConstraint(condition=models.Q(('last__gte', models.F('since'))), name='look_in_order'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('state__in', ('to_send', 'sending'))), fields=['due'], name='delivery_under_way'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.UniqueConstraint(models.F('hook'), models.F('happening'), name='one_delivery_of_a_happening'),
        ),
        migrations.RunPython(create_index, drop_index),
    ]
