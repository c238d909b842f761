import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from debates.migrations._ready_made import create_advisory_board, create_panels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('engine', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Debate',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='debate', serialize=False, to='engine.run')),
                ('question', models.TextField(max_length=20000)),
                ('rule', models.CharField(max_length=20)),
                ('most', models.PositiveSmallIntegerField(default=60)),
                ('until', models.DateTimeField(null=True)),
                ('reply_within', models.PositiveIntegerField(null=True)),
                ('reply', models.BooleanField(default=True)),
                ('call', models.BooleanField(default=True)),
                ('challenge', models.BooleanField(default=True)),
                ('first', models.BooleanField(default=True)),
                ('free_floor', models.BooleanField(default=False)),
                ('advisory', models.BooleanField(db_default=False, default=False)),
                ('view', models.CharField(choices=[('perspective', 'Each from its own side'), ('minutes', 'All alike, members as letters')], default='perspective', max_length=20)),
                ('seed', models.CharField(max_length=64)),
                ('seed_random', models.CharField(blank=True, max_length=64)),
                ('seed_word', models.CharField(blank=True, max_length=200)),
                ('boundary', models.CharField(max_length=32)),
                ('prompt_version', models.CharField(max_length=20)),
                ('no_decision', models.CharField(blank=True, max_length=20)),
                ('ended_because', models.CharField(blank=True, max_length=20)),
                ('earlier', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='later', to='debates.debate')),
            ],
            options={
                'permissions': (('look_at_firsts', 'Can look at what members said alone while a person has a seat'),),
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='DebateMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seat', models.PositiveSmallIntegerField()),
                ('kind', models.CharField(default='member', max_length=20)),
                ('name', models.CharField(max_length=60)),
                ('who', models.TextField(blank=True, max_length=4000)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('fallback', models.CharField(blank=True, max_length=200)),
                ('user_name', models.CharField(blank=True, max_length=150)),
                ('debate', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='members', to='debates.debate')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='seats', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'debates_member',
                'ordering': ['seat'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='DebateOption',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('word', models.CharField(max_length=40)),
                ('meaning', models.CharField(blank=True, max_length=200)),
                ('direction', models.CharField(choices=[('for', 'For'), ('between', 'In between'), ('against', 'Against')], default='between', max_length=10)),
                ('debate', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='options', to='debates.debate')),
            ],
            options={
                'db_table': 'debates_option',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='DebateTurn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('why', models.CharField(max_length=20)),
                ('after', models.PositiveSmallIntegerField(default=0)),
                ('asked_by', models.PositiveSmallIntegerField(null=True)),
                ('steer', models.PositiveSmallIntegerField(null=True)),
                ('weights', models.JSONField(default=list)),
                ('ticket', models.PositiveIntegerField(null=True)),
                ('series', models.PositiveSmallIntegerField(default=0)),
                ('state', models.CharField(default='open', max_length=10)),
                ('reason_skipped', models.TextField(blank=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('closed', models.DateTimeField(null=True)),
                ('debate', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='turns', to='debates.debate')),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='turns', to='debates.debatemember')),
            ],
            options={
                'db_table': 'debates_turn',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='DebateMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('abstained', models.BooleanField(default=False)),
                ('reasoning', models.TextField(blank=True)),
                ('number', models.PositiveSmallIntegerField()),
                ('clock', models.PositiveSmallIntegerField(null=True)),
                ('kind', models.CharField(max_length=10)),
                ('by_name', models.CharField(blank=True, max_length=150)),
                ('note', models.CharField(blank=True, max_length=10)),
                ('after', models.PositiveSmallIntegerField(null=True)),
                ('facts', models.JSONField(null=True)),
                ('claim', models.PositiveIntegerField(default=0)),
                ('speaking_to', models.JSONField(default=list)),
                ('expects_answer', models.BooleanField(default=False)),
                ('content', models.TextField(blank=True)),
                ('artifact', models.TextField(blank=True)),
                ('moved_by', models.JSONField(default=list)),
                ('withdrawn', models.BooleanField(default=False)),
                ('continues', models.PositiveSmallIntegerField(null=True)),
                ('heard', models.PositiveSmallIntegerField(default=0)),
                ('cut', models.BooleanField(default=False)),
                ('calls', models.JSONField(default=list)),
                ('names_option', models.BooleanField(default=False)),
                ('request', models.CharField(blank=True, max_length=64)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('debate', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='debates.debate')),
                ('member', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='debates.debatemember')),
                ('verdict', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='debates.debateoption')),
                ('turn', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='message', to='debates.debateturn')),
            ],
            options={
                'db_table': 'debates_message',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='FirstVerdict',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('abstained', models.BooleanField(default=False)),
                ('reasoning', models.TextField(blank=True)),
                ('confidence', models.PositiveSmallIntegerField(null=True)),
                ('missing', models.CharField(blank=True, max_length=20)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('call', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.modelcall')),
                ('member', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='first', to='debates.debatemember')),
                ('verdict', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='debates.debateoption')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='MessagePoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('claim', models.CharField(blank=True, max_length=200)),
                ('option', models.CharField(blank=True, max_length=40)),
                ('side', models.CharField(max_length=10)),
                ('document', models.CharField(blank=True, max_length=4)),
                ('line', models.PositiveIntegerField(null=True)),
                ('answers', models.CharField(blank=True, max_length=10)),
                ('message', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='points', to='debates.debatemessage')),
            ],
            options={
                'db_table': 'debates_point',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Panel',
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
            name='PanelVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=60)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('rule', models.CharField(default='majority', max_length=20)),
                ('timekeeper', models.CharField(blank=True, max_length=200)),
                ('view', models.CharField(choices=[('perspective', 'Each from its own side'), ('minutes', 'All alike, members as letters')], default='perspective', max_length=20)),
                ('most', models.PositiveSmallIntegerField(default=60)),
                ('reply_within', models.PositiveIntegerField(null=True)),
                ('first', models.BooleanField(default=True)),
                ('reply', models.BooleanField(default=True)),
                ('call', models.BooleanField(default=True)),
                ('challenge', models.BooleanField(default=True)),
                ('free_floor', models.BooleanField(default=False)),
                ('advisory', models.BooleanField(db_default=False, default=False)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('panel', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='debates.panel')),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        migrations.CreateModel(
            name='PanelSeat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seat', models.PositiveSmallIntegerField()),
                ('name', models.CharField(max_length=60)),
                ('who', models.TextField(blank=True, max_length=4000)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('fallback', models.CharField(blank=True, max_length=200)),
                ('person', models.BooleanField(default=False)),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='seats', to='debates.panelversion')),
            ],
            options={
                'ordering': ['seat'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='PanelOption',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('word', models.CharField(max_length=40)),
                ('meaning', models.CharField(blank=True, max_length=200)),
                ('direction', models.CharField(choices=[('for', 'For'), ('between', 'In between'), ('against', 'Against')], default='between', max_length=10)),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='options', to='debates.panelversion')),
            ],
            options={
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='PanelChange',
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
                ('panel', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='debates.panel')),
                ('version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='debates.panelversion')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='panel',
            name='current',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='debates.panelversion'),
        ),
        migrations.AddField(
            model_name='debate',
            name='panel_version',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='debates', to='debates.panelversion'),
        ),
        migrations.CreateModel(
            name='SteeringAction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('abstained', models.BooleanField(default=False)),
                ('reasoning', models.TextField(blank=True)),
                ('number', models.PositiveSmallIntegerField()),
                ('by_name', models.CharField(max_length=150)),
                ('act', models.CharField(max_length=20)),
                ('amount', models.PositiveSmallIntegerField(default=0)),
                ('after', models.PositiveSmallIntegerField(default=0)),
                ('text', models.TextField(blank=True)),
                ('request', models.CharField(blank=True, max_length=64)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('done', models.DateTimeField(null=True)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('debate', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='steers', to='debates.debate')),
                ('member', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='debates.debatemember')),
                ('verdict', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='debates.debateoption')),
            ],
            options={
                'db_table': 'debates_steer',
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.AddConstraint(
            model_name='debatemember',
            constraint=models.UniqueConstraint(fields=('debate', 'seat'), name='member_seat'),
        ),
        migrations.AddConstraint(
            model_name='debatemember',
            constraint=models.UniqueConstraint(fields=('debate', 'name'), name='member_name'),
        ),
        migrations.AddConstraint(
            model_name='debatemember',
            constraint=models.UniqueConstraint(fields=('debate', 'user'), name='member_user'),
        ),
        migrations.AddConstraint(
            model_name='debatemember',
            constraint=models.CheckConstraint(condition=models.Q(('seat__lte', 9)), name='member_seat_known'),
        ),
        migrations.AddConstraint(
            model_name='debatemember',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['member', 'timekeeper'])), name='member_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='debatemember',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('model', ''), ('user_name', ''), _negated=True), ('kind', 'timekeeper'), _connector='OR'), name='member_is_somebody'),
        ),
        migrations.AddConstraint(
            model_name='debateoption',
            constraint=models.UniqueConstraint(fields=('debate', 'number'), name='option_number'),
        ),
        migrations.AddConstraint(
            model_name='debateoption',
            constraint=models.UniqueConstraint(fields=('debate', 'word'), name='option_word'),
        ),
        migrations.AddConstraint(
            model_name='debateoption',
            constraint=models.CheckConstraint(condition=models.Q(('direction__in', ['for', 'between', 'against'])), name='option_direction'),
        ),
        migrations.AddConstraint(
            model_name='debateturn',
            constraint=models.UniqueConstraint(fields=('debate', 'number'), name='turn_number'),
        ),
        migrations.AddConstraint(
            model_name='debateturn',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open'), models.Q(('why', 'closing'), _negated=True)), fields=('debate',), name='turn_one_open'),
        ),
        migrations.AddConstraint(
            model_name='debateturn',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('why__in', ['draw', 'challenge']), _negated=True), ('ticket__isnull', False), _connector='OR'), name='turn_drawn'),
        ),
        migrations.AddConstraint(
            model_name='debatemessage',
            constraint=models.UniqueConstraint(fields=('debate', 'number'), name='message_number'),
        ),
        migrations.AddConstraint(
            model_name='debatemessage',
            constraint=models.UniqueConstraint(fields=('debate', 'clock'), name='message_clock'),
        ),
        migrations.AddConstraint(
            model_name='debatemessage',
            constraint=models.UniqueConstraint(fields=('debate', 'continues'), name='message_continues'),
        ),
        migrations.AddConstraint(
            model_name='debatemessage',
            constraint=models.UniqueConstraint(condition=models.Q(('request', ''), _negated=True), fields=('debate', 'request'), name='message_request'),
        ),
        migrations.AddConstraint(
            model_name='debatemessage',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'note')), fields=('debate', 'after'), name='message_one_note'),
        ),
        migrations.AddConstraint(
            model_name='debatemessage',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ['said', 'closing']), ('member__isnull', False), ('turn__isnull', False)), models.Q(('kind', 'chair'), models.Q(('by_name', ''), _negated=True)), models.Q(('kind', 'leaving'), ('member__isnull', False), ('turn__isnull', True), ('withdrawn', True), models.Q(('by_name', ''), _negated=True)), models.Q(('after__isnull', False), ('kind', 'note'), models.Q(('note', ''), _negated=True)), _connector='OR'), name='message_of_somebody'),
        ),
        migrations.AddConstraint(
            model_name='debatemessage',
            constraint=models.CheckConstraint(condition=models.Q(('continues__isnull', True), models.Q(('clock__isnull', True), ('continues', django.db.models.expressions.CombinedExpression(models.F('number'), '-', models.Value(1)))), _connector='OR'), name='message_part_two'),
        ),
        migrations.AddConstraint(
            model_name='firstverdict',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__isnull', False), ('abstained', True), models.Q(('missing', ''), _negated=True), _connector='OR'), name='first_verdict_or_missing'),
        ),
        migrations.AddConstraint(
            model_name='messagepoint',
            constraint=models.UniqueConstraint(fields=('message', 'number'), name='point_number'),
        ),
        migrations.AddConstraint(
            model_name='panelversion',
            constraint=models.UniqueConstraint(models.F('panel'), models.F('number'), name='one_panel_version_per_number'),
        ),
        migrations.AddConstraint(
            model_name='panelversion',
            constraint=models.CheckConstraint(condition=models.Q(('rule__in', ['plurality', 'majority', 'two_thirds', 'unanimous', 'median', 'none'])), name='panel_rule_known'),
        ),
        migrations.AddConstraint(
            model_name='panelversion',
            constraint=models.CheckConstraint(condition=models.Q(('view__in', ['perspective', 'minutes'])), name='panel_view_known'),
        ),
        migrations.AddConstraint(
            model_name='panelversion',
            constraint=models.CheckConstraint(condition=models.Q(('most__gte', 4), ('most__lte', 200)), name='panel_most'),
        ),
        migrations.AddConstraint(
            model_name='panelseat',
            constraint=models.UniqueConstraint(models.F('version'), models.F('seat'), name='one_panel_seat_per_number'),
        ),
        migrations.AddConstraint(
            model_name='panelseat',
            constraint=models.UniqueConstraint(models.F('version'), models.F('name'), name='one_panel_seat_per_name'),
        ),
        migrations.AddConstraint(
            model_name='panelseat',
            constraint=models.CheckConstraint(condition=models.Q(('seat__gte', 1), ('seat__lte', 9)), name='panel_seat_known'),
        ),
        migrations.AddConstraint(
            model_name='panelseat',
            constraint=models.CheckConstraint(condition=models.Q(('person', False), models.Q(('fallback', ''), ('model', '')), _connector='OR'), name='panel_person_has_no_model'),
        ),
        migrations.AddConstraint(
            model_name='paneloption',
            constraint=models.UniqueConstraint(models.F('version'), models.F('number'), name='one_panel_option_per_number'),
        ),
        migrations.AddConstraint(
            model_name='paneloption',
            constraint=models.UniqueConstraint(models.F('version'), models.F('word'), name='one_panel_option_per_word'),
        ),
        migrations.AddConstraint(
            model_name='paneloption',
            constraint=models.CheckConstraint(condition=models.Q(('direction__in', ['for', 'between', 'against'])), name='panel_option_direction'),
        ),
        migrations.AddConstraint(
            model_name='debate',
            constraint=models.CheckConstraint(condition=models.Q(('most__gte', 4), ('most__lte', 200)), name='debate_most'),
        ),
        migrations.AddConstraint(
            model_name='debate',
            constraint=models.CheckConstraint(condition=models.Q(('rule__in', ['plurality', 'majority', 'two_thirds', 'unanimous', 'median', 'none'])), name='debate_rule_known'),
        ),
        migrations.AddConstraint(
            model_name='debate',
            constraint=models.CheckConstraint(condition=models.Q(('view__in', ['perspective', 'minutes'])), name='debate_view_known'),
        ),
        migrations.AddConstraint(
            model_name='steeringaction',
            constraint=models.UniqueConstraint(fields=('debate', 'number'), name='steer_number'),
        ),
        migrations.AddConstraint(
            model_name='steeringaction',
            constraint=models.UniqueConstraint(condition=models.Q(('request', ''), _negated=True), fields=('debate', 'request'), name='steer_request'),
        ),
        migrations.AddConstraint(
            model_name='steeringaction',
            constraint=models.CheckConstraint(condition=models.Q(('act__in', ['ask', 'extend', 'close', 'close_at_once', 'end', 'recall', 'give_up', 'withdraw', 'look'])), name='steer_known'),
        ),
        migrations.RunPython(create_panels, migrations.RunPython.noop),
        migrations.RunPython(create_advisory_board, migrations.RunPython.noop),
    ]
