-- What the role magi_app, as which sites and engines work, may do: it adds evidence and changes or deletes none.
-- Run it as the role that owns MAGI's tables, after each migration; it may be run again at any time:
--
--     psql --username magi --set ON_ERROR_STOP=1 --file deploy/application_role.sql magi
--
-- The triggers of the migrations say which changes of these columns are let through; docs/operations.md says more.

DO $$
DECLARE
    -- evidence, and the columns of it that the engine, a redaction or the end of an account has to change
    evidence CONSTANT jsonb := '{
        "engine_entry": [],
        "engine_leaf": [],
        "engine_checkpoint": [],
        "engine_salt": [],
        "engine_run": ["owner_id", "asked_by", "account", "status", "revision", "worker", "fence", "claims", "deaths",
            "crashes", "retries", "lease_expires_at", "started", "ended", "error", "reserved", "reserved_in", "cancelled_by_id",
            "cancelled_by_name", "title", "request", "outcome", "override", "redacted", "spend", "news", "wakes_at",
            "worked", "host", "why", "claimed_at"],
        "engine_park": [],
        "engine_fork": ["state"],
        "engine_document": ["title", "text", "digest"],
        "engine_gate": ["title", "text", "state", "closed", "used", "asked_user_id", "asked_group_id", "council_id",
            "hides"],
        "engine_gatedecision": ["text", "answer", "by_user_id"],
        "engine_runauthor": ["user_id"],
        "engine_gateauthor": [],
        "engine_modelcall": ["status", "prompt", "answer", "answer_format", "answered_by", "fingerprint", "input_tokens",
            "output_tokens", "estimated", "cost", "error_code", "error", "started", "deadline", "ended", "retry_at",
            "looks", "looked_since"],
        "engine_toolcall": ["arguments", "output", "error", "output_size", "outside", "status", "ended"],
        "engine_review": ["text", "author_id"],
        "judgements_judgement": ["content"],
        "judgements_agent": [],
        "judgements_rounddecision": ["reason"],
        "judgements_receipt": ["consumed", "consumed_by", "expected", "use_entry"],
        "judgements_councilversion": ["author_id"],
        "judgements_member": [],
        "judgements_councilchange": [],
        "judgements_earliercouncilname": [],
        "debates_debate": ["question", "seed_word", "ended_because", "no_decision"],
        "debates_option": ["meaning"],
        "debates_member": ["who", "user_id"],
        "debates_firstverdict": ["reasoning"],
        "debates_turn": ["state", "closed", "reason_skipped"],
        "debates_message": ["content", "reasoning", "artifact", "request", "by_id"],
        "debates_point": ["claim"],
        "debates_steer": ["text", "reasoning", "request", "done", "by_id"],
        "debates_panelversion": ["author_id"],
        "debates_panelseat": [],
        "debates_paneloption": [],
        "debates_panelchange": [],
        "inquiries_inquiry": ["question", "answer", "trace", "why"],
        "inquiries_post": [],
        "inquiries_order": ["instruction", "reply", "feedback", "error"],
        "inquiries_move": ["thought", "arguments", "done", "refused", "tool_call_id", "result", "settled"],
        "inquiries_source": ["title", "asked", "address", "bytes_digest", "text_digest", "read"],
        "inquiries_claim": ["text"],
        "inquiries_quote": ["text"],
        "inquiries_rosterversion": ["author_id"],
        "inquiries_rosterchange": [],
        "missions_mission": ["goal", "check_command", "customs", "result", "unproven"],
        "missions_agent": ["description"],
        "missions_step": ["reasoning", "args", "tool_call_id", "ok", "result", "settled"],
        "missions_carriedstep": ["reasoning", "args", "result"],
        "missions_halt": ["text"],
        "missions_message": ["text"],
        "missions_pause": [],
        "missions_check": ["command", "output"],
        "missions_fileversion": ["path", "digest", "text"],
        "missions_repository": ["address", "branch", "left_out"],
        "missions_terminal": ["command", "exit_code", "reason", "seconds", "size", "digest", "output", "ended"],
        "missions_terminalinput": ["text"],
        "missions_shortmemory": ["text"],
        "missions_summary": ["text", "dump", "digest"],
        "missions_connection": ["host"],
        "missions_memory": [],
        "missions_memoryversion": ["description", "text", "front", "decided", "decided_by", "accepted"],
        "missions_activation": [],
        "missions_memoryuse": [],
        "missions_crewversion": ["author_id"],
        "missions_crewchange": [],
        "plans_plan": ["task", "matter_name", "stopped", "summary"],
        "plans_matter": ["owner_id", "name", "title", "closed", "erased"],
        "plans_revision": ["notes", "standing", "thought", "questions", "call_id", "planned", "places"],
        "plans_step": ["position", "last_in", "agent_id", "tools", "needs", "effect", "status", "series", "skipped", "began"],
        "plans_stepstate": ["by_user_id", "why", "action"],
        "plans_move": ["thought", "arguments", "text", "tool_call_id", "result", "refused", "settled"],
        "plans_message": ["content"],
        "plans_teamversion": ["author_id"],
        "plans_teamagent": [],
        "plans_teamchange": []
    }';
    here CONSTANT text := current_schema();
    tbl text;
    columns text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'magi_app') THEN
        RAISE EXCEPTION 'there is no role magi_app: make it first, with createuser --pwprompt magi_app';
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'magi_app' AND (rolsuper OR rolreplication OR rolcreaterole)) THEN
        RAISE EXCEPTION 'magi_app may do too much: it must not be a superuser, nor replicate, nor make roles';
    END IF;
    IF pg_has_role('magi_app', current_user, 'MEMBER') THEN
        RAISE EXCEPTION 'magi_app is a member of %, who owns the tables: that would let it do anything', current_user;
    END IF;

    EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', here);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO magi_app', here);
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM magi_app', here);
    EXECUTE format('GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA %I TO magi_app', here);
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO magi_app', here);

    FOR tbl IN SELECT tablename FROM pg_tables WHERE schemaname = here LOOP
        IF NOT evidence ? tbl THEN
            EXECUTE format('GRANT UPDATE, DELETE ON %I.%I TO magi_app', here, tbl);
            CONTINUE;
        END IF;
        SELECT string_agg(quote_ident(name), ', ') INTO columns FROM jsonb_array_elements_text(evidence -> tbl) name;
        IF columns IS NOT NULL THEN
            EXECUTE format('GRANT UPDATE (%s) ON %I.%I TO magi_app', columns, here, tbl);
        END IF;
    END LOOP;

    EXECUTE format('GRANT DELETE ON %I.engine_salt TO magi_app', here);
    -- which migrations have been made is the owner's word
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %I.django_migrations FROM magi_app', here);
END $$;
