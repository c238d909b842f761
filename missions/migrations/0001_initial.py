import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from engine.ledger import immutability
from missions.guards import GUARDS
from missions.migrations._ready_made import create_crews, create_memories


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, GUARDS.values())


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('engine', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Crew',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, unique=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('archived', models.DateTimeField(null=True)),
                ('locked', models.DateTimeField(null=True)),
                ('retention_days', models.PositiveIntegerField(default=365)),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='CrewVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=60)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('good_for', models.CharField(blank=True, max_length=300)),
                ('agents', models.JSONField()),
                ('customs', models.TextField(blank=True, db_default='')),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('crew', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='missions.crew')),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        migrations.CreateModel(
            name='CrewChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('kind', models.CharField(choices=[('adopted', 'Adopted'), ('founded', 'Founded'), ('revised', 'Revised'), ('archived', 'Archived'), ('brought back', 'Brought Back'), ('locked', 'Locked'), ('unlocked', 'Unlocked'), ('kept', 'Kept')], max_length=12)),
                ('by', models.CharField(blank=True, max_length=150)),
                ('name', models.CharField(max_length=60)),
                ('owner', models.BigIntegerField(null=True)),
                ('owner_name', models.CharField(blank=True, max_length=150)),
                ('archived', models.BooleanField()),
                ('locked', models.BooleanField()),
                ('retention_days', models.PositiveIntegerField()),
                ('crew', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='missions.crew')),
                ('version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='missions.crewversion')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='crew',
            name='current',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='missions.crewversion'),
        ),
        migrations.CreateModel(
            name='Memory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('library', models.CharField(blank=True, max_length=80)),
                ('name', models.CharField(max_length=60)),
                ('folded', models.CharField(max_length=120)),
                ('file', models.CharField(max_length=100)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['library', 'folded'],
                'default_permissions': ('add', 'change'),
                'constraints': [models.UniqueConstraint(models.F('library'), models.F('folded'), name='one_memory_of_a_name'), models.UniqueConstraint(models.F('library'), models.F('file'), name='one_memory_of_a_file')],
            },
        ),
        migrations.CreateModel(
            name='Mission',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='mission', serialize=False, to='engine.run')),
                ('goal', models.TextField()),
                ('crew', models.CharField(blank=True, max_length=100)),
                ('final_check_wanted', models.BooleanField()),
                ('check_command', models.TextField(blank=True)),
                ('limits', models.JSONField()),
                ('policy', models.JSONField()),
                ('library', models.CharField(blank=True, max_length=80)),
                ('customs', models.TextField(blank=True, db_default='')),
                ('prompt_version', models.CharField(max_length=20)),
                ('result', models.TextField(blank=True)),
                ('unproven', models.TextField(blank=True)),
                ('crew_version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='missions', to='missions.crewversion')),
                ('follows', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='followed_by', to='missions.mission')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='MemoryVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('base', models.PositiveIntegerField(default=0)),
                ('description', models.CharField(blank=True, max_length=300)),
                ('text', models.TextField(blank=True)),
                ('front', models.TextField(blank=True)),
                ('active_for', models.JSONField(default=list)),
                ('visible_to', models.JSONField(default=list)),
                ('except_for', models.JSONField(default=list)),
                ('by', models.CharField(blank=True, max_length=150)),
                ('decided', models.DateTimeField(null=True)),
                ('decided_by', models.CharField(blank=True, max_length=150)),
                ('accepted', models.BooleanField(null=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('memory', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='missions.memory')),
                ('mission', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='memories_proposed', to='missions.mission')),
            ],
            options={
                'ordering': ['memory', '-number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='MissionAgent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('name', models.CharField(max_length=40)),
                ('folded', models.CharField(max_length=80)),
                ('description', models.TextField(blank=True)),
                ('parent', models.PositiveSmallIntegerField(default=0)),
                ('depth', models.PositiveSmallIntegerField(default=0)),
                ('model', models.CharField(max_length=200)),
                ('tools', models.JSONField()),
                ('rights', models.JSONField(default=list)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='agents', to='missions.mission')),
            ],
            options={
                'db_table': 'missions_agent',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='MemoryUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('on', models.BooleanField()),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='uses', to='missions.memoryversion')),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memory_uses', to='missions.mission')),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memory_uses', to='missions.missionagent')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='MemoryActivation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('on', models.BooleanField()),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('memory', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='missions.memory')),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='activations', to='missions.mission')),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='activations', to='missions.missionagent')),
            ],
            options={
                'db_table': 'missions_activation',
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='HistorySummary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('covers', models.PositiveSmallIntegerField()),
                ('text', models.TextField(blank=True)),
                ('dump', models.TextField(blank=True)),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('call', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.modelcall')),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='summaries', to='missions.mission')),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='summaries', to='missions.missionagent')),
            ],
            options={
                'db_table': 'missions_summary',
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='CarriedStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('reasoning', models.TextField(blank=True)),
                ('tool', models.CharField(blank=True, max_length=120)),
                ('args', models.TextField(blank=True)),
                ('heard', models.PositiveIntegerField()),
                ('ok', models.BooleanField(default=False)),
                ('result', models.TextField(blank=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='carried', to='missions.mission')),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='carried', to='missions.missionagent')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='AgentStop',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('after', models.PositiveSmallIntegerField()),
                ('why', models.CharField(choices=[('failed', 'no usable answer'), ('same', 'the same call again and again'), ('refused', 'refused again and again')], max_length=10)),
                ('text', models.TextField(blank=True)),
                ('heard', models.PositiveIntegerField()),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='halts', to='missions.mission')),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='halts', to='missions.missionagent')),
            ],
            options={
                'db_table': 'missions_halt',
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='MissionCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('command', models.TextField(blank=True)),
                ('exit_code', models.IntegerField(null=True)),
                ('reason', models.CharField(blank=True, max_length=40)),
                ('output', models.TextField(blank=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='final_check', to='missions.mission')),
                ('tool_call', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.toolcall')),
            ],
            options={
                'db_table': 'missions_check',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='MissionMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('sender', models.PositiveSmallIntegerField()),
                ('by_name', models.CharField(blank=True, max_length=150)),
                ('recipient', models.PositiveSmallIntegerField()),
                ('text', models.TextField(blank=True)),
                ('go_on', models.BooleanField(default=False)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='missions.mission')),
            ],
            options={
                'db_table': 'missions_message',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='MissionPause',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('on', models.BooleanField()),
                ('by_name', models.CharField(blank=True, max_length=150)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pauses', to='missions.mission')),
            ],
            options={
                'db_table': 'missions_pause',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='MissionStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('reasoning', models.TextField(blank=True)),
                ('tool', models.CharField(blank=True, max_length=120)),
                ('args', models.TextField(blank=True)),
                ('heard', models.PositiveIntegerField()),
                ('last', models.BooleanField(default=False)),
                ('ok', models.BooleanField(default=False)),
                ('result', models.TextField(blank=True)),
                ('settled', models.DateTimeField(null=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='steps', to='missions.missionagent')),
                ('call', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.modelcall')),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='steps', to='missions.mission')),
                ('tool_call', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.toolcall')),
            ],
            options={
                'db_table': 'missions_step',
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='FileVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('path', models.TextField()),
                ('change', models.CharField(max_length=1)),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('size', models.PositiveBigIntegerField()),
                ('text', models.TextField(blank=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='files', to='missions.mission')),
                ('step', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='files', to='missions.missionstep')),
            ],
            options={
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Repository',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', models.TextField(blank=True)),
                ('branch', models.TextField(blank=True)),
                ('base', models.CharField(max_length=40)),
                ('start', models.CharField(blank=True, max_length=40)),
                ('files', models.PositiveIntegerField()),
                ('size', models.PositiveBigIntegerField()),
                ('shallow', models.BooleanField()),
                ('left_out', models.TextField(blank=True)),
                ('staged', models.CharField(max_length=32)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='repository', to='missions.mission')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ShortTermMemory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveSmallIntegerField()),
                ('text', models.TextField(blank=True)),
                ('by', models.PositiveSmallIntegerField()),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='short_memories', to='missions.missionagent')),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='short_memories', to='missions.mission')),
            ],
            options={
                'db_table': 'missions_shortmemory',
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Terminal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('command', models.TextField(blank=True)),
                ('spool', models.CharField(max_length=40)),
                ('exit_code', models.IntegerField(null=True)),
                ('reason', models.CharField(blank=True, max_length=40)),
                ('seconds', models.PositiveIntegerField(null=True)),
                ('size', models.PositiveBigIntegerField(null=True)),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('output', models.TextField(blank=True)),
                ('ended', models.DateTimeField(null=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='terminals', to='missions.mission')),
                ('step', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='terminal', to='missions.missionstep')),
            ],
            options={
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='TerminalConnection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('host', models.CharField(blank=True, max_length=255)),
                ('port', models.PositiveIntegerField()),
                ('allowed', models.BooleanField()),
                ('sent', models.PositiveBigIntegerField(default=0)),
                ('received', models.PositiveBigIntegerField(default=0)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='connections', to='missions.mission')),
                ('terminal', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='connections', to='missions.terminal')),
            ],
            options={
                'db_table': 'missions_connection',
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='TerminalInput',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by_name', models.CharField(blank=True, max_length=150)),
                ('number', models.PositiveSmallIntegerField()),
                ('text', models.TextField(blank=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('step', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='input', to='missions.missionstep')),
                ('terminal', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='inputs', to='missions.terminal')),
            ],
            options={
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.AddConstraint(
            model_name='crewversion',
            constraint=models.UniqueConstraint(models.F('crew'), models.F('number'), name='one_crew_version_per_number'),
        ),
        migrations.AddConstraint(
            model_name='memoryversion',
            constraint=models.UniqueConstraint(models.F('memory'), models.F('number'), name='one_memory_version_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='missionagent',
            constraint=models.UniqueConstraint(models.F('mission'), models.F('number'), name='one_mission_agent_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='missionagent',
            constraint=models.UniqueConstraint(models.F('mission'), models.F('folded'), name='one_mission_agent_of_a_name'),
        ),
        migrations.AddConstraint(
            model_name='carriedstep',
            constraint=models.UniqueConstraint(models.F('agent'), models.F('number'), name='one_carried_step_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='missionmessage',
            constraint=models.UniqueConstraint(models.F('mission'), models.F('number'), name='one_mission_message_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='missionpause',
            constraint=models.UniqueConstraint(models.F('mission'), models.F('number'), name='one_pause_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='missionstep',
            constraint=models.UniqueConstraint(models.F('agent'), models.F('number'), name='one_mission_step_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='fileversion',
            constraint=models.UniqueConstraint(models.F('mission'), models.F('number'), name='one_file_version_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='shorttermmemory',
            constraint=models.UniqueConstraint(models.F('agent'), models.F('version'), name='one_short_memory_of_a_version'),
        ),
        migrations.AddConstraint(
            model_name='terminal',
            constraint=models.UniqueConstraint(models.F('mission'), models.F('number'), name='one_terminal_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='terminalconnection',
            constraint=models.UniqueConstraint(models.F('terminal'), models.F('number'), name='one_connection_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='terminalinput',
            constraint=models.UniqueConstraint(models.F('terminal'), models.F('number'), name='one_input_of_a_number'),
        ),
        migrations.RunPython(install, migrations.RunPython.noop),
        migrations.RunPython(create_memories, migrations.RunPython.noop),
        migrations.RunPython(create_crews, migrations.RunPython.noop),
    ]
