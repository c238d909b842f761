"""The ready-made teams: agents with their tools"""

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
