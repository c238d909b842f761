import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models
from plans.migrations._ready_made import create_teams


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('engine', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='TeamAgentRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seat', models.PositiveSmallIntegerField()),
                ('name', models.CharField(max_length=60)),
                ('description', models.CharField(blank=True, max_length=300)),
                ('system', models.TextField(blank=True, max_length=12000)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('fallback', models.CharField(blank=True, max_length=200)),
                ('tools', models.JSONField(default=list)),
            ],
            options={
                'db_table': 'plans_teamagent',
                'ordering': ['seat'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Plan',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='plan', serialize=False, to='engine.run')),
                ('task', models.TextField(max_length=20000)),
                ('matter_name', models.CharField(blank=True, max_length=100, null=True)),
                ('policy', models.JSONField()),
                ('asked_models', models.JSONField()),
                ('prompt_version', models.CharField(max_length=20)),
                ('stopped', models.BooleanField(default=False)),
                ('summary', models.TextField(blank=True)),
                ('earlier', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='later', to='plans.plan')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='PlanStep',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveSmallIntegerField()),
                ('position', models.PositiveSmallIntegerField()),
                ('first_in', models.PositiveSmallIntegerField()),
                ('last_in', models.PositiveSmallIntegerField(null=True)),
                ('tools', models.JSONField(default=list)),
                ('tools_due', models.BooleanField(default=False)),
                ('needs', models.JSONField(null=True)),
                ('effect', models.CharField(choices=[('reads', 'reads'), ('writes', 'writes'), ('reaches_out', 'reaches out')], max_length=12)),
                ('status', models.CharField(choices=[('planned', 'planned'), ('awaiting_feedback', 'awaiting feedback'), ('approved', 'approved'), ('rejected', 'rejected'), ('action_requested', 'action requested'), ('completed', 'completed'), ('failed', 'failed'), ('superseded', 'superseded')], default='planned', max_length=20)),
                ('series', models.PositiveSmallIntegerField(default=0)),
                ('skipped', models.BooleanField(default=False)),
                ('began', models.DateTimeField(null=True)),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='steps', to='plans.plan')),
                ('agent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='plans.teamagentrow')),
            ],
            options={
                'db_table': 'plans_step',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('title', models.CharField(blank=True, max_length=120)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('closed', models.DateTimeField(null=True)),
                ('erased', models.DateTimeField(null=True)),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='matters', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'plans_matter',
                'ordering': ['created'],
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='plan',
            name='matter',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='plans', to='plans.project'),
        ),
        migrations.CreateModel(
            name='SentEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('key', models.CharField(max_length=60)),
                ('matter', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='plans.project')),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='plans.plan')),
            ],
            options={
                'db_table': 'plans_told',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='SentGate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.BigIntegerField()),
                ('gate', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.gate')),
                ('step', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='plans.planstep')),
            ],
            options={
                'db_table': 'plans_sent',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Team',
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
            name='TeamVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=60)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('description', models.CharField(blank=True, max_length=300)),
                ('planner', models.CharField(blank=True, max_length=200)),
                ('policy', models.JSONField()),
                ('examples', models.JSONField(default=list)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='plans.team')),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        migrations.CreateModel(
            name='TeamChange',
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
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='plans.team')),
                ('version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='plans.teamversion')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='teamagentrow',
            name='version',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='agents', to='plans.teamversion'),
        ),
        migrations.AddField(
            model_name='team',
            name='current',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='plans.teamversion'),
        ),
        migrations.AddField(
            model_name='plan',
            name='team_version',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='plans', to='plans.teamversion'),
        ),
        migrations.CreateModel(
            name='PlanMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('source', models.CharField(max_length=80)),
                ('by_name', models.CharField(blank=True, max_length=150)),
                ('to_step', models.PositiveSmallIntegerField(default=0)),
                ('content', models.TextField()),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='plans.plan')),
            ],
            options={
                'db_table': 'plans_message',
                'ordering': ['number'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(models.F('plan'), models.F('number'), name='one_plan_message_of_a_number')],
            },
        ),
        migrations.CreateModel(
            name='PlanRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('cause', models.CharField(choices=[('task', 'task'), ('answers', 'answers'), ('rejection', 'rejection'), ('failure', 'failure'), ('clarification', 'clarification')], max_length=20)),
                ('cause_step', models.PositiveSmallIntegerField(null=True)),
                ('by_name', models.CharField(blank=True, max_length=150)),
                ('notes', models.TextField(blank=True)),
                ('standing', models.CharField(choices=[('ordered', 'ordered'), ('asked', 'asked'), ('proposed', 'proposed'), ('accepted', 'accepted'), ('replaced', 'replaced')], default='ordered', max_length=10)),
                ('thought', models.TextField(blank=True)),
                ('questions', models.TextField(blank=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('planned', models.DateTimeField(null=True)),
                ('places', models.JSONField(null=True)),
                ('call', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.modelcall')),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='revisions', to='plans.plan')),
            ],
            options={
                'db_table': 'plans_revision',
                'ordering': ['number'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(models.F('plan'), models.F('number'), name='one_revision_of_a_number')],
            },
        ),
        migrations.CreateModel(
            name='PlanStepMove',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('series', models.PositiveSmallIntegerField()),
                ('number', models.PositiveSmallIntegerField()),
                ('act', models.CharField(max_length=10)),
                ('thought', models.TextField(blank=True)),
                ('tool', models.CharField(blank=True, max_length=120)),
                ('arguments', models.TextField(blank=True)),
                ('text', models.TextField(blank=True)),
                ('result', models.TextField(blank=True)),
                ('refused', models.BooleanField(default=False)),
                ('settled', models.DateTimeField(null=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('call', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.modelcall')),
                ('step', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='moves', to='plans.planstep')),
                ('tool_call', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.toolcall')),
            ],
            options={
                'db_table': 'plans_move',
                'ordering': ['series', 'number'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(models.F('step'), models.F('series'), models.F('number'), name='one_move_of_a_number')],
            },
        ),
        migrations.CreateModel(
            name='PlanStepState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('status', models.CharField(choices=[('planned', 'planned'), ('awaiting_feedback', 'awaiting feedback'), ('approved', 'approved'), ('rejected', 'rejected'), ('action_requested', 'action requested'), ('completed', 'completed'), ('failed', 'failed'), ('superseded', 'superseded')], max_length=20)),
                ('event', models.CharField(blank=True, choices=[('asked', 'asked'), ('passed', 'passed'), ('approve', 'approve'), ('reject', 'reject'), ('changed', 'changed'), ('begin', 'begin'), ('reply', 'reply'), ('give_up', 'give up'), ('again', 'again'), ('skip', 'skip'), ('drop', 'drop')], max_length=10)),
                ('series', models.PositiveSmallIntegerField(default=0)),
                ('by_name', models.CharField(blank=True, max_length=150)),
                ('why', models.TextField(blank=True)),
                ('action', models.TextField(blank=True)),
                ('held', models.JSONField(null=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('by_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('step', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='states', to='plans.planstep')),
            ],
            options={
                'db_table': 'plans_stepstate',
                'ordering': ['number'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(models.F('step'), models.F('number'), name='one_step_state_of_a_number')],
            },
        ),
        migrations.AddConstraint(
            model_name='project',
            constraint=models.UniqueConstraint(condition=models.Q(('erased', None)), fields=('owner', 'name'), name='one_matter_of_a_name'),
        ),
        migrations.AddConstraint(
            model_name='sentevent',
            constraint=models.UniqueConstraint(fields=('matter', 'number'), name='one_event_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='sentevent',
            constraint=models.UniqueConstraint(fields=('plan', 'key'), name='one_number_of_an_event'),
        ),
        migrations.AddConstraint(
            model_name='sentgate',
            constraint=models.UniqueConstraint(fields=('token', 'step'), name='one_gate_sent_for_a_step'),
        ),
        migrations.AddConstraint(
            model_name='planstep',
            constraint=models.UniqueConstraint(models.F('plan'), models.F('number'), name='one_step_of_a_number'),
        ),
        migrations.AddConstraint(
            model_name='teamversion',
            constraint=models.UniqueConstraint(models.F('team'), models.F('number'), name='one_team_version_per_number'),
        ),
        migrations.AddConstraint(
            model_name='teamagentrow',
            constraint=models.UniqueConstraint(models.F('version'), models.F('seat'), name='one_team_agent_per_seat'),
        ),
        migrations.AddConstraint(
            model_name='teamagentrow',
            constraint=models.UniqueConstraint(models.F('version'), models.F('name'), name='one_team_agent_per_name'),
        ),
        migrations.RunPython(create_teams, migrations.RunPython.noop),
    ]
