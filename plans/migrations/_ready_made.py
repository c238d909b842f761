"""Ready-made teams to start with."""

from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.migrations._sealing import seal


PEOPLE = ["people.find", "people.add", "people.change"]
TASKS = ["tasks.find", "tasks.add", "tasks.change"]
CALENDAR = ["calendar.find", "calendar.free", "calendar.add", "calendar.move"]
DOCUMENTS = ["documents.find", "documents.read", "documents.write"]
ITEMS = ["items.find", "items.book"]
PURCHASES = ["purchases.find", "purchases.request"]
FIGURES = ["figures.calculate", "figures.convert", "figures.today"]
MAIL = ["mail.draft", "mail.send"]

DESK = ("Desk", "Keeps people, tasks and documents in order.", [*PEOPLE, *TASKS, *DOCUMENTS])
CALENDAR_KEEPER = ("Calendar", "Finds free time and keeps appointments.", [*CALENDAR, "people.find"])
LETTERS = ("Letters", "Writes letters and sends them.", [*MAIL, "documents.read"])
PARTNER = ("People partner", "Looks after who joins, moves and leaves.", [*PEOPLE, *TASKS, "documents.read"])
RESEARCHER = ("Researcher", "Finds facts in documents and stock.", [*DOCUMENTS, "items.find"])
WRITER = ("Writer", "Writes texts that others read.", DOCUMENTS)
LEGAL = ("Legal reader", "Reads with an eye on law and promises. Changes nothing.", ["documents.find", "documents.read"])
BUYER = ("Buyer", "Compares, calculates and asks for purchases.", ["items.find", *PURCHASES, *FIGURES])
KEEPER = ("Stock keeper", "Knows what is there, and books it.", ITEMS)
ANALYST = ("Analyst", "Works out figures from what is there.", ["items.find", *DOCUMENTS, *FIGURES])
SERVICE = ("Service desk", "Takes what is broken and sees it through.", [*TASKS, "people.find", *ITEMS])

TEAMS = (
    {
        "name": "Office",
        "description": "What any office does: people, tasks, appointments, documents, letters.",
        "agents": (DESK, CALENDAR_KEEPER, LETTERS),
        "examples": ["Find an hour for Ada and Ben next week, enter it as “Review”, and write to both."],
    },
    {
        "name": "People",
        "description": "Who joins, moves and leaves.",
        "agents": (PARTNER, CALENDAR_KEEPER, LETTERS),
        "examples": ["Onboard Jessica Smith, who starts in Sales on 1 December."],
    },
    {
        "name": "Marketing",
        "description": "Texts for the world, read for what they promise.",
        "agents": (RESEARCHER, WRITER, LEGAL, LETTERS),
        "examples": ["Write the press release for the new desk lamp, and have it read by the legal reader."],
    },
    {
        "name": "Procurement",
        "description": "What is bought, from stock to request.",
        "agents": (BUYER, KEEPER, LEGAL),
        "examples": ["Ask for 40 monitors for less than 9,000 in all."],
    },
    {
        "name": "Product",
        "description": "What the figures say of what is made.",
        "agents": (ANALYST, KEEPER),
        "examples": ["Work out which items cost more than last year, and write it into a document."],
    },
    {
        "name": "Tech support",
        "description": "What is broken, until it works.",
        "agents": (SERVICE, LETTERS),
        "examples": ["Enter a task for the broken projector in Lisbon, and tell its assignee."],
    },
    {
        "name": "House",
        "description": "One agent of each department, for what needs several.",
        "agents": (DESK, PARTNER, LEGAL, WRITER, BUYER, ANALYST, SERVICE, LETTERS),
        "examples": [],
    },
)
POLICY = {
    "plan": {"who": "person"},
    "steps": {"reads": {"who": "open"}, "writes": {"who": "person"}, "reaches_out": {"who": "person"}},
    "calls": {"reads": {"who": "open"}, "writes": {"who": "open"}, "reaches_out": {"who": "person"}},
    "ahead": True,
}

CHAIN = "6d616769-0000-4000-8000-007465616d73"
AGENT = ("name", "description", "system", "model", "fallback", "tools")


def create_teams(apps, schema_editor):
    seal(apps, CHAIN, [draft_of(change) for change in [found(apps, team) for team in TEAMS]])


def found(apps, values):
    Team, Version, Agent, Change = (
        apps.get_model("plans", f"Team{part}") for part in ("", "Version", "AgentRow", "Change")
    )
    kept = {"name": values["name"], "retention_days": 0}
    team = Team.objects.create(**kept)
    own = {name: values[name] for name in ("description", "examples")}
    version = Version.objects.create(team=team, number=1, name=team.name, policy=POLICY, **own)
    for seat, (name, description, tools) in enumerate(values["agents"], 1):
        Agent.objects.create(version=version, seat=seat, name=name, description=description, tools=list(tools))
    Team.objects.filter(pk=team.pk).update(current=version)
    return Change.objects.create(team=team, kind="founded", version=version, archived=False, locked=False, **kept)


def draft_of(change):
    facts = {"id": change.team_id, "change": change.kind, "by": "", "owner": None, "owner_name": ""}
    facts |= {name: getattr(change, name) for name in ("name", "archived", "locked", "retention_days")}
    facts |= {"version": change.version.number, "holds": held(change.version)}
    return EntryDraft("team", format_timestamp(change.made) or "", facts)


def held(version):
    """Return what `TeamVersion.held` returns; a migration must not import the model."""
    own = {name: getattr(version, name) for name in ("description", "planner", "policy", "examples")}
    agents = [{name: getattr(one, name) for name in AGENT} for one in version.agents.order_by("seat")]
    return {**own, "agents": agents}
