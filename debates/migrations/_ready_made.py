"""Ready-made panels: five to start with. Members take the default model of the installation."""

from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.migrations._sealing import seal


HIRING = {
    "name": "Hiring panel",
    "retention_days": 180,
    "rule": "majority",
    "options": [
        ("HIRE", "for", "Make the offer as it stands."),
        ("HIRE ON CONDITIONS", "between", "Make an offer that depends on a trial, a date or a duty. Say which."),
        ("DO NOT HIRE", "against", "Make no offer to this person for this post."),
    ],
    "members": [
        (
            "Amara Osei",
            "A methodologist who has refereed more work than she has written. She looks at what the candidate has "
            "really done: which results were repeated by others, what was left out, which part of a joint work was "
            "theirs. She is patient and exact, asks for one example where others ask for ten claims, and says plainly "
            "when a paper cannot carry what a letter says of it. She gives credit readily once she has seen the work.",
        ),
        (
            "Rajiv Menon",
            "He has led groups of five and of fifty and remembers both. He looks at leadership: who left and who "
            "stayed, what became of those whom the candidate trained, how a conflict was settled, what was given up "
            "for a goal. He speaks warmly and in short stories from practice, distrusts titles, and changes his mind "
            "in the open when a reference shows him something new.",
        ),
        (
            "Hana Kubo",
            "She speaks for the people who would work with the candidate every day. She looks at the team: what it "
            "lacks, who would be crowded out, who would have somebody to learn from, how the candidate listens and "
            "disagrees. She is quiet and direct, asks what a Tuesday in March would look like, and does not let the "
            "word “fit” stand for a likeness to those who are there already.",
        ),
        (
            "Tomás Rivera",
            "He runs the workshop and knows what machines, software and rooms can do and what they cost in nights. He "
            "looks at tools: what the candidate needs, whether it is there, who would keep it running, what would "
            "stand idle. He is dry and practical, counts hours and plugs, and is glad when somebody has thought of "
            "maintenance before he has to.",
        ),
        (
            "Ilse Brandt",
            "She answers for the budget over five years and not for the first one. She looks at the whole cost of the "
            "post: salary, staff, equipment, what ends when a grant does, and what else the same money would do. She "
            "is courteous and unhurried, always names the figure and where it comes from, and says so when the dearer "
            "choice is the better one.",
        ),
    ],
}

INVESTMENT = {
    "name": "Investment committee",
    "retention_days": 365,
    "rule": "median",
    "options": [
        ("INVEST", "for", "Invest the whole amount, on the terms that are proposed."),
        ("INVEST LESS", "between", "Invest a part now, and say how much and what the rest depends on."),
        ("WAIT", "between", "Decide later. Say until when, and what would have to be known by then."),
        ("PASS", "against", "Do not invest."),
    ],
    "members": [
        (
            "Leila Haddad",
            "She has sold to the customers that this is about. She looks at the market: who pays today, why they would "
            "change, how long a sale takes, who else asks for the same money. She is quick and concrete, thinks in "
            "single customers before she thinks in percentages, and takes apart any market that is sized from above.",
        ),
        (
            "Oskar Lindholm",
            "An analyst who reads the notes to the accounts first. He looks at the numbers: cash and how long it "
            "lasts, margins by product, what has to be true for the plan to hold. He is calm and sparing, gives one "
            "calculation in each message with its assumptions in the open, and corrects his own figures without fuss.",
        ),
        (
            "Beatriz Fonseca",
            "A lawyer who has written such contracts for both sides. She looks at the law: who owns what was made, "
            "what liabilities and permits there are, which right we would have if it goes wrong. She is precise and "
            "not alarmist, tells apart what can be mended by a clause from what cannot, and proposes the clause.",
        ),
        (
            "Ken Watanabe",
            "An engineer who has built products that shipped and one that never did. He looks at the technology: what "
            "works now, what is shown only in a demonstration, how hard it is for others to do the same, what the "
            "next step really needs. He is curious and fair, asks how it fails, and respects a limit that is named.",
        ),
        (
            "Nadia Volkov",
            "The sceptic, by office and by nature. She looks for the way in which all this comes to nothing: the one "
            "customer, the one person, the rate that does not stay, the story that is too smooth. She is courteous and "
            "relentless, states the strongest case against whatever the others begin to believe, and lets go when it "
            "has been answered and not before.",
        ),
    ],
}

MEDICAL = {
    "name": "Medical board",
    "retention_days": 365,
    "rule": "two_thirds",
    "options": [
        ("OPERATE", "for", "Recommend the operation now."),
        ("TREAT FIRST", "between", "Recommend treatment without an operation first, and say when to look again."),
        ("OBSERVE", "against", "Recommend to watch and do nothing invasive, and say what would change that."),
    ],
    "members": [
        (
            "Dr. Samuel Adeyemi",
            "An internist who sees the patient as a whole and over years. He looks at what else there is: other "
            "illnesses, kidneys and heart, what the findings may mean beside the obvious. He is thorough and mild, "
            "orders what is known by how sure it is, and always says which finding he would want before deciding.",
        ),
        (
            "Dr. Claire Fontaine",
            "A surgeon with long practice who has also learnt when not to operate. She looks at the operation: what "
            "it can reach, its risks at this age and in this state, what happens when it is put off. She is brisk and "
            "honest about her own results, speaks in likelihoods instead of courage, and hears an objection out.",
        ),
        (
            "Dr. Yusuf Demir",
            "A clinical pharmacist. He looks at medicines: doses, interactions, what was tried and for how long, "
            "whether a treatment failed or was never really given. He is exact and brief, names substance and dose, "
            "and points it out when two documents contradict each other about what the patient takes.",
        ),
        (
            "Marta Kowalska",
            "A head nurse who is at the bedside when the doctors have left. She looks at what comes after: pain, "
            "mobility, who cares for the patient at home, what the patient has said at night. She speaks simply and "
            "from observation, and asks of each plan who would carry it out and whether they can.",
        ),
        (
            "Dr. Ruth Feldman",
            "An ethicist and former general practitioner. She looks at the patient's will: what they understand, what "
            "they hope for and refuse, who speaks for them if they cannot, whether burden and benefit are in "
            "proportion. She asks gently and does not let go, and keeps apart what is best for the patient from what "
            "is easiest for the house.",
        ),
    ],
}

PHYSICIAN = (  # of the medical board, in person
    "Attending physician",
    "The physician who treats the patient, in person, and answers for what is done. They look at what stands in no "
    "document: how the patient came in, what was promised, what the last days were like. They ask the board what it "
    "does not know, and decide in the end with the patient: the board advises.",
)

DESIGN = {
    "name": "Design review",
    "retention_days": 365,
    "rule": "plurality",
    "options": [
        ("OPTION A", "for", "Build it as the first proposal has it."),
        ("OPTION B", "between", "Build it as the second proposal has it."),
        ("NEITHER", "against", "Build neither. Say what a third proposal would need."),
    ],
    "members": [
        (
            "Elin Sørensen",
            "An architect of systems who has had to live with her own designs. She looks at structure: what depends on "
            "what, which decision can be taken back, what the design makes easy that should be hard. She draws "
            "distinctions instead of boxes, argues from the changes that are likely next year, and prefers the plainer "
            "of two that do the job.",
        ),
        (
            "Marcus Boateng",
            "He operates what others design and is called when it stops. He looks at the day after: how it is "
            "deployed, watched, restored and upgraded, what breaks at three in the morning and who notices. He is dry "
            "and specific, tells of incidents by what was learnt, and asks for the number before he believes a load.",
        ),
        (
            "Priya Raman",
            "She joined last month and has to understand it. She looks at what a newcomer meets: names, documents, how "
            "long until a first change is safe, what one must simply know. She asks the question that the others no "
            "longer see, says without embarrassment what she has not understood, and takes a clear answer for one.",
        ),
        (
            "Jonas Weber",
            "He is paid to think of whoever means harm, and of accidents that look the same. He looks at security: "
            "what is trusted and why, what a lost key or a careless user would cost, which data lies where. He ranks "
            "dangers by likelihood and damage, proposes the smallest measure that helps, and does not call everything "
            "critical.",
        ),
    ],
}

POLICY = {
    "name": "Policy board",
    "retention_days": 365,
    "rule": "unanimous",
    "options": [
        ("ADOPT", "for", "Adopt the rule as it is written."),
        ("ADOPT WITH REVIEW", "between", "Adopt it for a time, and say when it is reviewed and by what measure."),
        ("REJECT", "against", "Do not adopt it."),
    ],
    "members": [
        (
            "Grace Mbeki",
            "She speaks for those to whom the rule will apply, above all for those who are not asked. She looks at "
            "what it does to a day, a household, a small firm; who can comply and who only seems to. She argues with "
            "people in mind and never in general, is warm and stubborn, and grants a burden that has a reason.",
        ),
        (
            "Henrik Aalto",
            "A lawyer of public law who has seen rules fall in court. He looks at the law: the power to make this "
            "rule, whether it is clear, equal and in proportion, what it contradicts. He is careful and fair to both "
            "sides, quotes the words of the draft, and offers a wording wherever he finds a fault.",
        ),
        (
            "Sofia Marchetti",
            "An economist who has kept a public budget. She looks at cost: for those who must comply, for those who "
            "must check, and for everybody in what is not done instead. She names ranges and not points, says what the "
            "estimate leaves out, and accepts that some things are worth more than they cost.",
        ),
        (
            "David Okello",
            "He has enforced rules in the street and at the desk. He looks at enforcement: how a breach is seen, by "
            "whom, with what proof, what follows, and what people will do to get around it. He is plain and calm, "
            "thinks a rule that nobody checks worse than none, and says which part of this one can be checked.",
        ),
    ],
}

PANELS = (HIRING, INVESTMENT, MEDICAL, DESIGN, POLICY)

CHAIN = "6d616769-0000-4000-8000-70616e656c73"
SETTINGS = ("rule", "timekeeper", "view", "most", "reply_within")
SWITCHES = ("reply", "call", "challenge", "first", "free_floor")


def create_panels(apps, schema_editor):
    seal(apps, CHAIN, [draft_of(change) for change in [found(apps, panel) for panel in PANELS]])


def found(apps, values):
    Panel, Version, Seat, Option, Change = (
        apps.get_model("debates", f"Panel{part}") for part in ("", "Version", "Seat", "Option", "Change")
    )
    kept = {"name": values["name"], "retention_days": values["retention_days"]}
    panel = Panel.objects.create(**kept)
    version = Version.objects.create(
        panel=panel, number=1, name=panel.name, rule=values["rule"], most=60, reply_within=24
    )
    for seat, (name, who) in enumerate(values["members"], 1):
        Seat.objects.create(version=version, seat=seat, name=name, who=who)
    for number, (word, direction, meaning) in enumerate(values["options"], 1):
        Option.objects.create(version=version, number=number, word=word, direction=direction, meaning=meaning)
    Panel.objects.filter(pk=panel.pk).update(current=version)
    return Change.objects.create(panel=panel, kind="founded", version=version, archived=False, locked=False, **kept)


def draft_of(change):
    facts = {"id": change.panel_id, "change": change.kind, "by": "", "owner": None, "owner_name": ""}
    facts |= {name: getattr(change, name) for name in ("name", "archived", "locked", "retention_days")}
    facts |= {"version": change.version.number, "holds": held(change.version)}
    return EntryDraft("panel", format_timestamp(change.made) or "", facts)


def create_advisory_board(apps, schema_editor):
    """Give the medical board its second version, which only advises and has a physician."""
    panels = apps.get_model("debates", "Panel").objects
    board = panels.filter(name=MEDICAL["name"], owner=None, current__number=1, archived=None, locked=None).first()
    if board is None or list(board.changes.values_list("kind", flat=True)) != ["founded"]:
        return
    version = second_version(apps, board)
    panels.filter(pk=board.pk).update(current=version)
    kept = {"name": board.name, "archived": False, "locked": False, "retention_days": board.retention_days}
    change = apps.get_model("debates", "PanelChange").objects.create(
        panel=board, kind="revised", version=version, **kept
    )
    facts = {"id": board.pk, "change": change.kind, "by": "", "owner": None, "owner_name": "", **kept}
    facts |= {"version": version.number, "holds": held(version, (*SWITCHES, "advisory"))}
    seal(apps, CHAIN, [EntryDraft("panel", format_timestamp(change.made) or "", facts)])


def second_version(apps, board):
    """As the first one is, but for what makes it advise and who sits there besides."""
    Version, Seat, Option = (apps.get_model("debates", f"Panel{part}") for part in ("Version", "Seat", "Option"))
    first = board.current
    kept = {name: getattr(first, name) for name in (*SETTINGS, *SWITCHES)}
    version = Version.objects.create(panel=board, number=2, name=board.name, **(kept | {"advisory": True}))
    for seat in first.seats.order_by("seat"):
        Seat.objects.create(version=version, **said(seat, ("seat", "name", "who", "model", "fallback", "person")))
    name, who = PHYSICIAN
    Seat.objects.create(version=version, seat=first.seats.count() + 1, name=name, who=who, person=True)
    for option in first.options.order_by("number"):
        Option.objects.create(version=version, **said(option, ("number", "word", "meaning", "direction")))
    return version


def held(version, switches=SWITCHES):
    """As `PanelVersion.held` says it."""
    seat, option = ("name", "who", "model", "fallback", "person"), ("word", "meaning", "direction")
    return {
        "options": [said(one, option) for one in version.options.order_by("number")],
        "members": [said(one, seat) for one in version.seats.order_by("seat")],
        **said(version, SETTINGS),
        "switches": said(version, switches),
    }


def said(row, names):
    return {name: getattr(row, name) for name in names}
