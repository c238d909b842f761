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
SIGNED_IN_NONE = "llnnnnn"
SEE = "llnonoo"
NO_CHECK = "llnnnnn"
NO_TERMINAL = "llnnnnn"  # of the mission that walks, which was cancelled before it began
OWN = "llnonnn"
STEER = "llnonfo"
NO_STEP = "llnnnfn"
EXPORT = "llnonoo"
REDACT = "llnfnfo"
LOOK = "llnfnfo"
RECEIPT = "llnonfo"
COUNCIL = "llffffo"
DESK = "llfffoo"
DOOR, REVIEW, ALL, NEVER = "llllooo", "llllfoo", "llllffo", "llllfff"
NO_SCOPE = "llfffff"  # of the tokens that walk
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
    "compare": ("llooooo", SIGNED_IN_NO_METHOD),  # without two of them it says so
    "erased": (SEE, SIGNED_IN_NO_METHOD),
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
    "evidence": (EXPORT, SIGNED_IN_NO_METHOD),
    "fragments": (SEE, SIGNED_IN_NO_METHOD),
    "made": (SEE, SIGNED_IN_NO_METHOD),
    "replay": (SEE, SIGNED_IN_NO_METHOD),
    "replay-file": (EXPORT, SIGNED_IN_NO_METHOD),
    "replay-frames": (SEE, SIGNED_IN_NO_METHOD),
    "cancel": (STEER, STEER),
    "retry": (SIGNED_IN_NO_METHOD, STEER),
    "redact": (REDACT, REDACT),
    "share": (EXPORT, EXPORT),
    "end-share": (SIGNED_IN_NO_METHOD, EXPORT),
    "end-its-badge": (SIGNED_IN_NO_METHOD, EXPORT),
    "take-back": (SIGNED_IN_NO_METHOD, EXPORT),
    "shared": (NONE, NO_METHOD),
    "badge": (NONE, NO_METHOD),
    "badges": (SIGNED_IN, SIGNED_IN),
    "end-badge": (SIGNED_IN_NO_METHOD, OWN),
    "waiting": (SIGNED_IN, SIGNED_IN),
    "notices": (SIGNED_IN, SIGNED_IN),
    "gate": (SEE, STEER),
    "gate-here": (SEE, STEER),
    "library": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "tools": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "outbox": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "webhooks": (SIGNED_IN, SIGNED_IN),
    "webhook": (OWN, SIGNED_IN_NO_METHOD),
    "webhook-delete": (SIGNED_IN_NO_METHOD, OWN),
    "webhook-resend": (SIGNED_IN_NO_METHOD, SIGNED_IN_NONE),
    "letter-say": (SIGNED_IN_NO_METHOD, "llnfnfn"),  # who may say it says nothing that there is
    "councils": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "council-new": (SIGNED_IN, SIGNED_IN),
    "council": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "council-version": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "council-edit": (COUNCIL, COUNCIL),
    "council-switch": (SIGNED_IN_NO_METHOD, COUNCIL),
    "panels": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "panel-new": (SIGNED_IN, SIGNED_IN),
    "panel": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "panel-version": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "panel-edit": (COUNCIL, COUNCIL),
    "panel-switch": (SIGNED_IN_NO_METHOD, COUNCIL),
    "teams": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "team-new": (SIGNED_IN, SIGNED_IN),
    "team": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "team-file": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "team-version": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "team-edit": (COUNCIL, COUNCIL),
    "team-switch": (SIGNED_IN_NO_METHOD, COUNCIL),
    # the API
    "api:openapi-json": (OPEN, OPEN),
    "api:openapi-view": (OPEN, OPEN),
    "api:api-root": (NONE, NONE),
    "api:key": (OPEN, NO_METHOD),
    "api:submit": (SIGNED_IN, SIGNED_IN),
    "api:submit_many": (NO_METHOD, SIGNED_IN),
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
    "api:run-reviews": (SEE, SIGNED_IN),
    "mcp": ("ll-----", SIGNED_IN),
    "mcp-slash": ("ll-----", SIGNED_IN),
    # the API as a model
    "model:openapi-json": (OPEN, OPEN),
    "model:openapi-view": (OPEN, OPEN),
    "model:api-root": (NONE, NONE),
    "model:models": (SIGNED_IN, NO_METHOD),
    "model:model": (SIGNED_IN_NONE, NO_METHOD),
    "model:create_completion": (NO_METHOD, SIGNED_IN),
    # of debates, and of another procedure, asked for a judgement
    "debate-record-xml": (EXPORT, SIGNED_IN_NO_METHOD),
    "debate-asked": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "debate-steer": (SIGNED_IN_NO_METHOD, STEER),
    "debate-turn": (SEE, NO_CHECK),
    "debate-withdraw": (SIGNED_IN_NO_METHOD, SEE),
    "debate-alone": (LOOK, LOOK),
    "api:debate_messages": (SEE, SIGNED_IN),
    "api:post_debate_message": (SEE, SIGNED_IN),
    "api:debate_xml": (EXPORT, NO_METHOD),
    "api:steer_debate": (NO_METHOD, SIGNED_IN),
    # of plans
    "plan-matter": (NO_CHECK, NO_CHECK),
    "plan-step": (NO_STEP, NO_STEP),
    "api:post_plan_comment": (NO_METHOD, SIGNED_IN),
    "automation:openapi-json": (OPEN, OPEN),
    "automation:openapi-view": (OPEN, OPEN),
    "automation:api-root": (NONE, NONE),
    "automation:input_task": (NO_METHOD, SIGNED_IN),
    "automation:human_feedback": (NO_METHOD, SIGNED_IN),
    "automation:approve_step_or_steps": (NO_METHOD, SIGNED_IN),
    "automation:human_clarification_on_plan": (NO_METHOD, SIGNED_IN),
    "automation:plans": (SIGNED_IN, NO_METHOD),
    "automation:steps": (OWN, NO_METHOD),
    "automation:agent-messages": (OWN, NO_METHOD),
    "automation:events": (OWN, NO_METHOD),
    "automation:messages": (SIGNED_IN, NO_METHOD),
    "automation:delete-messages": (SIGNED_IN, NO_METHOD),
    "automation:agent-tools": (SIGNED_IN, NO_METHOD),
    "api:edit_step": (NO_METHOD, NO_METHOD),
    "api:teams": (SIGNED_IN, NO_SCOPE),
    "api:list_projects": (SIGNED_IN, NO_METHOD),
    "api:change_project": (NO_METHOD, NO_METHOD),
    "api:team": (SIGNED_IN, NO_METHOD),
    "api:team_file": (SIGNED_IN, NO_METHOD),
    "api:make_team": (SIGNED_IN, NO_SCOPE),
    "api:change_team": (SIGNED_IN, NO_METHOD),
    "api:tools": (SIGNED_IN, NO_METHOD),
    # of inquiries
    "api:add_hint": (NO_METHOD, SIGNED_IN),
    "api:replan_inquiry": (NO_METHOD, SIGNED_IN),
    "api:stop_inquiry": (NO_METHOD, STEER),
    "inquiry-source": (SEE, SIGNED_IN_NO_METHOD),
    "api:inquiry_source": (SEE, NO_METHOD),
    # of missions
    "crews": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "crew-new": (SIGNED_IN, SIGNED_IN),
    "crew": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "crew-file": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "crew-version": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "crew-edit": (COUNCIL, COUNCIL),
    "crew-switch": (SIGNED_IN_NO_METHOD, COUNCIL),
    "rosters": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "roster-new": (SIGNED_IN, SIGNED_IN),
    "roster": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "roster-version": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "roster-edit": (COUNCIL, COUNCIL),
    "roster-switch": (SIGNED_IN_NO_METHOD, COUNCIL),
    "memories": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "memory": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "memory-file": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "memory-new": (COUNCIL, COUNCIL),
    "memory-edit": (COUNCIL, COUNCIL),
    "memory-decide": (SIGNED_IN_NO_METHOD, COUNCIL),
    "api:memories": (SIGNED_IN, SIGNED_IN),
    "api:propose_memory": (SIGNED_IN, SIGNED_IN),
    "api:memory": (SIGNED_IN_NONE, NO_METHOD),  # nobody has accepted it yet
    "api:change_memory": (SIGNED_IN_NONE, NO_METHOD),
    "api:accept_memory": (NO_METHOD, SIGNED_IN),
    "mission-judge": (SEE, SEE),
    "mission-answer": (SIGNED_IN_NO_METHOD, STEER),
    **{f"{kind}-fork": (SEE, SEE) for kind in ("mission", "debate", "plan")},
    **{f"api:{kind}-fork": (SIGNED_IN, SIGNED_IN) for kind in ("mission", "debate", "plan")},
    "mission-files": (SEE, SIGNED_IN_NO_METHOD),
    "mission-pull-request": (NO_TERMINAL, SIGNED_IN_NO_METHOD),
    "mission-bundle": (NO_TERMINAL, SIGNED_IN_NO_METHOD),
    "api:mission_bundle": (NO_TERMINAL, NO_METHOD),
    "mission-beginning": (SEE, SIGNED_IN_NO_METHOD),
    "mission-commit": (NO_TERMINAL, SIGNED_IN_NO_METHOD),
    "api:mission_commit": (NO_TERMINAL, NO_METHOD),
    "api:mission_commit_mailbox": (NO_TERMINAL, NO_METHOD),
    "api:mission_mailbox": (NO_TERMINAL, NO_METHOD),
    "mission-archive": (SEE, SIGNED_IN_NO_METHOD),
    "mission-messages": (SEE, SIGNED_IN_NO_METHOD),
    "mission-terminals": (SEE, SIGNED_IN_NO_METHOD),
    "mission-pause": (SIGNED_IN_NO_METHOD, STEER),
    "mission-patch": (SEE, SIGNED_IN_NO_METHOD),
    "mission-terminal": (NO_TERMINAL, SIGNED_IN_NO_METHOD),
    "api:post_mission_message": (NO_METHOD, SIGNED_IN),
    "api:pause_mission": (NO_METHOD, STEER),
    "api:resume_mission": (NO_METHOD, STEER),
    "api:mission_patch": (SEE, NO_METHOD),
    "api:mission_terminal": (NO_TERMINAL, NO_METHOD),
    # of the tests' own procedure, asked for a judgement
    "check-history": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "check-history-changes": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "check-export": (SIGNED_IN, SIGNED_IN_NO_METHOD),
    "check-live": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-record": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-record-file": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-evidence": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-fragments": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-made": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-replay": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-replay-file": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-replay-frames": (NO_CHECK, SIGNED_IN_NO_METHOD),
    "check-cancel": (NO_CHECK, NO_CHECK),
    "check-retry": (SIGNED_IN_NO_METHOD, NO_CHECK),
    "check-redact": (NO_CHECK, NO_CHECK),
    "check-share": (NO_CHECK, NO_CHECK),
    "check-end-share": (SIGNED_IN_NO_METHOD, NO_CHECK),
    "check-end-its-badge": (SIGNED_IN_NO_METHOD, NO_CHECK),
    "check-take-back": (SIGNED_IN_NO_METHOD, NO_CHECK),
    "api:checks": (SIGNED_IN, SIGNED_IN),
    "api:submit_check": (SIGNED_IN, SIGNED_IN),
    "api:check": (NO_CHECK, NO_METHOD),
    "api:check-events": (NO_CHECK, NO_METHOD),
    "api:check-record": (NO_CHECK, NO_METHOD),
    "api:check-cancel": (NO_METHOD, NO_CHECK),
    "api:check-retry": (NO_METHOD, NO_CHECK),
    "api:webhooks": (NO_SCOPE, SIGNED_IN),
    "api:delete_webhook": (NO_METHOD, NO_METHOD),
    "api:deliveries": (OWN, NO_METHOD),
    "api:resend_delivery": (NO_METHOD, NO_SCOPE),
    "api:gates": (SIGNED_IN, NO_METHOD),
    "api:gate": (SEE, NO_METHOD),
    "api:gates-decide": (NO_METHOD, SIGNED_IN),
    "api:gate-decide": (NO_METHOD, SIGNED_IN),
    "api:issue": (NO_METHOD, RECEIPT),
    "api:consume": (NO_METHOD, SIGNED_IN),
    "api:councils": (SIGNED_IN, NO_METHOD),
    "api:council": (SIGNED_IN, NO_METHOD),
    "api:panels": (SIGNED_IN, NO_METHOD),
    "api:panel": (SIGNED_IN, NO_METHOD),
    "api:models": (SIGNED_IN, NO_METHOD),
    # coming in, and what machines look at
    "check-page": (OPEN, NO_METHOD),
    "check-program": (OPEN, NO_METHOD),
    "login": (OPEN, OPEN),
    "logout": (SIGNED_IN_NO_METHOD, "lllllll"),  # who has signed out is led to the form
    "password": (SIGNED_IN, SIGNED_IN),
    "tokens": (SIGNED_IN, SIGNED_IN),
    "revoke-token": (SIGNED_IN_NO_METHOD, "llnonnn"),
    "enter": (NONE, NO_METHOD),
    "favicon": (OPEN, NO_METHOD),
    "counted-icon": (OPEN, NO_METHOD),
    "alive": (OPEN, NO_METHOD),
    "ready": (OPEN, NO_METHOD),
    "metrics": (NONE, NO_METHOD),  # it has a word of its own
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
    "admin:engine_gaterule_changelist": (ALL, ALL),
    "admin:engine_gaterule_add": (ALL, ALL),
    "admin:engine_gaterule_history": (ALL, ALL),
    "admin:engine_gaterule_delete": (ALL, ALL),
    "admin:engine_gaterule_change": (ALL, ALL),
    "admin/engine/budget/<path:object_id>/": (DOOR, DOOR),
    "admin/engine/gaterule/<path:object_id>/": (DOOR, DOOR),
    "admin:auth_user_password_change": (ALL, ALL),
    "admin:auth_user_changelist": (ALL, ALL),
    "admin:auth_user_add": (ALL, ALL),
    "admin:auth_user_history": (ALL, ALL),
    "admin:auth_user_delete": (ALL, ALL),
    "admin:auth_user_change": (ALL, ALL),
    "admin/auth/user/<path:object_id>/": (DOOR, DOOR),
    "admin:engine_gate_changelist": (REVIEW, REVIEW),
    "admin:engine_gate_add": (NEVER, NEVER),
    "admin:engine_gate_history": (REVIEW, REVIEW),
    "admin:engine_gate_delete": (NEVER, NEVER),
    "admin:engine_gate_change": (REVIEW, NEVER),
    "admin/engine/gate/<path:object_id>/": (DOOR, DOOR),
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


def of_a_kind(kind: str, kinds: str) -> dict[str, tuple[str, str]]:
    """Who may do what at the routes that each kind of run but the judgement has under the same names."""
    lists = {f"{kind}-{page}": (SIGNED_IN, SIGNED_IN_NO_METHOD) for page in ("history", "history-changes", "export")}
    seen = ("live", "record", "record-file", "evidence", "fragments", "made", "replay", "replay-file", "replay-frames")
    acts = {"new": (SIGNED_IN, SIGNED_IN), "cancel": (STEER, STEER), "retry": (SIGNED_IN_NO_METHOD, STEER)}
    api = {"": SEE, "-events": SEE, "-record": EXPORT}
    admin = {"changelist": (REVIEW, REVIEW), "add": (NEVER, NEVER), "change": (REVIEW, NEVER), "delete": (NEVER, NEVER)}
    return (
        lists
        | {f"{kind}-{page}": (SEE, SIGNED_IN_NO_METHOD) for page in seen}
        | {f"{kind}-{act}": who for act, who in acts.items()}
        | {f"{kind}-redact": (REDACT, REDACT), f"{kind}-say": (SIGNED_IN_NO_METHOD, STEER)}
        | {f"{kind}-share": (EXPORT, EXPORT)}
        | {f"{kind}-{page}": (SIGNED_IN_NO_METHOD, EXPORT) for page in ("end-share", "end-its-badge", "take-back")}
        | {f"api:{kinds}": (SIGNED_IN, SIGNED_IN), f"api:submit_{kind}": (SIGNED_IN, SIGNED_IN)}
        | {f"api:{kind}{what}": (who, NO_METHOD) for what, who in api.items()}
        | {f"api:{kind}-{act}": (NO_METHOD, STEER) for act in ("cancel", "retry")}
        | {f"admin:{kinds}_{kind}_{door}": who for door, who in admin.items()}
        | {f"admin:{kinds}_{kind}_{door}": (REVIEW, REVIEW) for door in ("review", "history")}
        | {f"admin/{kinds}/{kind}/<path:object_id>/": (DOOR, DOOR)}
    )


KINDS = {"debate": "debates", "plan": "plans", "inquiry": "inquiries", "mission": "missions"}
for kind, kinds in KINDS.items():
    ROUTES |= of_a_kind(kind, kinds)
ROUTES |= {f"{kind}-cost": (SIGNED_IN_NO_METHOD, SIGNED_IN) for kind in ("debate", "plan", "mission")}
DOORS = ("changelist", "add", "history", "delete", "change")
OFFICE = [f"office_{name}" for name in ("person", "task", "calendarentry", "officedocument", "item", "request")]
ROUTES["admin:inquiries_outside"] = (ALL, ALL)
KEPT_BY_ADMINISTRATORS = [*OFFICE, "inquiries_collection"]
ROUTES |= {f"admin:{row}_{door}": (ALL, ALL) for row in KEPT_BY_ADMINISTRATORS for door in DOORS}
ROUTES |= {f"admin/{row.replace('_', '/')}/<path:object_id>/": (DOOR, DOOR) for row in KEPT_BY_ADMINISTRATORS}
ROUTES["admin:office_request_add"] = (NEVER, NEVER)
ROUTES |= {f"admin:engine_letter_{door}": (ALL, ALL) for door in ("changelist", "history")}
ROUTES |= {f"admin:engine_letter_{door}": (NEVER, NEVER) for door in ("add", "delete")}
ROUTES |= {"admin:engine_letter_change": (ALL, NEVER)}
ROUTES |= {f"admin/engine/{row}/<path:object_id>/": (DOOR, DOOR) for row in ("letter", "gaterule", "mcptool")}
ROUTES |= {f"admin:engine_mcptool_{door}": (ALL, ALL) for door in ("changelist", "history", "change")}
ROUTES |= {f"admin:engine_mcptool_{door}": (NEVER, NEVER) for door in ("add", "delete")}
ROUTES |= {"admin:look_at_mcp": ("llll---", ALL)}

SOCKETS = {
    f"ws/{which}/<uuid:pk>/": SEE
    for which in ("judgements", "debates", "inquiries", "missions", "plans", "checks", "runs")
}
SOCKETS["ws/waiting/"] = "llooooo"
