"""60 places, each with one fault that somebody could make: data for `python -m tests.mutation`.

A place: the file, its text as it is (there exactly once), the text with the fault, and what the fault is. What matters
most stands here: who may see or decide, what is sealed, what counts as approved, budgets, limits, the order of events.
Where the product changes, a text is not found any more; the script says so, and the place is to be chosen anew.
"""

from typing import NamedTuple


class MutationPlace(NamedTuple):
    path: str
    text: str
    faulty: str
    fault: str


PLACES = (
    # ---- engine -------------------------------------------------------------------------------------------
    MutationPlace(
        "engine/gate_decisions.py",
        "not user.is_active or _is_one_of_four_eyes(gate, user):",
        "not user.is_active:",
        "who asked for a run decides at its own gate where somebody else has to",
    ),
    MutationPlace(
        "engine/models/gates.py",
        "return judged.override is None and judged.redacted is None",
        "return judged.redacted is None",
        "a council's approval still opens a gate after a person has overridden it",
    ),
    MutationPlace(
        "engine/policy.py",
        "if kind in ALWAYS_A_PERSON or cut or (",
        "if kind in ALWAYS_A_PERSON or (",
        "a council alone opens a gate whose text is not shown whole",
    ),
    MutationPlace(
        "engine/council_approval.py",
        'shown = not gate.policy.get("blind") or has_quorum(gate.policy, decisions)',
        "shown = True",
        "what a council says is shown before the persons have decided",
    ),
    MutationPlace(
        "engine/runtime/tool_execution.py",
        "if tainted or self._tool.effect == Effect.REACHES_OUT else None",
        "if self._tool.effect == Effect.REACHES_OUT else None",
        "a tool that nobody is asked about changes something after text of strangers was read",
    ),
    MutationPlace(
        "engine/mcp/sessions.py",
        "if definition not in {one.definition for one in listing.tools if one.name == tool}:",
        "if tool not in {one.name for one in listing.tools}:",
        "a tool of a server is called although its description is not the approved one",
    ),
    MutationPlace(
        "engine/models/budgets.py",
        'limit__gte=F("spent") + F("reserved") + amount',
        'limit__gte=F("spent") + amount',
        "money that is reserved for one run is given to another",
    ),
    MutationPlace(
        "engine/models/claims.py",
        "deaths__gte=MAX_CRASHES - 1",
        "deaths__gte=MAX_CRASHES",
        "a run that kills its worker is tried once more than allowed",
    ),
    MutationPlace(
        "engine/queue/worker.py",
        "        await self._give_back_all()\n",
        "",
        "a worker that is stopped keeps its runs until their leases end",
    ),
    MutationPlace(
        "engine/runtime/writer.py",
        "                if not (doubtful and self._has_committed()):\n                    self._commit(batch)\n",
        "                self._commit(batch)\n",
        "a commit whose answer was lost is made a second time",
    ),
    MutationPlace(
        "engine/runtime/model_request.py",
        "return any(number >= most.get(budget, self._attempts)",
        "return any(number > most.get(budget, self._attempts)",
        "a model is asked once more than allowed",
    ),
    MutationPlace(
        "engine/audit/sealing.py",
        "    DigestSalt.objects.filter(leaf__run=run, leaf__seq__lt=head.seq).delete()\n",
        "",
        "the keys of erased texts stay, so that somebody can try which texts fit",
    ),
    MutationPlace(
        "engine/audit/verification.py",
        "    yield from _examine_ends(told)\n",
        "",
        "a record whose outcome was taken back by a second end verifies",
    ),
    MutationPlace(
        "engine/audit/full_verification.py",
        "        if said != root:\n",
        "        if len(said) != len(root):\n",
        "a log with other leaves than a checkpoint vouches for passes the audit",
    ),
    MutationPlace(
        "engine/audit/bundles.py",
        "shown = Run.objects.filter(ended__isnull=False).exclude(pk__in=hidden)",
        "shown = Run.objects.filter(ended__isnull=False)",
        "an export of all records contains a run that is hidden until persons have decided",
    ),
    MutationPlace(
        "engine/llm/client.py",
        "self._queues.setdefault(provider.name, ",
        "self._queues.setdefault(model, ",
        "a provider's limit of requests at once counts for each of its models",
    ),
    MutationPlace(
        "engine/llm/streaming.py",
        "reply.text, refusal = clean(self._text.whole()), ",
        "reply.text, refusal = self._text.whole(), ",
        "an answer keeps the provider's key that the endpoint has repeated in it",
    ),
    # ---- runs ---------------------------------------------------------------------------------------------
    MutationPlace(
        "runs/rights.py",
        "        rows = rows.exclude(pk__in=_hidden_from(user))\n",
        "",
        "lists show what a council said before the persons at the gate have decided",
    ),
    MutationPlace(
        "runs/rights.py",
        "if _takes_in(reaches[one.by], one.by, one.run)]",
        "if reaches[one.by]]",
        "a record stays shared although whoever shared it may not share it any more",
    ),
    MutationPlace(
        "runs/sharing/links.py",
        "return share if SHARE.covers(share.by, share.run) and shown.exists() else None",
        "return share if shown.exists() else None",
        "a link still opens a record although its maker has lost the right to show it",
    ),
    MutationPlace(
        "runs/record/redaction.py",
        '    Review.objects.filter(run=pk).update(text="")\n',
        "",
        "a redaction leaves the texts of reviews",
    ),
    MutationPlace(
        "runs/retention.py",
        "return max(days, floor) if days else 0",
        "return days",
        "texts are erased earlier than the installation's minimum allows",
    ),
    MutationPlace(
        "runs/api/gates.py",
        "if found is None or not may_see(found, credential_of(request).owner):",
        "if found is None:",
        "the API shows every gate to everybody",
    ),
    MutationPlace(
        "runs/api/waiting.py",
        "found = SEE.one(runs, user, pk) if user else None",
        "found = runs.filter(pk=pk).first() if user else None",
        "a stream goes on for somebody who may not see the run any more",
    ),
    MutationPlace(
        "runs/api/endpoints.py",
        "run = get_run_or_refuse(request, id, self._kind, EXPORT).run",
        "run = get_run_or_refuse(request, id, self._kind).run",
        "the API hands out a whole record without the right to export",
    ),
    MutationPlace(
        "runs/approvals/bulk.py",
        "    check_batch(read)\n",
        "",
        "gates about what is sent out are decided many at once",
    ),
    MutationPlace(
        "runs/webhooks/messages.py",
        "if run.procedure not in specs() or not SEE.covers(delivery.hook.owner, run):",
        "if run.procedure not in specs():",
        "a webhook is told of a run that its owner may not see any more",
    ),
    MutationPlace(
        "runs/run_actions.py",
        """    if run.override is not None:
        return f"A person has decided it: {run.override}. To decide it again, submit it again."
""",
        "",
        "a failed run is tried again although a person has decided it",
    ),
    # ---- judgements ---------------------------------------------------------------------------------------
    MutationPlace(
        "judgements/rules.py",
        "return Verdict.APPROVED if score(history) >= THRESHOLD else Verdict.REJECTED",
        "return Verdict.APPROVED if score(history) > THRESHOLD else Verdict.REJECTED",
        "an agent whose score is exactly one half rejects",
    ),
    MutationPlace(
        "judgements/procedure.py",
        "for key in sorted(decided) if key[0] < number)",
        "for key in sorted(decided) if key[0] <= number)",
        "after a restart agents read what others have decided in the same round",
    ),
    MutationPlace(
        "judgements/council_approval.py",
        '    if council.archived:\n        raise CouncilNotPossible(f"The council “{council.name}” is archived.")\n',
        "",
        "an archived council decides at a gate",
    ),
    MutationPlace(
        "judgements/models/receipts.py",
        "        _refuse_without_approval(receipt.judgement)\n",
        "",
        "a receipt is used after its judgement was overridden or redacted",
    ),
    MutationPlace(
        "judgements/models/judgements.py",
        'if owner and not owner.has_perm("judgements.own_agents"):',
        'if owner and council and not owner.has_perm("judgements.own_agents"):',
        "somebody who may judge by councils alone judges by agents of their own",
    ),
    # ---- debates ------------------------------------------------------------------------------------------
    MutationPlace(
        "debates/rules/turn_taking.py",
        "return not course.settings.challenge or _spoken_since(course, _settled(course))",
        "return True",
        "a debate ends as agreed before anybody has challenged the agreement",
    ),
    MutationPlace(
        "debates/rules/outcome.py",
        "if 2 * sum(tally.values()) <= len(verdicts):",
        "if 2 * sum(tally.values()) < len(verdicts):",
        "exactly half of the members are a quorum",
    ),
    MutationPlace(
        "debates/rules/state.py",
        "if one.verdict and one.seat is not None and one.turn not in challenges",
        "if one.verdict and one.seat is not None",
        "a verdict that was stated in a challenge counts as its member's own",
    ),
    MutationPlace(
        "debates/models/visibility.py",
        'return debate.seed if debate.run.status in FINAL else ""',
        'return debate.seed if debate.run.is_ended else ""',
        "a failed debate tells its seed, by which the draws after a retry can be foreseen",
    ),
    MutationPlace(
        "debates/moderation.py",
        "    _set_aside(deed.debate, most, most + amount)\n",
        "",
        "more messages are allowed without money for them",
    ),
    MutationPlace(
        "debates/procedure.py",
        "needed = sum(more) + max(more, default=0)",
        "needed = max(more, default=0)",
        "a debate goes on with no money left for its closing",
    ),
    # ---- plans --------------------------------------------------------------------------------------------
    MutationPlace(
        "plans/rules/scheduling.py",
        "if alone < REVISIONS_ALONE and may_revise(facts.revisions)",
        "if alone <= REVISIONS_ALONE and may_revise(facts.revisions)",
        "after failures a plan is planned anew once more than allowed before a person is asked",
    ),
    MutationPlace(
        "plans/rules/approval_policy.py",
        "return PERSON if effect is StepEffect.REACHES_OUT and needs_no_approval(demand) else demand",
        "return demand",
        "a team's policy lets something be sent out unasked",
    ),
    MutationPlace(
        "plans/models/writes.py",
        'gate.approved and gate.permits(gate_text_of(found, step).text, "", None)',
        "gate.approved",
        "a step begins with another text than was approved",
    ),
    MutationPlace(
        "plans/gate_decisions.py",
        "if step_gate and read and is_single_person(step_gate.policy) and gate_decisions.may_decide(step_gate, user):",
        "if step_gate and read and gate_decisions.may_decide(step_gate, user):",
        "to approve a plan also decides about steps that more than one person has to approve",
    ),
    MutationPlace(
        "plans/projects.py",
        "for pk in (*Run.objects.descendants_of(plan.pk), plan.pk):",
        "for pk in (plan.pk,):",
        "what a deleted plan has caused keeps its texts",
    ),
    # ---- inquiries ----------------------------------------------------------------------------------------
    MutationPlace(
        "inquiries/rules/state.py",
        "if again.retry_count < again.retry_limit:",
        "if again.retry_count <= again.retry_limit:",
        "work is retried once more than allowed",
    ),
    MutationPlace(
        "inquiries/quotes.py",
        "if 0 < words < FEWEST_LEFT_OUT or _NEGATION.search(fold_text(between).casefold()):",
        "if 0 < words < FEWEST_LEFT_OUT:",
        "the ellipsis of a quote may leave out a negation",
    ),
    MutationPlace(
        "inquiries/tools/web.py",
        "        _refuse_elsewhere(inquiry, got.address)\n",
        "",
        "a redirect leads an inquiry to a site that it does not keep to",
    ),
    MutationPlace(
        "inquiries/tools/sources.py",
        "sources = InquirySource.objects.filter(inquiry=_inquiry(use)).select_related",
        "sources = Source.objects.select_related",
        "an inquiry reads sources of others",
    ),
    # ---- missions -----------------------------------------------------------------------------------------
    MutationPlace(
        "missions/rules.py",
        'share_used(used, limits).items() if part >= 1), "")',
        'share_used(used, limits).items() if part > 1), "")',
        "a mission goes on where a limit is reached exactly",
    ),
    MutationPlace(
        "missions/procedure.py",
        """        if why := await run.read(partial(queries.was_refused, mission, step)):
            return ToolCall(status=ToolCall.Status.FAILED, error=egress_policy.REFUSED_TEXT.format(why=why))
""",
        "",
        "what was refused once is asked again",
    ),
    MutationPlace(
        "missions/publishing.py",
        "if _described(mission, commit).difference != shown:",
        "if not _described(mission, commit).difference:",
        "another commit is published than was shown to who decided",
    ),
    MutationPlace(
        "missions/terminals/egress_proxy.py",
        'if {host, f"{host}:{port}"} & self._inner or is_public(str(address[0])):',
        "if address:",
        "a command reaches the inner network by an approved name",
    ),
    MutationPlace(
        "missions/memory_review.py",
        "    if accept and row.base != number:\n",
        "    if accept and row.base > number:\n",
        "to accept a memory overwrites a newer version of it",
    ),
    MutationPlace(
        "missions/models/memory_selection.py",
        "        if LIBRARY in agent.rights",
        "        if LIBRARY not in agent.rights",
        "an agent without the right to the library finds all memories",
    ),
    # ---- site, tools, verifiers ---------------------------------------------------------------------------
    MutationPlace(
        "magi_site/models.py",
        "return token if token and token.is_valid else None\n\n    def revoke",
        "return token\n\n    def revoke",
        "a token that was revoked or has expired still lets its owner in",
    ),
    MutationPlace(
        "magi_site/sign_in.py",
        "RateBucket.objects.refund(wrong if made.right else right)",
        "RateBucket.objects.refund(wrong)",
        "wrong passwords are not counted",
    ),
    MutationPlace(
        "toolbox/web/fetcher.py",
        "factory = PublicSockets(is_allowed(at, self.allowed))",
        "factory = PublicSockets(True)",
        "a public name may lead to an address of the inner network",
    ),
    MutationPlace(
        "office/models.py",
        "return self.filter(start__lt=end, end__gt=start)",
        "return self.filter(start__lte=end, end__gte=start)",
        "a meeting clashes with one that ends when it begins",
    ),
    MutationPlace(
        "tools/verify.py",
        'proven = index >= size or by_proof(node, index, size, leaf["proof"]) == root',
        'proven = index >= size or leaf["proof"] is not None',
        "the verifier does not work out whether a proof leads to the signed root",
    ),
    MutationPlace(
        "static/check/log.js",
        "if (told.get(size) === root) continue;",
        "if (told.has(size)) continue;",
        "the page that checks evidence takes a log with another root than a checkpoint vouches for",
    ),
)
