import django.db.models.deletion
import django.utils.timezone
import judgements.rules
import uuid
from django.conf import settings
from django.db import migrations, models
from judgements.migrations._ready_made import create_councils


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('engine', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Council',
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
            name='CouncilVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=60)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('council', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='judgements.council')),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        migrations.CreateModel(
            name='CouncilMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seat', models.CharField(choices=[('A', 'A'), ('B', 'B'), ('C', 'C')], max_length=1)),
                ('name', models.CharField(max_length=60)),
                ('criteria', models.TextField(max_length=4000)),
                ('fallback', models.CharField(blank=True, max_length=200)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='judgements.councilversion')),
            ],
            options={
                'db_table': 'judgements_member',
                'ordering': ['seat'],
            },
        ),
        migrations.CreateModel(
            name='CouncilChange',
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
                ('council', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='judgements.council')),
                ('version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judgements.councilversion')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='council',
            name='current',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judgements.councilversion'),
        ),
        migrations.CreateModel(
            name='EarlierCouncilName',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, unique=True)),
                ('council', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judgements.council')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Judgement',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='judgement', serialize=False, to='engine.run')),
                ('content', models.TextField(max_length=20000)),
                ('prompt_version', models.CharField(max_length=20)),
                ('council_version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='judgements', to='judgements.councilversion')),
                ('earlier', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='later', to='judgements.judgement')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='JudgementAgent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seat', models.CharField(choices=[('A', 'A'), ('B', 'B'), ('C', 'C')], max_length=1)),
                ('name', models.CharField(max_length=60)),
                ('model', models.CharField(max_length=200)),
                ('criteria', models.TextField(max_length=4000)),
                ('fallback', models.CharField(blank=True, max_length=200)),
                ('judgement', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='agents', to='judgements.judgement')),
            ],
            options={
                'db_table': 'judgements_agent',
                'ordering': ['seat'],
                'permissions': [('own_agents', "Can judge by agents of one's own, not of a council")],
            },
        ),
        migrations.CreateModel(
            name='Receipt',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('audience', models.CharField(blank=True, max_length=200)),
                ('agents_sha256', models.CharField(blank=True, max_length=64)),
                ('rehearsal', models.BooleanField(null=True)),
                ('by', models.CharField(max_length=150)),
                ('issued', models.DateTimeField()),
                ('expires', models.DateTimeField()),
                ('consumed', models.DateTimeField(null=True)),
                ('consumed_by', models.CharField(blank=True, max_length=150)),
                ('expected', models.JSONField(null=True)),
                ('issue_entry', models.PositiveIntegerField()),
                ('use_entry', models.PositiveIntegerField(null=True)),
                ('judgement', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='receipts', to='judgements.judgement')),
            ],
            options={
                'ordering': ['issued', 'pk'],
                'permissions': [('issue_receipt', "Can get receipts for everybody's judgements")],
            },
        ),
        migrations.CreateModel(
            name='RoundDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('round', models.PositiveSmallIntegerField()),
                ('decision', models.CharField(choices=[(judgements.rules.AgentDecision['APPROVE'], judgements.rules.AgentDecision['APPROVE']), (judgements.rules.AgentDecision['REJECT'], judgements.rules.AgentDecision['REJECT'])], max_length=7)),
                ('reason', models.TextField()),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='judgements.judgementagent')),
                ('call', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='decision', to='engine.modelcall')),
            ],
            options={
                'ordering': ['round'],
            },
        ),
        migrations.AddConstraint(
            model_name='councilversion',
            constraint=models.UniqueConstraint(models.F('council'), models.F('number'), name='one_council_version_per_number'),
        ),
        migrations.AddConstraint(
            model_name='councilmember',
            constraint=models.UniqueConstraint(models.F('version'), models.F('seat'), name='one_member_per_seat'),
        ),
        migrations.AddConstraint(
            model_name='judgementagent',
            constraint=models.UniqueConstraint(models.F('judgement'), models.F('seat'), name='one_agent_per_seat'),
        ),
        migrations.AddConstraint(
            model_name='rounddecision',
            constraint=models.UniqueConstraint(models.F('agent'), models.F('round'), name='one_decision_per_agent_and_round'),
        ),
        migrations.AddConstraint(
            model_name='rounddecision',
            constraint=models.CheckConstraint(condition=models.Q(('round__in', [1, 2, 3])), name='round_known'),
        ),
        migrations.AddConstraint(
            model_name='rounddecision',
            constraint=models.CheckConstraint(condition=models.Q(('decision__in', ['approve', 'reject'])), name='decision_known'),
        ),
        migrations.RunPython(create_councils, migrations.RunPython.noop),
    ]
