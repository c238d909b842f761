"""A week in which plans wait, in minutes: engines and site are restarted again and again, each time at a later hour.

    python -m tests.load.plan_week --database postgres --restarts 20

Three runs wait: one that nobody answers, one that is approved on the sixth day, and one whose time is over after two.
Who is asked is reminded after 1, 3 and 7 days, once each, by one letter a day; time closes what it closes once; what is
decided goes on; texts, chains and budgets are as they were.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.request import Request, urlopen

from tests import moved_clock
from tests.acceptance.site import EngineProcess, ServedSite, manage
from tests.stage import DATABASES, Stage, stage

HOURS = 7.5 * 24
SIXTH_DAY = 6 * 24 - 1
PATIENCE = 90.0
REMINDED = 5.0  # seconds after the site is up by which its engine has reminded
EXPIRES = 48  # hours
TASK = "Add a task “Order a laptop” with tasks.add."
QUESTION = "A xylophone is an instrument."  # without a question mark it is doubted


class Week:
    def __init__(self, made: Stage, restarts: int) -> None:
        self.stage, self.restarts, self.step = made, restarts, HOURS / restarts
        self.wrong: list[str] = []
        self.decided_at: float | None = None

    def expect(self, sentence: str, found: Any, wanted: Any) -> None:
        print(f"{'ok   ' if found == wanted else 'WRONG'}  {sentence}: {found}", flush=True)
        if found != wanted:
            self.wrong.append(f"{sentence}: {found}, not {wanted}")

    # ---- what waits ---------------------------------------------------------------------------------------

    def begin(self) -> None:
        from django.contrib.auth.models import User

        from engine.models import GateRule, Run

        self.root = User.objects.create_superuser("root", email="root@example.org")
        GateRule.objects.create(procedure="check", hours=EXPIRES, expiry="reject")
        self.kept, self.decided = self.plan("Nobody answers"), self.plan("On the sixth day")
        done = manage("checkup", QUESTION, "--no-wait", env=self.stage.env)
        self.ended = Run.objects.get(pk=done.stdout.strip()).pk

    def plan(self, title: str) -> Any:
        from plans.models import Team
        from plans.procedure import submit

        team = Team.objects.with_content().get(name="Office").current
        return submit(owner=self.root, task=TASK, team=team, title=title).pk

    def gate(self, run: Any) -> Any:
        from engine.models import Gate

        return Gate.objects.with_decisions().filter(run=run).order_by("pk").first()

    # ---- a while of the week ------------------------------------------------------------------------------

    def play(self) -> list[str]:
        self.begin()
        for number in range(self.restarts + 1):
            self.pass_a_while(number)
        self.look_back()
        return self.wrong

    def pass_a_while(self, number: int) -> None:
        """Site and engine start at this hour, do what is due, and end; every other engine is killed."""
        hours = number * self.step
        moved_clock.move(hours)
        env = self.stage.env | {moved_clock.AHEAD: str(hours)}
        named = {name: value for name, value in env.items() if name not in ("PATH", "HOME", "LANG", "MAGI_DATA_DIR")}
        with (
            ServedSite(self.stage.folder, **named) as site,
            EngineProcess(env, self.stage.folder / "engine.log") as engine,
        ):
            began = time.monotonic()
            self.until(self.nothing_is_due, f"hour {hours:.0f} is over")
            if hours >= SIXTH_DAY and self.decided_at is None:
                self.decide(hours)
            self.read(site)
            time.sleep(max(0.0, began + REMINDED - time.monotonic()))
            self.look(hours)
            if number % 2 == 0:
                engine.stop()

    def until(self, reached: Callable[[], Any], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not reached():
            if time.monotonic() > end:
                sys.exit(f"It did not come to this: {what}")
            time.sleep(0.1)

    def nothing_is_due(self) -> bool:
        from django.utils import timezone

        from engine.models import Gate, Run

        late = Gate.objects.pending().filter(expires__lte=timezone.now())
        return not (Run.objects.filter(status__in=("queued", "running")).exists() or late.exists())

    def decide(self, hours: float) -> None:
        from engine.models import Run
        from runs import run_actions

        gate = self.gate(self.decided)
        run_actions.decide(gate.pk, self.root, "approve", choice="all", digest=gate.digest)
        self.decided_at = hours
        self.until(lambda: Run.objects.get(pk=self.decided).is_ended, "what was approved is done")

    def read(self, site: ServedSite) -> None:
        """What its page says to who is asked."""
        gate = self.gate(self.kept)
        cookie = f"sessionid={site.visitor_session}"
        request = Request(f"{site.url}/gates/{gate.pk}/", headers={"Cookie": cookie})
        with urlopen(request, timeout=60) as page:
            if gate.digest not in page.read().decode():
                self.wrong.append("the page of what waits shows another text")

    def look(self, hours: float) -> None:
        from engine.models import Run
        from engine.models.budgets import Budget

        self.texts = getattr(self, "texts", None) or self.all_texts()
        if self.texts != self.all_texts():
            self.wrong.append(f"texts have changed by hour {hours:.0f}")
        held = [*Run.objects.filter(status="waiting").values_list("reserved", flat=True)]
        held += Budget.objects.values_list("reserved", flat=True)
        if any(held):
            self.wrong.append(f"money is held at hour {hours:.0f}: {held}")
        print(f"hour {hours:5.1f}: {', '.join(self.told())}", flush=True)

    def all_texts(self) -> list[str]:
        return [self.gate(run).digest for run in (self.kept, self.decided, self.ended)]

    def told(self) -> Iterator[str]:
        for name in ("kept", "decided", "ended"):
            gate = self.gate(getattr(self, name))
            days = list(gate.reminders.values_list("days", flat=True))
            yield f"{name} {gate.state} {days or ''}".strip()

    # ---- what came of it ----------------------------------------------------------------------------------

    def look_back(self) -> None:
        from engine.audit.full_verification import verify_all
        from engine.models import Letter, Notice, Run

        self.expect("reminders of what nobody answers", self.reminders(self.kept), [1, 3, 7])
        self.expect("of what was decided on the sixth day", self.reminders(self.decided), [1, 3])
        self.expect("and of what ended after two", self.reminders(self.ended), [1])
        self.expect("decided and done", Run.objects.get(pk=self.decided).outcome, "done")
        ends = [(one.decision, one.by) for one in self.gate(self.ended).decisions.all()]
        self.expect("closed by time, once", ends, [("reject", "")])
        self.expect("and gone on", Run.objects.get(pk=self.ended).outcome, "withdrawn")
        self.expect("letters", Notice.objects.count(), 3)
        self.expect("letters that left", Letter.objects.filter(state__in=("sent", "uncertain")).count(), 0)
        self.expect("faults of the record", [str(one) for one in verify_all().faults], [])

    def reminders(self, run: Any) -> list[int]:
        """After which days; each in the first hours that somebody could remind in."""
        gate = self.gate(run)
        for one in gate.reminders.all():
            late = one.made - gate.made - timedelta(days=one.days)
            if not timedelta(0) <= late <= timedelta(hours=self.step + 1):
                self.wrong.append(f"the reminder of day {one.days} came {late} later")
        return [one.days for one in gate.reminders.all()]


def main(database: str, restarts: int) -> int:
    began = time.monotonic()
    with stage(database, DJANGO_SETTINGS_MODULE="tests.moved_settings", EMAIL_URL="smtp://127.0.0.1:1") as made:
        wrong = Week(made, restarts).play()
    print(f"A week with {restarts} restarts on {database} in {time.monotonic() - began:.0f} s")
    for sentence in wrong:
        print(f"WRONG: {sentence}")
    return bool(wrong)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Let plans wait for a week.")
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    options = parser.parse_args()
    sys.exit(main(options.database, options.restarts))
