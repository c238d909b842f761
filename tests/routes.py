"""Who may do what at every route and socket.

WHOEVER ADDS A ROUTE declares here who may: a line in ROUTES (pages, API and admin, by the route's name; by its pattern
where it has none) or in SOCKETS. A route that is not declared fails `test_every_route_is_declared`. A line is what GET
and what POST answer, a sign for each of PEOPLE in their order:

    o  they may (2xx, a redirect within the site, or a refusal that only who may gets: 400, 402, 409, 415, 422)
    l  they are to sign in first (a redirect to the form; 401 from the API)
    n  there is no such thing (404), the same as for one that does not exist
    f  they may not (403)
    -  there is no such method (405)

Where the route needs something in its address that is not made yet, `address_of` of the walk gets a line, too.
"""

PEOPLE = ("nobody", "disabled", "stranger", "owner", "staff", "reviewer", "root")
"""Staff may enter the admin and have no permission; a reviewer is staff and in the group Reviewers."""


OPEN = "ooooooo"
NONE = "nnnnnnn"
NO_METHOD = "-------"
SIGNED_IN, SIGNED_IN_NO_METHOD = "llooooo", "ll-----"
SEE = "llnonoo"
NO_CHECK = "llnnnnn"
STEER = "llnonfo"
EXPORT = "llnonoo"
REDACT = "llnfnfo"
RECEIPT = "llnonfo"
COUNCIL = "llffffo"
DESK = "llfffoo"
DOOR, REVIEW, ALL, NEVER = "llllooo", "llllfoo", "llllffo", "llllfff"
NO_CHECK_IN_ADMIN = "llllfnn"
"""Of the admin: who is staff, reviewers, all permissions, nobody."""

ROUTES = {
    # pages
    "new": (SIGNED_IN, SIGNED_IN),
    "history": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "export": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "history-changes": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "runs-history": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "runs-history-changes": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "runs-export": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "save-view": (SIGNED_IN_NO_METHOD, SIGNED_IN),
    "delete-view": (SIGNED_IN_NO_METHOD, "llnonnn"),
    "review": (DESK, SIGNED_IN_NO_METHOD),
    "review-figures": (DESK, SIGNED_IN_NO_METHOD),
    "review-one": (DESK, DESK),
    "council-agents": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "model-suggestions": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "example": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "example-record": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "example-replay": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "example-frames": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "expected-cost": (SIGNED_IN_NO_METHOD, SIGNED_IN),
    "live": (SEE, SIGNED_IN_NO_METHOD),
    "record": (SEE, SIGNED_IN_NO_METHOD),
    "record-file": (EXPORT, SIGNED_IN_NO_METHOD),
    "fragments": (SEE, SIGNED_IN_NO_METHOD),
    "replay": (SEE, SIGNED_IN_NO_METHOD),
    "replay-frames": (SEE, SIGNED_IN_NO_METHOD),
    "cancel": (STEER, STEER),
    "retry": (SIGNED_IN_NO_METHOD, STEER),
    "redact": (REDACT, REDACT),
    "library": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "councils": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "council-new": (SIGNED_IN, SIGNED_IN),
    "council": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "council-version": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "council-edit": (COUNCIL, COUNCIL),
    "council-switch": (SIGNED_IN_NO_METHOD, COUNCIL),
    # the API
    "api:openapi-json": (OPEN, OPEN),
    "api:openapi-view": (OPEN, OPEN),
    "api:api-root": (NONE, NONE),
    "api:key": (OPEN, NO_METHOD),
    "api:submit": (SIGNED_IN, SIGNED_IN),
    "api:judgements": (SIGNED_IN, SIGNED_IN),
    "api:judgement": (SEE, NO_METHOD),
    "api:judgement-events": (SEE, NO_METHOD),
    "api:judgement-record": (EXPORT, NO_METHOD),
    "api:judgement-cancel": (NO_METHOD, STEER),
    "api:judgement-retry": (NO_METHOD, STEER),
    "api:runs": (SIGNED_IN, NO_METHOD),
    "api:run": (SEE, NO_METHOD),
    "api:run-events": (SEE, NO_METHOD),
    "api:run-record": (EXPORT, NO_METHOD),
    "api:run-cancel": (NO_METHOD, STEER),
    "api:run-retry": (NO_METHOD, STEER),
    # of the tests' own procedure, asked for a judgement
    "check-history": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "check-history-changes": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "check-export": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "check-live": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-record": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-record-file": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-fragments": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-replay": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-replay-frames": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-cancel": (NO_CHECK, NO_CHECK),
    "check-retry": (SIGNED_IN_NO_METHOD, NO_CHECK),
    "check-redact": (NO_CHECK, NO_CHECK),
    "api:checks": (SIGNED_IN, SIGNED_IN),
    "api:submit_check": (SIGNED_IN, SIGNED_IN),
    "api:check": (NO_CHECK, NO_METHOD),
    "api:check-events": (NO_CHECK, NO_METHOD),
    "api:check-record": (NO_CHECK, NO_METHOD),
    "api:check-cancel": (NO_METHOD, NO_CHECK),
    "api:check-retry": (NO_METHOD, NO_CHECK),
    "api:issue": (NO_METHOD, RECEIPT),
    "api:consume": (NO_METHOD, SIGNED_IN),
    "api:councils": (SIGNED_IN, NO_METHOD),
    "api:models": (SIGNED_IN, NO_METHOD),
    # coming in, and what machines look at
    "login": (OPEN, OPEN),
    "logout": (SIGNED_IN_NO_METHOD, "lllllll"),  # who has signed out is led to the form
    "password": (SIGNED_IN, SIGNED_IN),
    "tokens": (SIGNED_IN, SIGNED_IN),
    "revoke-token": (SIGNED_IN_NO_METHOD, "llnonnn"),
    "enter": (NONE, NO_METHOD),
    "favicon": (OPEN, NO_METHOD),
    "alive": (OPEN, NO_METHOD),
    "ready": (OPEN, NO_METHOD),
    # the admin
    "doctor": (ALL, ALL),
    "admin:index": (DOOR, DOOR),
    "admin:login": ("llfffff", "llfffff"),
    "admin:logout": ("lloo---", "lloolll"),
    "admin:password_change": (DOOR, DOOR),
    "admin:password_change_done": (DOOR, "llll---"),
    "admin:autocomplete": (NEVER, "llll---"),
    "admin:jsi18n": (DOOR, "llll---"),
    "admin:view_on_site": ("llllnnn", "llllnnn"),
    "view-on-site": ("llllnnn", "llllnnn"),
    "admin:app_list": ("llllnoo", "llllnoo"),
    "admin/(?P<url>.*)$": ("llllnnn", "llllnnn"),
    "admin:magi_site_token_changelist": (ALL, ALL),
    "admin:magi_site_token_add": (NEVER, NEVER),
    "admin:magi_site_token_history": (ALL, ALL),
    "admin:magi_site_token_delete": (NEVER, NEVER),
    "admin:magi_site_token_change": (ALL, NEVER),
    "admin/magi_site/token/<path:object_id>/": (DOOR, DOOR),
    "admin:auth_group_changelist": (ALL, ALL),
    "admin:auth_group_add": (ALL, ALL),
    "admin:auth_group_history": (ALL, ALL),
    "admin:auth_group_delete": (ALL, ALL),
    "admin:auth_group_change": (ALL, ALL),
    "admin/auth/group/<path:object_id>/": (DOOR, DOOR),
    "admin:engine_budget_changelist": (ALL, ALL),
    "admin:engine_budget_add": (ALL, ALL),
    "admin:engine_budget_history": (ALL, ALL),
    "admin:engine_budget_delete": (ALL, ALL),
    "admin:engine_budget_change": (ALL, ALL),
    "admin/engine/budget/<path:object_id>/": (DOOR, DOOR),
    "admin:auth_user_password_change": (ALL, ALL),
    "admin:auth_user_changelist": (ALL, ALL),
    "admin:auth_user_add": (ALL, ALL),
    "admin:auth_user_history": (ALL, ALL),
    "admin:auth_user_delete": (ALL, ALL),
    "admin:auth_user_change": (ALL, ALL),
    "admin/auth/user/<path:object_id>/": (DOOR, DOOR),
    "admin:judgements_council_changelist": (ALL, ALL),
    "admin:judgements_council_add": (NEVER, NEVER),
    "admin:judgements_council_history": (ALL, ALL),
    "admin:judgements_council_delete": (NEVER, NEVER),
    "admin:judgements_council_change": (ALL, NEVER),
    "admin/judgements/council/<path:object_id>/": (DOOR, DOOR),
    "admin:engine_run_review": (REVIEW, REVIEW),
    "admin:engine_run_changelist": (REVIEW, REVIEW),
    "admin:engine_run_add": (NEVER, NEVER),
    "admin:engine_run_history": (REVIEW, REVIEW),
    "admin:engine_run_delete": (NEVER, NEVER),
    "admin:engine_run_change": (REVIEW, NEVER),
    "admin/engine/run/<path:object_id>/": (DOOR, DOOR),
    "admin:checking_check_review": (NO_CHECK_IN_ADMIN, NO_CHECK_IN_ADMIN),
    "admin:checking_check_changelist": (REVIEW, REVIEW),
    "admin:checking_check_add": (NEVER, NEVER),
    "admin:checking_check_history": (NO_CHECK_IN_ADMIN, NO_CHECK_IN_ADMIN),
    "admin:checking_check_delete": (NEVER, NEVER),
    "admin:checking_check_change": (NO_CHECK_IN_ADMIN, NEVER),
    "admin/checking/check/<path:object_id>/": (DOOR, DOOR),
    "admin:judgements_judgement_review": (REVIEW, REVIEW),
    "admin:judgements_judgement_changelist": (REVIEW, REVIEW),
    "admin:judgements_judgement_add": (NEVER, NEVER),
    "admin:judgements_judgement_history": (REVIEW, REVIEW),
    "admin:judgements_judgement_delete": (NEVER, NEVER),
    "admin:judgements_judgement_change": (REVIEW, NEVER),
    "admin/judgements/judgement/<path:object_id>/": (DOOR, DOOR),
}
SOCKETS = {f"ws/{which}/<uuid:pk>/": SEE for which in ("judgements", "checks", "runs")}
