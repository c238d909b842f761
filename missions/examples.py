"""Example goals with their files and the scripts of their rehearsals, whose commands really run."""

from dataclasses import dataclass, field
from typing import Any

ScriptedStep = tuple[str, str, dict[str, Any]]
"""Reasoning, name of a tool, its arguments."""


@dataclass(frozen=True)
class MissionExample:
    """An example; a rehearsal recognises it by its goal.

    name: title of the mission
    acts: steps of the coordinator
    helped: steps of a helper after its first message
    result: text of the last step if nothing went wrong
    """

    key: str
    title: str
    name: str
    goal: str
    check: str
    files: tuple[tuple[str, str], ...]
    acts: tuple[ScriptedStep, ...]
    result: str
    crew: str = ""
    helped: tuple[ScriptedStep, ...] = field(default=())


# ---- a fault ----------------------------------------------------------------------------------------------------

TOTALS = '''\
"""Amounts of an invoice."""

from decimal import Decimal


def total(price, count):
    """What one line comes to, in whole cents."""
    return round(Decimal(price) * count, 2)
'''
TESTS = """\
import unittest
from decimal import Decimal

from totals import total


class Totals(unittest.TestCase):
    def test_whole_cents_stay_as_they_are(self):
        self.assertEqual(total("10.00", 3), Decimal("30.00"))

    def test_half_a_cent_is_rounded_up(self):
        self.assertEqual(total("10.005", 1), Decimal("10.01"))


if __name__ == "__main__":
    unittest.main()
"""
TESTED = "python3 -m unittest"
FAULT = MissionExample(
    "fault",
    "Correct a fault",
    "Half a cent is rounded up",
    "Invoices are a cent short: half a cent has to be rounded up. Find out why it is not, and correct it. "
    "All tests have to pass.",
    TESTED,
    (("totals.py", TOTALS), ("test_totals.py", TESTS)),
    (
        ("I run the tests first, to see what is wrong.", "run_command", {"command": TESTED}),
        ("One test fails: 10.00 and not 10.01. I read how totals are computed.", "read_file", {"path": "totals.py"}),
        (
            "round() rounds half to even, so half a cent is lost. I let quantize round it up.",
            "edit_file",
            {
                "path": "totals.py",
                "target_text": "    return round(Decimal(price) * count, 2)",
                "replacement_text": "    return (Decimal(price) * count).quantize(CENT, ROUND_HALF_UP)",
            },
        ),
        (
            "Both names have to be known there.",
            "edit_file",
            {
                "path": "totals.py",
                "target_text": "from decimal import Decimal\n",
                "replacement_text": 'from decimal import ROUND_HALF_UP, Decimal\n\nCENT = Decimal("0.01")\n',
            },
        ),
        ("The same tests again show whether it is right now.", "run_command", {"command": f"{TESTED} -v"}),
        ("What it was is worth remembering.", "remember", {"text": "round() rounds half to even: use quantize."}),
    ),
    "Totals were rounded half to even, for round() was used. They now round half a cent up, by quantize. Both tests "
    "pass. Invoices that were sent already are not corrected: somebody has to decide that.",
)

# ---- a table ----------------------------------------------------------------------------------------------------

SALES = """\
month,region,amount
2026-01,north,1200.50
2026-01,south,830.00
2026-02,north,990.25
2026-02,south,
2026-03,north,1410.00
2026-03,south,1020.75
"""
REPORT = """\
import csv
from collections import defaultdict
from decimal import Decimal

totals, missing = defaultdict(Decimal), []
for row in csv.DictReader(open("sales.csv")):
    if row["amount"]:
        totals[row["month"]] += Decimal(row["amount"])
    else:
        missing.append(f"{row['month']} {row['region']}")

with open("report.md", "w") as report:
    print("| month | amount |\\n| --- | ---: |", file=report)
    for month, amount in sorted(totals.items()):
        print(f"| {month} | {amount:,.2f} |", file=report)
    print(f"| **total** | **{sum(totals.values()):,.2f}** |", file=report)
    if missing:
        print(f"\\nNo amount was given for: {', '.join(missing)}.", file=report)
"""
FIRST = REPORT.replace(
    """    if row["amount"]:
        totals[row["month"]] += Decimal(row["amount"])
    else:
        missing.append(f"{row['month']} {row['region']}")
""",
    """    totals[row["month"]] += Decimal(row["amount"])
""",
)
COMPARED = 'python3 report.py && grep -F "5,451.50" report.md'
TABLE = MissionExample(
    "table",
    "Make a table of data",
    "Sales by month",
    "Add up sales.csv by month and write a table, report.md, with a total. Say which amounts are missing.",
    COMPARED,
    (("sales.csv", SALES),),
    (
        ("I look at the data before I compute anything.", "read_file", {"path": "sales.csv"}),
        ("A short script adds it up by month.", "write_to_file", {"path": "report.py", "content": FIRST}),
        ("I run it.", "run_command", {"command": "python3 report.py"}),
        (
            "One amount is empty, and the script fell over it. It is said in the report, and not taken for nothing.",
            "write_to_file",
            {"path": "report.py", "content": REPORT},
        ),
        ("Again, with the table at the end.", "run_command", {"command": "python3 report.py && cat report.md"}),
        ("That an amount may be empty is worth remembering.", "remember", {"text": "sales.csv may have no amount."}),
    ),
    "report.md has a row for each month and a total of 5,451.50. No amount is given for the south in February; it is "
    "named below the table and not guessed. report.py makes the table anew.",
)

# ---- a log ------------------------------------------------------------------------------------------------------

LOG = """\
08:00:01 INFO  payments: started, 4 workers
08:03:12 WARN  payments: bank answered after 9.1 s
08:03:44 ERROR payments: order 1041 refused, signature too old
08:05:02 ERROR payments: order 1044 refused, signature too old
08:06:30 INFO  clock: 212 s behind, corrected
08:07:10 INFO  payments: order 1047 accepted
08:09:55 WARN  payments: bank answered after 8.7 s
"""
RUNBOOK = """\
# When payments are refused

1. Count the errors by their reason.
2. "Signature too old" means that a clock is wrong: look for "clock:" in the log.
3. Ask before anything is sent again.
"""
NOTE = """\
# Payments, 08:00 to 08:10

- 2 orders were refused, both for a signature that was too old: 1041 and 1044.
- The clock was 212 s behind and was corrected at 08:06:30. None was refused since.
- To be sent again: 1041, 1044. Nobody has done that yet.
"""
COUNTS = "grep ERROR server.log | sed 's/.*refused, //' | sort | uniq -c"
LISTED = "grep -c ERROR server.log; grep -n 'clock:' server.log"
ASKS = 'read -p "How many minutes does the log cover? " m; echo "$m minutes, $(grep -c ERROR server.log) errors"'
NOTED = "grep -q 1041 note.md && grep -q 1044 note.md && echo 'both orders are named'"
OPERATED = MissionExample(
    "runbook",
    "Work by a runbook",
    "Refused orders, by the runbook",
    "Orders were refused this morning. Follow runbook.md with server.log, let a tester look at your numbers, and write "
    "note.md: what happened, why, and what somebody has to do.",
    NOTED,
    (("server.log", LOG), ("runbook.md", RUNBOOK)),
    (
        ("I read the runbook before I do anything.", "read_file", {"path": "runbook.md"}),
        ("Its first step: errors, counted by their reason.", "run_command", {"command": COUNTS}),
        (
            "Somebody else should count as well.",
            "send_message",
            {"recipient": "Tester", "message": "How many errors are there, and is there a line about a clock?"},
        ),
        ("I wait for its answer before I go on.", "wait", {}),
        (
            "A command asks how long the log is. I look at its first and last line, and answer.",
            "run_command",
            {"command": ASKS, "timeout": 8},
        ),
        ("From 08:00 to 08:10: ten minutes.", "send_command_input", {"command_id": "asks", "input": "10\n", "wait": 3}),
        ("I write down what is known, and what is not.", "write_to_file", {"path": "note.md", "content": NOTE}),
    ),
    "Two orders were refused because a clock was 212 s behind; it is right since 08:06:30. note.md says so and names "
    "the orders, 1041 and 1044. Nothing was sent again: the runbook says to ask first.",
    crew="Coordinator and helpers",
    helped=(
        ("I count myself, and look for the clock.", "run_command", {"command": LISTED}),
        (
            "What I found goes back to whoever asked.",
            "send_message",
            {"recipient": "Magi-01", "message": "2 errors. The clock was 212 s behind, corrected at 08:06:30."},
        ),
    ),
)

EXAMPLES = {one.key: one for one in (FAULT, TABLE, OPERATED)}


# ---- all other goals --------------------------------------------------------------------------------------------

FAULTY = "def total(numbers):\n    return sum(numbers[1:])\n\n\nassert total([1, 2, 3]) == 6, total([1, 2, 3])\n"
SHOWS = "python3 total.py && echo passed"
OTHERWISE = MissionExample(
    "otherwise",
    "",
    "",
    "",
    SHOWS,
    (),
    (
        (
            "A small program that adds numbers, with an example that it has to pass.",
            "write_to_file",
            {"path": "total.py", "content": FAULTY},
        ),
        ("I run it to see whether its example passes.", "run_command", {"command": "python3 total.py"}),
        (
            "The first number is left out: that is the fault.",
            "edit_file",
            {"path": "total.py", "target_text": "sum(numbers[1:])", "replacement_text": "sum(numbers)"},
        ),
        ("The same command again shows whether it is right now.", "run_command", {"command": SHOWS}),
        ("What it was is worth remembering.", "remember", {"text": "The sum left out the first number."}),
    ),
    "No model worked on this goal: a stated script wrote a small program, ran it and corrected it.",
)
