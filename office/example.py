"""The example office: rows to try tools with, marked as examples, so that they can be removed together."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from .models import CalendarEntry, Item, OfficeDocument, Person, Request, Task

MAIL_DOMAIN = "office.example"
EXAMPLE_MODELS = (Request, CalendarEntry, Task, OfficeDocument, Item, Person)
WORKDAYS = 10
SATURDAY = 5

# name, role, unit, manager
PEOPLE = (
    ("Karin Lindqvist", "Head of the house", "Management", ""),
    ("Tomás Ferreira", "People partner", "People", "Karin Lindqvist"),
    ("Aiko Mori", "Recruiter", "People", "Tomás Ferreira"),
    ("Samuel Okafor", "Head of purchasing", "Procurement", "Karin Lindqvist"),
    ("Lucie Marchand", "Buyer", "Procurement", "Samuel Okafor"),
    ("Emil Novak", "Stock keeper", "Procurement", "Samuel Okafor"),
    ("Priya Raman", "Head of product", "Product", "Karin Lindqvist"),
    ("Jonas Weber", "Analyst", "Product", "Priya Raman"),
    ("Maya Cohen", "Head of marketing", "Marketing", "Karin Lindqvist"),
    ("Dario Conti", "Writer", "Marketing", "Maya Cohen"),
    ("Ingrid Dahl", "Service desk", "Tech support", "Karin Lindqvist"),
    ("Owen Price", "Lawyer", "Legal", "Karin Lindqvist"),
)
# title, assignee, days until it is due
TASKS = (
    ("Agree on the budget of the quarter", "Karin Lindqvist", 6),
    ("Answer the works council", "Karin Lindqvist", 3),
    ("Prepare the meeting of the house", "Karin Lindqvist", 10),
    ("Write the induction plan for new starters", "Tomás Ferreira", 4),
    ("Review parental leave rules", "Tomás Ferreira", 14),
    ("Plan the first aid course", "Tomás Ferreira", 9),
    ("Invite three candidates for the analyst post", "Aiko Mori", 2),
    ("Update the job page", "Aiko Mori", 7),
    ("Call back the agency", "Aiko Mori", 1),
    ("Compare offers for meeting chairs", "Samuel Okafor", 8),
    ("Renew the cleaning contract", "Samuel Okafor", 20),
    ("Check invoices of the last month", "Lucie Marchand", 2),
    ("Order paper and toner", "Lucie Marchand", 3),
    ("Ask for prices of standing desks", "Lucie Marchand", 5),
    ("Count the stock of laptops", "Emil Novak", 1),
    ("Label the shelves in the basement", "Emil Novak", 12),
    ("Send broken phones to repair", "Emil Novak", 4),
    ("Decide on the roadmap of the spring", "Priya Raman", 11),
    ("Read the customers' letters of the month", "Priya Raman", 6),
    ("Work out why returns have risen", "Jonas Weber", 5),
    ("Draw the chart of satisfaction", "Jonas Weber", 3),
    ("Clean the table of orders", "Jonas Weber", 8),
    ("Plan the campaign of the spring", "Maya Cohen", 9),
    ("Choose a photographer", "Maya Cohen", 13),
    ("Draft the press release on the new office", "Dario Conti", 2),
    ("Proofread the brochure", "Dario Conti", 4),
    ("Set up the laptop of the next starter", "Ingrid Dahl", 3),
    ("Replace the printer on the second floor", "Ingrid Dahl", 7),
    ("Check the terms of the new supplier", "Owen Price", 5),
    ("Update the privacy notice", "Owen Price", 15),
)
DOCUMENTS = {
    "Induction of new starters": "On the first day: badge, laptop, house tour and a mentor.\nIn the first week: a talk "
    "with the head of the unit, the safety lesson and the data protection lesson.\nAfter a month: a talk about how it "
    "goes, with the people partner.",
    "Travel rules": "Trains before planes below 700 km. Second class, first where the trip is over four hours.\nHotels "
    "up to 140 EUR a night. Who books later than a week before says why.",
    "Purchasing rules": "Up to 250 EUR the head of a unit decides. Up to 5,000 EUR two offers are compared. Above that "
    "the head of the house signs, with three offers.",
    "Press release, how we write": "One page, the news in the first sentence, one quotation, no superlatives, a person "
    "to call at the end.",
    "Satisfaction of customers, last year": "412 answers. Content: 71%. Waited too long for an answer: 18%. Delivery "
    "late: 9%. Asked for most: answers on the same day.",
    "Safety in the house": "Ways out are marked in green. Extinguishers stand at every stair. In a fire nobody takes "
    "the lift; we meet in the yard.",
    "Contract with the cleaning firm": "Five days a week from 18 to 20. Notice: three months to the end of a quarter. "
    "Price: 1,480 EUR a month.",
    "Minutes of the last meeting of the house": "The new office opens in the spring. Units move in this order: tech "
    "support, product, the rest. Everybody wants better chairs.",
}
# name, kind, number, price, place
ITEMS = (
    ("Laptop 14", "Computer", 9, "1180.00", "Basement 1"),
    ("Laptop 16", "Computer", 4, "1560.00", "Basement 1"),
    ("Monitor 27", "Computer", 17, "219.00", "Basement 1"),
    ("Docking station", "Computer", 12, "164.50", "Basement 1"),
    ("Headset", "Computer", 31, "79.90", "Basement 1"),
    ("Phone", "Phone", 6, "449.00", "Basement 2"),
    ("Desk lamp", "Furniture", 8, "54.00", "Basement 2"),
    ("Office chair", "Furniture", 5, "312.00", "Basement 2"),
    ("Standing desk", "Furniture", 2, "598.00", "Basement 2"),
    ("Whiteboard", "Furniture", 3, "139.00", "Basement 2"),
    ("Printer paper", "Supplies", 140, "4.20", "Second floor"),
    ("Toner black", "Supplies", 11, "88.00", "Second floor"),
    ("Notebook", "Supplies", 85, "2.40", "Second floor"),
    ("First aid kit", "Safety", 7, "36.50", "Reception"),
    ("Visitor badge", "Safety", 50, "1.10", "Reception"),
)
# title, day of the week (None: every day), hour, minutes, place, people
MEETINGS = (
    ("Morning round of the desk", None, 9, 15, "Desk", ("Ingrid Dahl", "Emil Novak")),
    ("Heads of units", 0, 10, 60, "Large room", ("Karin Lindqvist", "Samuel Okafor", "Priya Raman", "Maya Cohen")),
    ("Talks with candidates", 1, 13, 120, "Small room", ("Aiko Mori", "Tomás Ferreira")),
    ("Offers and orders", 2, 14, 60, "Small room", ("Samuel Okafor", "Lucie Marchand")),
    ("Roadmap", 3, 11, 90, "Large room", ("Priya Raman", "Jonas Weber")),
    ("Words of the week", 4, 10, 45, "Small room", ("Maya Cohen", "Dario Conti", "Owen Price")),
)


@transaction.atomic
def is_wanted() -> bool:
    """Tell whether there are no people: then tools find nothing, and pages offer to load the example."""
    return not Person.objects.exists()


def load() -> dict[str, int]:
    """Create the example rows, unless they exist; return their numbers by kind. A lock makes concurrent calls safe."""
    CalendarEntry.objects.lock()
    if not Person.objects.filter(example=True).exists():
        people = _people()
        today = timezone.now().date()
        for title, whose, days in TASKS:
            due = today + timedelta(days=days)
            Task.objects.create(title=title, assignee=people[whose], due=due, example=True)
        _calendar(people, today)
        _things()
    return {str(kind._meta.verbose_name_plural): kind.objects.filter(example=True).count() for kind in EXAMPLE_MODELS}


@transaction.atomic
def remove() -> int:
    """Delete the example rows and no others; return their number."""
    return sum(kind.objects.filter(example=True).delete()[1].get(kind._meta.label, 0) for kind in EXAMPLE_MODELS)


def _people() -> dict[str, Person]:
    people: dict[str, Person] = {}
    for number, (name, role, unit, led_by) in enumerate(PEOPLE):
        mail = f"{name.split()[0].lower().encode('ascii', 'ignore').decode()}@{MAIL_DOMAIN}"
        start = date(2017 + number % 7, 1 + number, 1)
        given = {"name": name, "mail": mail, "role": role, "unit": unit, "start": start}
        people[name] = Person.objects.create(manager=people.get(led_by), example=True, **given)
    return people


def _calendar(people: dict[str, Person], today: date) -> None:
    days = [day for day in (today + timedelta(days=ahead) for ahead in range(2 * WORKDAYS)) if day.weekday() < SATURDAY]
    for day in days[:WORKDAYS]:
        for title, weekday, hour, minutes, place, names in MEETINGS:
            if weekday in (None, day.weekday()):
                start = datetime.combine(day, time(hour), UTC)
                end = start + timedelta(minutes=minutes)
                entry = CalendarEntry.objects.create(title=title, start=start, end=end, place=place, example=True)
                entry.people.set([people[name] for name in names])


def _things() -> None:
    for name, text in DOCUMENTS.items():
        OfficeDocument.objects.create(name=name, text=text, example=True)
    for name, kind, number, price, place in ITEMS:
        Item.objects.create(name=name, kind=kind, number=number, price=Decimal(price), place=place, example=True)
