"""All routes and sockets, walked by everybody: who may, who is refused and how, and that nothing leaks.

Who may is declared in `tests/routes.py`; who everybody is stands in `tests/everybody.py`.
"""

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.http.response import HttpResponse, HttpResponseBase
from django.urls import URLResolver, get_resolver, path

from engine.models import Review
from judgements.models import Judgement
from magi_site import urls
from magi_site.asgi import application
from runs.record.replay import FRAMES_FORMAT
from runs.sharing.grants import grant_access, revoke_access
from runs.urls import websocket_urlpatterns
from tests.conftest import EVERYTHING
from tests.everybody import (
    ASKED_IN_ADMIN,
    CANARY,
    HELD_IN_ADMIN,
    PLANNED_IN_ADMIN,
    RUNS_IN_ADMIN,
    SOUGHT,
    WORKED_IN_ADMIN,
    EverybodyCast,
)
from tests.everybody import cast as cast
from tests.routes import PEOPLE, ROUTES, SOCKETS
from tests.routes import SEE as SEEN

FOR_WHO_MAY_HAND_IT_OUT = ("record-file", "replay-file", "evidence", "share", "end-its-badge", "take-back", "-record")
BLIND = ("nobody", "disabled", "stranger", "staff")


def outside(address: str) -> tuple[str, ...]:
    """Who may not see the owner's, and comes nearest to what is there."""
    return BLIND if EVERYTHING else ("staff",) if "admin" in address else ("stranger",)


def short(status: int) -> Callable[..., HttpResponse]:
    return lambda request, exception: HttpResponse(str(status), status=status)


@pytest.fixture
def short_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages that refuse are the same for all; to make them is most of what it takes to refuse."""
    for status in (403, 404):
        monkeypatch.setattr(urls, f"handler{status}", short(status), raising=False)


# ---- the routes ---------------------------------------------------------------------------------------------


def routes(patterns: Any, prefix: str = "", space: str = "") -> Iterator[tuple[str, str, Any]]:
    """The name of every route, or its pattern where it has none, and its namespace's name before it; its pattern; its
    view."""
    for one in patterns:
        whole = f"{prefix}{one.pattern}"
        if isinstance(one, URLResolver):
            yield from routes(one.url_patterns, whole, f"{space}{one.namespace}:" if one.namespace else space)
        else:
            yield f"{space}{one.name}" if one.name else whole, whole, one.callback


def address_of(pattern: str, cast: EverybodyCast, pk: UUID | None = None) -> str:
    """The route's address, with what is the owner's in it; `pk`: another judgement."""
    judgement, debate, plan = (pk or one.pk for one in (cast.judgement, cast.debate, cast.plan))
    inquiry, mission = pk or cast.inquiry.pk, pk or cast.mission.pk
    by_table = {HELD_IN_ADMIN: debate, PLANNED_IN_ADMIN: plan, ASKED_IN_ADMIN: inquiry, WORKED_IN_ADMIN: mission}
    by_table |= dict.fromkeys(RUNS_IN_ADMIN, judgement)
    of_kinds = {"debates": debate, "plans": plan, "inquiries": inquiry, "missions": mission}
    rows = cast.rows
    table = next((t for t in rows if f"/{t}/" in f"/{pattern}"), "")
    put = {
        "object_id": by_table.get(table) or rows.get(table, 1),
        "id": _in_the_api(pattern, cast, of_kinds, judgement) if pattern.startswith("api/") else rows["auth/user"],
        "pk": (cast.folders | of_kinds).get(pattern.partition("/<")[0], judgement),
        "plan_id": plan,
        "name": cast.council.name if "/councils/" in pattern else cast.plan.team_version.name,
        "session_id": "posts",
        "number": 1,
        "format": "csv",
        "token": "guessed",
        "secret": "guessed",
        "commit": "0" * 40,
        "link": 1,
        "badge": 1,
        "given": 1,
        "waiting": 7,
        "running": 2,
        "content_type_id": ContentType.objects.get_for_model(Judgement).pk,
        "app_label": "judgements",
        "url": "nothing",
    }
    if "content_type_id" in pattern:
        put["object_id"] = judgement
    plain = re.sub(r"\(\?P<(\w+)>.*?\)(?=/|\$)", r"<\1>", pattern).replace("^", "").replace("$", "")
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: str(put[found[1]]), plain)


def _in_the_api(pattern: str, cast: EverybodyCast, of_kinds: dict[str, UUID], judgement: UUID) -> Any:
    if "/webhooks/" in pattern:
        return cast.folders["library/webhooks"]
    by_folder = {"/gates/": cast.folders["gates"], **{f"/{folder}/": pk for folder, pk in of_kinds.items()}}
    return next((pk for folder, pk in by_folder.items() if folder in pattern), judgement)


def ask(cast: EverybodyCast, who: str, method: str, address: str, **more: Any) -> tuple[str, str]:
    """The sign of the answer, and its whole text. What it changes is undone."""
    client = cast.client
    client.cookies.clear()
    if address.startswith(("/api/", "/v1/", "/mcp")):
        more = {"content_type": "application/json"} | more if method == "POST" else more
        more["headers"] = {"Authorization": f"Bearer {cast.tokens.get(who, '')}"} | more.get("headers", {})
    elif who in cast.sessions:
        client.cookies[settings.SESSION_COOKIE_NAME] = cast.sessions[who]
    with transaction.atomic():
        answer = getattr(client, method.lower())(address, **more)
        # a stream begins only where somebody may
        text = "" if answer.streaming else answer.content.decode(errors="replace")
        if answer.streaming:  # any other is closed by now, and once more would be a new connection for each request
            answer.close()
        answer.headers.pop("Expires", None)  # of pages that nobody keeps: the present second
        transaction.set_rollback(True)
    return sign_of(answer), f"{answer.headers}{text}"


def sign_of(answer: HttpResponseBase) -> str:
    signs = {401: "l", 403: "f", 404: "n", 405: "-"}
    if answer.status_code in (301, 302):
        return "l" if re.match(r"(/accounts|/admin)/login/", answer["Location"]) else "o"
    if answer.status_code >= 500:
        return "!"
    return signs.get(answer.status_code, "o")


def routes_of_all() -> dict[str, str]:
    return {name: pattern for name, pattern, _ in routes(get_resolver().url_patterns)}


@functools.cache
def repeated() -> frozenset[str]:
    """Routes to the same view of `runs` as one before them, and declared alike: the same lines ask for the right, of
    another kind. By day those who may least are met there; everybody is met at the first."""
    views = {name: inspect.unwrap(view) for name, _, view in routes(get_resolver().url_patterns)}
    in_runs = {name: view for name, view in views.items() if view.__module__.startswith("runs.") and name in ROUTES}
    shared = {name: (view.__module__, view.__qualname__, ROUTES[name]) for name, view in in_runs.items()}
    first = {view: name for name, view in reversed(shared.items())}
    return frozenset() if EVERYTHING else frozenset(shared.keys() - first.values())


def test_every_route_is_declared() -> None:
    assert sorted(routes_of_all().keys() ^ ROUTES.keys()) == []


def test_a_route_that_nobody_declared_is_found() -> None:
    found = routes([path("new/", lambda request: None, name="brand-new")])
    assert {name for name, _, _ in found} - ROUTES.keys() == {"brand-new"}


@pytest.mark.usefixtures("short_refusals")
def test_everybody_meets_what_is_declared_and_nothing_leaks(cast: EverybodyCast) -> None:
    wrong, leaks = {}, []
    for name, pattern in routes_of_all().items():
        address = address_of(pattern, cast)
        for method, declared in zip(("GET", "POST"), ROUTES.get(name, ("", "")), strict=True):
            asked = PEOPLE if EVERYTHING else standing_for_all(method, declared)
            asked = asked if name not in repeated() else {"nobody", "staff" if "admin" in name else "stranger"}
            answers = {who: ask(cast, who, method, address) for who in asked}
            met = {who: sign for who, (sign, _) in answers.items()}
            if met != {who: sign for who, sign in zip(PEOPLE, declared, strict=False) if who in met}:
                wrong[f"{method} {name}"] = "".join(met.values())
            leaks += [f"{method} {name} to {who}" for who, (_, text) in answers.items() if tells(who, text)]
    assert not leaks
    assert wrong == {}, "\n".join(f"{k} {v}" for k, v in wrong.items())


def standing_for_all(method: str, declared: str) -> set[str]:
    """Of those who may the least, of those who meet the same refusal the one with most rights; and who only looks."""
    by_sign = dict(zip(declared, PEOPLE, strict=False))  # the last of each sign
    by_sign |= dict(reversed([(sign, who) for sign, who in zip(declared, PEOPLE, strict=False) if sign == "o"]))
    return {"nobody", "disabled", *by_sign.values(), *(["stranger"] if method == "GET" else [])}


def tells(who: str, text: str) -> bool:
    """Whether somebody who may not see the private judgement is told something of it."""
    return who in BLIND and CANARY.lower() in text.lower()


# ---- by other ways ------------------------------------------------------------------------------------------

OF_A_JUDGEMENT = [name for name, signs in ROUTES.items() if {"n", "o"} <= set("".join(signs)) and "admin" not in name]

OF_A_RUN_IN_ADMIN = [name for name in ROUTES if name.startswith(("admin:judgements_judgement_", "admin:engine_run_"))]


@pytest.mark.usefixtures("short_refusals")
def test_others_judgements_are_answered_as_those_that_are_not_there(cast: EverybodyCast) -> None:
    there, nowhere = cast.judgement.pk, uuid4()
    patterns, differ = routes_of_all(), []
    for name in {*OF_A_JUDGEMENT, *OF_A_RUN_IN_ADMIN} - repeated():
        for who in outside(name)[-2:]:
            for method in ("GET", "POST"):
                one = ask(cast, who, method, address_of(patterns[name], cast))
                other = ask(cast, who, method, address_of(patterns[name], cast, nowhere))
                if one != (other[0], other[1].replace(str(nowhere), str(there))):
                    differ.append(f"{method} {name} to {who}")
    assert differ == []


def test_the_page_of_what_is_not_there_is_the_same_for_what_is_anothers(cast: EverybodyCast) -> None:
    there, nowhere = cast.judgement.pk, uuid4()
    for before, after in (("judgements/", "/"), ("admin/judgements/judgement/", "/change/"), ("api/v1/runs/", "")):
        one, other = (ask(cast, "stranger", "GET", f"/{before}{pk}{after}") for pk in (there, nowhere))
        assert one == (other[0], other[1].replace(str(nowhere), str(there)))


@pytest.mark.usefixtures("short_refusals")
def test_who_was_given_the_judgement_sees_that_and_nothing_else(cast: EverybodyCast) -> None:
    """What strangers are told is not there, once more as a stranger who was given one of it."""
    given, wrong = grant_access(cast.judgement.run, cast.users["owner"], "stranger"), []
    its_own = (str(cast.judgement.pk), f"gates/{cast.folders['gates']}", "library/outbox/")
    patterns = routes_of_all()
    for name in OF_A_JUDGEMENT:
        address = address_of(patterns[name], cast)
        for method, declared in zip(("GET", "POST"), ROUTES[name], strict=True):
            sign, _ = ask(cast, "stranger", method, address)
            here = declared[2] == "n" and any(one in address for one in its_own)
            seeing = declared == SEEN and not name.endswith(FOR_WHO_MAY_HAND_IT_OUT)
            allowed = ("o" if seeing else "nf") if here else declared[2]
            wrong += [] if sign in allowed else [f"{method} {name} {sign}"]
    assert wrong == []
    revoke_access(given, cast.users["owner"])
    assert ask(cast, "stranger", "GET", f"/judgements/{cast.judgement.pk}/")[0] == "n"


@pytest.mark.usefixtures("short_refusals")
def test_no_other_method_and_no_other_form_tells_anything(cast: EverybodyCast) -> None:
    pk, revision = cast.judgement.pk, cast.judgement.run.revision
    patterns = routes_of_all()
    names, methods = set(OF_A_JUDGEMENT) - repeated(), ("HEAD", "OPTIONS", "PUT", "DELETE")
    asked = [(method, address_of(patterns[name], cast)) for name in names for method in methods]
    asked += [("GET", address) for address in ways_around(pk, revision, cast.council.pk)]
    leaks = [
        f"{m} {address} to {who}"
        for m, address in asked
        for who in outside(address)
        if tells(who, ask(cast, who, m, address)[1])
    ]
    assert leaks == []


def ways_around(pk: UUID, revision: int, council: int) -> list[str]:
    """Addresses that anybody may ask for, and that could say something of a judgement all the same."""
    return [
        *(f"/judgements/{more}" for more in (f"?q={SOUGHT}", f"?before={pk}", f"?after={pk}", f"?q={str(pk)[:8]}")),
        *(f"/runs/compare/?{more}" for more in (f"a={pk}&b={pk}", f"run={pk}&run={pk}")),
        *(f"/{page}?{more}" for page in ("library/badges/", "waiting/") for more in (f"of=run:{pk}", f"run={pk}")),
        *(f"/judgements/export.{kind}?q={SOUGHT}" for kind in ("csv", "jsonl", "evidence.jsonl", "html")),
        *(f"/judgements/changes/?row={pk}.0{more}" for more in ("", f"&newest={pk}", "&newest=")),
        *(f"/?again={pk}", f"/?council={council}", f"/councils/new/?from={council}"),
        *(f"/councils/{council}/", f"/councils/{council}/versions/1/", "/councils/"),
        *(f"/api/v1/judgements?{more}" for more in (f"q={SOUGHT}", f"cursor={pk}", "status=approved", "council=Magi")),
        *(
            f"/api/v1/{which}/{pk}{more}"
            for which in ("judgements", "runs", "checks")
            for more in ("?wait=0.1", "/events")
        ),
        *(f"/api/v1/runs?{more}" for more in (f"cursor={pk}", "kind=judgement", "kind=check")),
        *(
            f"/admin/{table}/?{more}"
            for table in RUNS_IN_ADMIN
            for more in (f"q={SOUGHT}", "person=1", f"before={pk}", f"_changelist_filters=q={SOUGHT}", "kind=judgement")
        ),
        f"/admin/autocomplete/?app_label=judgements&model_name=review&field_name=judgement&term={SOUGHT}",
    ]


def test_what_one_has_already_is_not_confirmed_to_a_stranger(cast: EverybodyCast) -> None:
    pk, revision = cast.judgement.pk, cast.judgement.run.revision
    known = {"If-None-Match": f'"{revision}", "{revision}.{FRAMES_FORMAT}", *', "Last-Event-ID": str(revision)}
    for address in (
        f"/judgements/{pk}/fragments/",
        f"/judgements/{pk}/replay/frames/",
        f"/api/v1/judgements/{pk}/events",
        f"/api/v1/runs/{pk}/events",
    ):
        assert [ask(cast, who, "GET", address, headers=known)[0] for who in ("stranger", "staff", "owner")] == list(
            "nno"
        )


def test_a_post_that_names_a_private_judgement_tells_nothing(cast: EverybodyCast) -> None:
    pk = str(cast.judgement.pk)
    asked: list[tuple[str, dict[str, str]]] = [("/", {"again": pk}), ("/councils/new/", {"again": pk, "back": ""})]
    chosen = {"_selected_action": pk, "index": "0"}
    for action in ("cancel", "retry", "export_table", "export_lines", "export_evidence", "print_records"):
        chosen["action"] = action
        asked += [(f"/admin/{table}/", chosen | {"select_across": n}) for n in "01" for table in RUNS_IN_ADMIN]
    asked += [(f"/admin/{table}/{pk}/review/", {"what": "note", "text": "x"}) for table in RUNS_IN_ADMIN]
    for address, data in asked:
        for who in outside(address):
            sign, text = ask(cast, who, "POST", address, data=data)
            assert not tells(who, text), (address, who)
            assert sign in "lf" or "admin" not in address
    assert Review.objects.count() == 1


# ---- sockets ------------------------------------------------------------------------------------------------


def test_every_socket_is_declared() -> None:
    assert {str(one.pattern) for one in websocket_urlpatterns} == SOCKETS.keys()


async def test_everybody_meets_what_is_declared_at_sockets(cast: EverybodyCast) -> None:
    for pattern, declared in SOCKETS.items():
        for pk in (cast.judgement.pk, uuid4()):
            there = pk == cast.judgement.pk or "<" not in pattern
            expected = declared if there else declared.replace("o", "n")
            address = "/" + pattern.replace("<uuid:pk>", str(pk))
            for who, sign in zip(PEOPLE, expected, strict=True):
                # nobody, too, is only told that there is no such judgement
                assert await knock(cast, who, address) == ("o" if sign == "o" else "n"), (who, address)


async def knock(cast: EverybodyCast, who: str, address: str, origin: bytes = b"http://localhost") -> str:
    """The sign of what a socket does with somebody; whatever it says to those who may not see is looked through."""
    cookie = f"{settings.SESSION_COOKIE_NAME}={cast.sessions.get(who, '')}".encode()
    headers = [(b"host", b"localhost"), (b"origin", origin), (b"cookie", cookie)]
    socket = WebsocketCommunicator(application, address, headers=headers)
    connected, code = await socket.connect(timeout=10)
    if connected:
        # a page that asks at once gets all there is; that of what waits is told of what is new alone
        first = CANARY if address.endswith("waiting/") else await socket.receive_from(timeout=10)
        assert CANARY in first
        await socket.disconnect()
    return "o" if connected else {4404: "n"}.get(code, "f")


async def test_no_other_site_and_no_other_address_opens_a_socket(cast: EverybodyCast) -> None:
    address = f"/ws/judgements/{cast.judgement.pk}/"
    for origin in (b"", b"null", b"http://evil.example", b"http://localhost.evil.example", b"https://localhost"):
        assert await knock(cast, "owner", address, origin) == "f"
    for other in ("/ws/", f"/ws/judgements/{cast.judgement.pk}", "/ws/judgements/x/"):
        assert await knock(cast, "owner", other) == "f"
