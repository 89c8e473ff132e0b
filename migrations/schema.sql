-- What stands in the database after every migration of this folder, read from its catalogs: the tables with their
-- constraints, indexes, triggers, policies and grants, then the functions. It is here to be read, and nothing runs it:
-- `UPDATE_SCHEMA=1 npx jest test/database/schema.spec.ts` writes it after a new migration.

CREATE TABLE add_intent (
  employer_id uuid NOT NULL,
  instruction_id uuid NOT NULL,
  batch integer NOT NULL,
  row_nos integer[] NOT NULL,
  body_hashes bytea NOT NULL,
  epoch bigint NOT NULL,
  intended_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamp with time zone,
  CONSTRAINT add_intent_batch_check CHECK ((batch >= 1)),
  CONSTRAINT add_intent_check CHECK ((octet_length(body_hashes) = (32 * cardinality(row_nos)))),
  CONSTRAINT add_intent_employer_id_instruction_id_fkey FOREIGN KEY (employer_id, instruction_id) REFERENCES instruction(employer_id, id),
  CONSTRAINT add_intent_pkey PRIMARY KEY (employer_id, instruction_id, batch),
  CONSTRAINT add_intent_row_nos_check CHECK (((cardinality(row_nos) >= 1) AND (cardinality(row_nos) <= 200)))
);
ALTER TABLE add_intent FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON add_intent FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON add_intent TO payrun_app;
GRANT UPDATE (finished_at) ON add_intent TO payrun_app;

CREATE TABLE allowed_move (
  subject text NOT NULL,
  from_status text NOT NULL,
  to_status text NOT NULL,
  CONSTRAINT allowed_move_pkey PRIMARY KEY (subject, from_status, to_status),
  CONSTRAINT allowed_move_subject_check CHECK ((subject = ANY (ARRAY['pay_run'::text, 'instruction'::text])))
);
GRANT SELECT ON allowed_move TO payrun_app;

CREATE TABLE amendment (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  pay_run_id uuid NOT NULL,
  execution_date date,
  exclude_payment_ids uuid[] NOT NULL DEFAULT '{}'::uuid[],
  reason text NOT NULL,
  proposed_by uuid NOT NULL,
  proposed_at timestamp with time zone NOT NULL DEFAULT now(),
  applied_as_version integer,
  submit_at timestamp with time zone,
  CONSTRAINT amendment_employer_id_pay_run_id_fkey FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT amendment_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT amendment_proposed_by_fkey FOREIGN KEY (proposed_by) REFERENCES person(id)
);
CREATE UNIQUE INDEX one_open_amendment_per_run ON public.amendment USING btree (employer_id, pay_run_id) WHERE (applied_as_version IS NULL);
ALTER TABLE amendment FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON amendment FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT, UPDATE ON amendment TO payrun_app;

CREATE TABLE api_key (
  id uuid NOT NULL,
  person_id uuid NOT NULL,
  key_hash bytea NOT NULL,
  label text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  CONSTRAINT api_key_key_hash_check CHECK ((octet_length(key_hash) = 32)),
  CONSTRAINT api_key_key_hash_key UNIQUE (key_hash),
  CONSTRAINT api_key_person_id_fkey FOREIGN KEY (person_id) REFERENCES person(id),
  CONSTRAINT api_key_pkey PRIMARY KEY (id)
);
GRANT INSERT, SELECT, UPDATE ON api_key TO payrun_app;

CREATE TABLE approval (
  employer_id uuid NOT NULL,
  pay_run_id uuid NOT NULL,
  run_version integer NOT NULL,
  approver_id uuid NOT NULL,
  prepared_by uuid NOT NULL,
  root_hash bytea NOT NULL,
  approved_at timestamp with time zone NOT NULL DEFAULT now(),
  voided_at timestamp with time zone,
  voided_reason text,
  id uuid NOT NULL,
  known_restores integer NOT NULL DEFAULT known_restores(),
  CONSTRAINT approval_approver_id_fkey FOREIGN KEY (approver_id) REFERENCES person(id),
  CONSTRAINT approval_check CHECK (((voided_at IS NULL) = (voided_reason IS NULL))),
  CONSTRAINT approval_employer_id_pay_run_id_run_version_root_hash_prep_fkey FOREIGN KEY (employer_id, pay_run_id, run_version, root_hash, prepared_by) REFERENCES pay_run_version(employer_id, pay_run_id, run_version, root_hash, prepared_by),
  CONSTRAINT approval_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT approver_is_not_preparer CHECK ((approver_id <> prepared_by))
);
CREATE UNIQUE INDEX one_standing_approval_per_person ON public.approval USING btree (employer_id, pay_run_id, run_version, approver_id) WHERE (voided_at IS NULL);
CREATE TRIGGER refuse_approval_by_a_preparer BEFORE INSERT ON public.approval FOR EACH ROW EXECUTE FUNCTION refuse_approval_by_a_preparer();
CREATE TRIGGER refuse_approval_by_an_old_comparison BEFORE INSERT ON public.approval FOR EACH ROW EXECUTE FUNCTION refuse_approval_by_an_old_comparison();
CREATE TRIGGER refuse_approval_of_unasked_rows BEFORE INSERT ON public.approval FOR EACH ROW EXECUTE FUNCTION refuse_approval_of_unasked_rows();
CREATE TRIGGER refuse_approval_of_unticked_ibans BEFORE INSERT ON public.approval FOR EACH ROW EXECUTE FUNCTION refuse_approval_of_unticked_ibans();
CREATE TRIGGER refuse_approval_over_a_hold BEFORE INSERT ON public.approval FOR EACH ROW EXECUTE FUNCTION refuse_approval_over_a_hold();
CREATE TRIGGER refuse_change_of_a_voided_approval BEFORE UPDATE ON public.approval FOR EACH ROW WHEN (((old.voided_at IS NOT NULL) AND (new.* IS DISTINCT FROM old.*))) EXECUTE FUNCTION refuse_change_of_a_voided_approval();
ALTER TABLE approval FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON approval FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON approval TO payrun_app;
GRANT UPDATE (voided_at, voided_reason) ON approval TO payrun_app;

CREATE TABLE attention (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  pay_run_id uuid,
  instruction_id uuid,
  payment_id uuid,
  subject_id uuid NOT NULL,
  happened text NOT NULL,
  certain text NOT NULL,
  ask_bank text NOT NULL,
  payments integer NOT NULL DEFAULT 0,
  amount_minor bigint NOT NULL DEFAULT 0,
  opened_at timestamp with time zone NOT NULL DEFAULT now(),
  resolved_at timestamp with time zone,
  resolution text,
  bank_words text,
  lacking_minor bigint,
  records jsonb,
  beyond_payments integer,
  beyond_minor bigint,
  differing text[],
  refusals jsonb,
  asked_rows jsonb,
  loss jsonb,
  CONSTRAINT attention_beyond_whole CHECK (((beyond_payments IS NULL) = (beyond_minor IS NULL))),
  CONSTRAINT attention_check CHECK (((resolved_at IS NULL) = (resolution IS NULL))),
  CONSTRAINT attention_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT attention_employer_id_instruction_id_fkey FOREIGN KEY (employer_id, instruction_id) REFERENCES instruction(employer_id, id),
  CONSTRAINT attention_employer_id_pay_run_id_fkey FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT attention_employer_id_payment_id_fkey FOREIGN KEY (employer_id, payment_id) REFERENCES payment(employer_id, id),
  CONSTRAINT attention_pkey PRIMARY KEY (employer_id, id)
);
CREATE INDEX contradiction_by_payment ON public.attention USING btree (employer_id, payment_id) WHERE (kind = 'CONTRADICTION'::text);
CREATE UNIQUE INDEX one_open_attention_per_kind_and_subject ON public.attention USING btree (employer_id, kind, subject_id) WHERE (resolved_at IS NULL);
CREATE TRIGGER refuse_change_of_a_resolved_attention BEFORE UPDATE ON public.attention FOR EACH ROW WHEN (((old.resolved_at IS NOT NULL) AND (new.* IS DISTINCT FROM old.*))) EXECUTE FUNCTION refuse_change_of_a_resolved_attention();
ALTER TABLE attention FORCE ROW LEVEL SECURITY;
CREATE POLICY every_employer ON attention FOR SELECT TO payrun_worker USING (true);
CREATE POLICY own_employer ON attention FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON attention TO payrun_app;
GRANT UPDATE (resolution, resolved_at) ON attention TO payrun_app;
GRANT SELECT (kind, opened_at, resolved_at) ON attention TO payrun_worker;

CREATE TABLE attention_action (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  attention_id uuid NOT NULL,
  action text NOT NULL,
  reason text NOT NULL,
  evidence text,
  proposed_by uuid NOT NULL,
  proposed_at timestamp with time zone NOT NULL DEFAULT now(),
  confirmed_by uuid,
  confirmed_at timestamp with time zone,
  withdrawn_at timestamp with time zone,
  payment_ids uuid[],
  payment_statuses text[],
  CONSTRAINT attention_action_check CHECK (((confirmed_by IS NULL) = (confirmed_at IS NULL))),
  CONSTRAINT attention_action_confirmed_by_fkey FOREIGN KEY (confirmed_by) REFERENCES person(id),
  CONSTRAINT attention_action_employer_id_attention_id_fkey FOREIGN KEY (employer_id, attention_id) REFERENCES attention(employer_id, id),
  CONSTRAINT attention_action_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT attention_action_proposed_by_fkey FOREIGN KEY (proposed_by) REFERENCES person(id),
  CONSTRAINT attention_action_reason_check CHECK (((length(reason) >= 3) AND (length(reason) <= 500))),
  CONSTRAINT confirmed_or_withdrawn CHECK (((confirmed_at IS NULL) OR (withdrawn_at IS NULL))),
  CONSTRAINT meaning_names_payments_and_evidence CHECK (
CASE
    WHEN (action = ANY (ARRAY['PAID'::text, 'NOT_PAID'::text])) THEN ((COALESCE(cardinality(payment_ids), 0) > 0) AND (COALESCE(length(btrim(evidence)), 0) >= 3))
    ELSE (payment_ids IS NULL)
END) NOT VALID,
  CONSTRAINT statuses_are_of_payments CHECK ((cardinality(payment_statuses) = COALESCE(cardinality(payment_ids), 0))),
  CONSTRAINT two_people CHECK (((confirmed_by IS NULL) OR (confirmed_by <> proposed_by)))
);
CREATE UNIQUE INDEX one_open_action_per_attention ON public.attention_action USING btree (employer_id, attention_id) WHERE ((confirmed_at IS NULL) AND (withdrawn_at IS NULL));
CREATE TRIGGER refuse_change_of_a_decided_action BEFORE UPDATE ON public.attention_action FOR EACH ROW WHEN (((old.confirmed_at IS NOT NULL) OR (old.withdrawn_at IS NOT NULL) OR (((((((old.attention_id IS DISTINCT FROM new.attention_id) OR (old.action IS DISTINCT FROM new.action)) OR (old.reason IS DISTINCT FROM new.reason)) OR (old.evidence IS DISTINCT FROM new.evidence)) OR (old.proposed_by IS DISTINCT FROM new.proposed_by)) OR (old.payment_ids IS DISTINCT FROM new.payment_ids)) OR (old.payment_statuses IS DISTINCT FROM new.payment_statuses)))) EXECUTE FUNCTION refuse_change_of_a_decided_action();
CREATE TRIGGER refuse_confirmation_without_role BEFORE UPDATE ON public.attention_action FOR EACH ROW WHEN (((old.confirmed_by IS NULL) AND (new.confirmed_by IS NOT NULL))) EXECUTE FUNCTION refuse_confirmation_without_role();
ALTER TABLE attention_action FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON attention_action FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT, UPDATE ON attention_action TO payrun_app;

CREATE TABLE audit_entry (
  chain_id uuid NOT NULL,
  seq bigint NOT NULL,
  at timestamp with time zone NOT NULL,
  person_id uuid,
  action text NOT NULL,
  subject text NOT NULL,
  detail jsonb NOT NULL,
  previous_hash bytea NOT NULL,
  entry_hash bytea NOT NULL,
  CONSTRAINT audit_entry_entry_hash_check CHECK ((octet_length(entry_hash) = 32)),
  CONSTRAINT audit_entry_person_id_fkey FOREIGN KEY (person_id) REFERENCES person(id),
  CONSTRAINT audit_entry_pkey PRIMARY KEY (chain_id, seq),
  CONSTRAINT audit_entry_previous_hash_check CHECK ((octet_length(previous_hash) = 32))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_rewriting_the_past();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.audit_entry FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_the_past();
ALTER TABLE audit_entry FORCE ROW LEVEL SECURITY;
CREATE POLICY own_chain ON audit_entry FOR ALL TO payrun_app USING ((chain_id = COALESCE(( SELECT current_employer() AS current_employer), '00000000-0000-0000-0000-000000000000'::uuid))) WITH CHECK ((chain_id = COALESCE(( SELECT current_employer() AS current_employer), '00000000-0000-0000-0000-000000000000'::uuid)));
GRANT INSERT, SELECT ON audit_entry TO payrun_app;

CREATE TABLE audit_head (
  chain_id uuid NOT NULL,
  last_seq bigint NOT NULL DEFAULT 0,
  last_hash bytea NOT NULL,
  CONSTRAINT audit_head_last_hash_check CHECK ((octet_length(last_hash) = 32)),
  CONSTRAINT audit_head_pkey PRIMARY KEY (chain_id)
);
ALTER TABLE audit_head FORCE ROW LEVEL SECURITY;
CREATE POLICY own_chain ON audit_head FOR ALL TO payrun_app USING ((chain_id = COALESCE(( SELECT current_employer() AS current_employer), '00000000-0000-0000-0000-000000000000'::uuid))) WITH CHECK ((chain_id = COALESCE(( SELECT current_employer() AS current_employer), '00000000-0000-0000-0000-000000000000'::uuid)));
GRANT INSERT, SELECT, UPDATE ON audit_head TO payrun_app;

CREATE TABLE bank_call (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  intended_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  operation text NOT NULL,
  instruction_id uuid NOT NULL,
  target text NOT NULL,
  body_hash bytea NOT NULL,
  attempt integer NOT NULL,
  epoch bigint NOT NULL,
  outcome text,
  outcome_detail text,
  finished_at timestamp with time zone,
  CONSTRAINT bank_call_operation_check CHECK ((operation = ANY (ARRAY['initiate'::text, 'submit'::text, 'delete'::text, 'open_account'::text, 'close_account'::text]))),
  CONSTRAINT bank_call_outcome_check CHECK ((outcome = ANY (ARRAY['YES'::text, 'NO'::text, 'IN_DOUBT'::text]))),
  CONSTRAINT bank_call_pkey PRIMARY KEY (employer_id, id, intended_at)
) PARTITION BY RANGE (intended_at);
CREATE INDEX bank_call_by_instruction ON ONLY public.bank_call USING btree (employer_id, instruction_id);
CREATE INDEX bank_call_submit_answered ON ONLY public.bank_call USING btree (employer_id, outcome, finished_at) WHERE (operation = 'submit'::text);
ALTER TABLE bank_call FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON bank_call FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON bank_call TO payrun_app;
GRANT UPDATE (finished_at, outcome, outcome_detail) ON bank_call TO payrun_app;

CREATE TABLE bank_event (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  body_hash bytea NOT NULL,
  event text NOT NULL,
  account_ids uuid[] NOT NULL DEFAULT '{}'::uuid[],
  times integer NOT NULL DEFAULT 1,
  first_received_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  last_received_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT bank_event_body_hash_check CHECK ((octet_length(body_hash) = 32)),
  CONSTRAINT bank_event_employer_id_body_hash_key UNIQUE (employer_id, body_hash),
  CONSTRAINT bank_event_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT bank_event_event_check CHECK (((length(event) >= 1) AND (length(event) <= 100))),
  CONSTRAINT bank_event_pkey PRIMARY KEY (employer_id, id)
);
CREATE INDEX bank_event_by_time ON public.bank_event USING btree (employer_id, last_received_at, id);
ALTER TABLE bank_event FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON bank_event FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON bank_event TO payrun_app;
GRANT UPDATE (last_received_at, times) ON bank_event TO payrun_app;

CREATE TABLE bank_hook (
  employer_id uuid NOT NULL,
  bank_hook_id text NOT NULL,
  bank_identity_id text NOT NULL,
  associated_at timestamp with time zone NOT NULL DEFAULT now(),
  removed_at timestamp with time zone,
  CONSTRAINT bank_hook_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT bank_hook_pkey PRIMARY KEY (employer_id, bank_hook_id, bank_identity_id)
);
ALTER TABLE bank_hook FORCE ROW LEVEL SECURITY;
CREATE POLICY every_employer ON bank_hook FOR SELECT TO payrun_worker USING (true);
CREATE POLICY own_employer ON bank_hook FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT, UPDATE ON bank_hook TO payrun_app;
GRANT SELECT (associated_at, bank_hook_id, bank_identity_id, employer_id, removed_at) ON bank_hook TO payrun_worker;

CREATE TABLE bank_list (
  list text NOT NULL,
  row_count integer NOT NULL,
  page_rows integer,
  read_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  lacked_at timestamp with time zone,
  unsubmitted_shown_at timestamp with time zone,
  CONSTRAINT bank_list_list_check CHECK ((list = ANY (ARRAY['PAYMENTS'::text, 'INSTRUCTION_PAYMENTS'::text]))),
  CONSTRAINT bank_list_page_rows_check CHECK ((page_rows > 0)),
  CONSTRAINT bank_list_pkey PRIMARY KEY (list),
  CONSTRAINT bank_list_row_count_check CHECK ((row_count >= 0))
);
GRANT INSERT, SELECT ON bank_list TO payrun_app;
GRANT UPDATE (lacked_at, page_rows, read_at, row_count, unsubmitted_shown_at) ON bank_list TO payrun_app;

CREATE TABLE bank_payment (
  employer_id uuid NOT NULL,
  instruction_id uuid NOT NULL,
  row_no integer NOT NULL,
  payment_id uuid NOT NULL,
  bank_payment_id text,
  bank_transaction_id text,
  add_outcome text NOT NULL,
  bank_status text,
  bank_rank smallint NOT NULL DEFAULT 0,
  bank_status_at timestamp with time zone,
  last_seen_at timestamp with time zone,
  shown_status text,
  behind_since timestamp with time zone,
  add_doubt text,
  shown_otherwise text,
  came_back_as text,
  charges_unread boolean NOT NULL DEFAULT false,
  more_back_since timestamp with time zone,
  CONSTRAINT bank_payment_add_outcome_check CHECK ((add_outcome = ANY (ARRAY['ADDED'::text, 'ADOPTED'::text, 'IN_DOUBT'::text, 'REFUSED'::text]))),
  CONSTRAINT bank_payment_check CHECK (((add_outcome = ANY (ARRAY['ADDED'::text, 'ADOPTED'::text])) = (bank_payment_id IS NOT NULL))),
  CONSTRAINT bank_payment_pkey PRIMARY KEY (employer_id, instruction_id, row_no)
);
CREATE INDEX bank_payment_by_transaction ON public.bank_payment USING btree (bank_transaction_id) WHERE (bank_transaction_id IS NOT NULL);
CREATE INDEX bank_payment_not_taken ON public.bank_payment USING btree (employer_id, instruction_id) WHERE (add_outcome = ANY (ARRAY['IN_DOUBT'::text, 'REFUSED'::text]));
CREATE INDEX bank_payment_shown_otherwise ON public.bank_payment USING btree (employer_id, instruction_id) WHERE (shown_otherwise IS NOT NULL);
CREATE UNIQUE INDEX one_row_per_bank_payment ON public.bank_payment USING btree (bank_payment_id) WHERE (bank_payment_id IS NOT NULL);
CREATE TRIGGER refuse_bank_payment_of_nobody AFTER INSERT ON public.bank_payment REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION refuse_bank_payment_of_nobody();
CREATE TRIGGER refuse_change_of_a_key BEFORE UPDATE OF employer_id, instruction_id, row_no, payment_id, bank_payment_id ON public.bank_payment FOR EACH ROW WHEN ((((((new.employer_id IS DISTINCT FROM old.employer_id) OR (new.instruction_id IS DISTINCT FROM old.instruction_id)) OR (new.row_no IS DISTINCT FROM old.row_no)) OR (new.payment_id IS DISTINCT FROM old.payment_id)) OR ((old.bank_payment_id IS NOT NULL) AND (new.bank_payment_id IS DISTINCT FROM old.bank_payment_id)))) EXECUTE FUNCTION refuse_change_of_a_key();
CREATE TRIGGER refuse_falling_rank BEFORE UPDATE OF bank_rank ON public.bank_payment FOR EACH ROW WHEN ((new.bank_rank < old.bank_rank)) EXECUTE FUNCTION refuse_falling_rank();
ALTER TABLE bank_payment FORCE ROW LEVEL SECURITY;
CREATE POLICY every_employer ON bank_payment FOR SELECT TO payrun_worker USING (true);
CREATE POLICY own_employer ON bank_payment FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT, UPDATE ON bank_payment TO payrun_app;
GRANT SELECT (bank_payment_id, bank_transaction_id, employer_id, instruction_id) ON bank_payment TO payrun_worker;

CREATE TABLE bank_rate (
  id smallint NOT NULL DEFAULT 1,
  learned_per_minute integer,
  learned_at timestamp with time zone,
  next_due_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  paused_until timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT bank_rate_check CHECK (((learned_per_minute IS NULL) = (learned_at IS NULL))),
  CONSTRAINT bank_rate_id_check CHECK ((id = 1)),
  CONSTRAINT bank_rate_learned_per_minute_check CHECK ((learned_per_minute > 0)),
  CONSTRAINT bank_rate_pkey PRIMARY KEY (id)
);
GRANT SELECT ON bank_rate TO payrun_app;
GRANT UPDATE (learned_at, learned_per_minute, next_due_at, paused_until) ON bank_rate TO payrun_app;

CREATE TABLE database_identity (
  id smallint NOT NULL DEFAULT 1,
  system_identifier text,
  timeline integer,
  database_oid bigint NOT NULL,
  written_by xid8 NOT NULL,
  known_since timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT database_identity_id_check CHECK ((id = 1)),
  CONSTRAINT database_identity_pkey PRIMARY KEY (id)
);
GRANT INSERT, SELECT ON database_identity TO payrun_app;
GRANT UPDATE (database_oid, known_since, system_identifier, timeline, written_by) ON database_identity TO payrun_app;

CREATE TABLE database_restore (
  id uuid NOT NULL,
  what text NOT NULL,
  data_until timestamp with time zone,
  noticed_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  told_at timestamp with time zone,
  bank_read_at timestamp with time zone,
  unsubmitted_shown_at timestamp with time zone,
  nth integer NOT NULL DEFAULT (known_restores() + 1),
  CONSTRAINT database_restore_pkey PRIMARY KEY (id),
  CONSTRAINT database_restore_what_check CHECK (((length(what) >= 1) AND (length(what) <= 1000)))
);
GRANT INSERT, SELECT ON database_restore TO payrun_app;
GRANT UPDATE (bank_read_at, told_at, unsubmitted_shown_at) ON database_restore TO payrun_app;

CREATE TABLE employer (
  id uuid NOT NULL,
  name text NOT NULL,
  time_zone text NOT NULL,
  rows_per_instruction integer NOT NULL DEFAULT 500,
  approvals_required smallint NOT NULL DEFAULT 1,
  stopped_at timestamp with time zone,
  stopped_reason text,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  fault_policy jsonb NOT NULL DEFAULT '{"policy": "strict"}'::jsonb,
  tick_ibans boolean NOT NULL DEFAULT true,
  net_change_basis_points integer NOT NULL DEFAULT 2000,
  remittance_template text,
  payment_limit_minor bigint,
  run_limit_minor amount_minor,
  increase_limit_bp integer,
  days_ahead_limit integer,
  known_restores integer NOT NULL DEFAULT known_restores(),
  CONSTRAINT employer_approvals_required_check CHECK (((approvals_required >= 1) AND (approvals_required <= 5))),
  CONSTRAINT employer_check CHECK (((stopped_at IS NULL) = (stopped_reason IS NULL))),
  CONSTRAINT employer_days_ahead_limit_check CHECK (((days_ahead_limit >= 7) AND (days_ahead_limit <= 366))),
  CONSTRAINT employer_fault_policy_check CHECK ((COALESCE((fault_policy ->> 'policy'::text), ''::text) = ANY (ARRAY['strict'::text, 'hold'::text, 'threshold'::text]))),
  CONSTRAINT employer_increase_limit_bp_check CHECK (((increase_limit_bp >= 0) AND (increase_limit_bp <= 1000000))),
  CONSTRAINT employer_name_check CHECK (((length(name) >= 1) AND (length(name) <= 70))),
  CONSTRAINT employer_name_key UNIQUE (name),
  CONSTRAINT employer_net_change_basis_points_check CHECK (((net_change_basis_points >= 0) AND (net_change_basis_points <= 1000000))),
  CONSTRAINT employer_payment_limit_minor_check CHECK (((payment_limit_minor >= 1) AND (payment_limit_minor <= '99999999999'::bigint))),
  CONSTRAINT employer_pkey PRIMARY KEY (id),
  CONSTRAINT employer_remittance_template_check CHECK (((length(remittance_template) >= 1) AND (length(remittance_template) <= 140))),
  CONSTRAINT employer_rows_per_instruction_check CHECK (((rows_per_instruction >= 1) AND (rows_per_instruction <= 10000))),
  CONSTRAINT employer_run_limit_minor_check CHECK (((run_limit_minor)::bigint >= 1))
);
ALTER TABLE employer FORCE ROW LEVEL SECURITY;
CREATE POLICY every_employer ON employer FOR SELECT TO payrun_worker USING (true);
CREATE POLICY own_employer ON employer FOR ALL TO payrun_app USING ((id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT, UPDATE ON employer TO payrun_app;
GRANT SELECT (created_at, id) ON employer TO payrun_worker;

CREATE TABLE employer_account (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  bank_account_id text NOT NULL,
  bank_user_id text NOT NULL,
  debtor_name text NOT NULL,
  iban_sealed text NOT NULL,
  iban_hash bytea NOT NULL,
  bic text,
  currency text NOT NULL,
  bank_status text NOT NULL,
  reads text[] NOT NULL DEFAULT '{}'::text[],
  page_base smallint,
  probed_at timestamp with time zone,
  unit_confirmed text,
  unit_confirmed_at timestamp with time zone,
  unit_confirmed_by uuid,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  detached_at timestamp with time zone,
  bank_status_at timestamp with time zone,
  CONSTRAINT employer_account_check CHECK (((unit_confirmed IS NULL) = (unit_confirmed_at IS NULL))),
  CONSTRAINT employer_account_check1 CHECK (((unit_confirmed IS NULL) = (unit_confirmed_by IS NULL))),
  CONSTRAINT employer_account_currency_check CHECK ((currency = 'EUR'::text)),
  CONSTRAINT employer_account_debtor_name_check CHECK (((length(debtor_name) >= 1) AND (length(debtor_name) <= 70))),
  CONSTRAINT employer_account_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT employer_account_page_base_check CHECK ((page_base = ANY (ARRAY[0, 1]))),
  CONSTRAINT employer_account_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT employer_account_unit_confirmed_by_fkey FOREIGN KEY (unit_confirmed_by) REFERENCES person(id),
  CONSTRAINT employer_account_unit_confirmed_check CHECK ((unit_confirmed = ANY (ARRAY['minor'::text, 'major'::text])))
);
CREATE UNIQUE INDEX employer_account_bank_account_id_key ON public.employer_account USING btree (bank_account_id) WHERE (detached_at IS NULL);
CREATE INDEX employer_account_by_bank_user ON public.employer_account USING btree (bank_user_id);
CREATE INDEX employer_account_by_iban ON public.employer_account USING btree (iban_hash);
CREATE TRIGGER refuse_detachment_in_use BEFORE UPDATE OF detached_at ON public.employer_account FOR EACH ROW WHEN ((new.detached_at IS DISTINCT FROM old.detached_at)) EXECUTE FUNCTION refuse_detachment_in_use();
ALTER TABLE employer_account FORCE ROW LEVEL SECURITY;
CREATE POLICY every_employer ON employer_account FOR SELECT TO payrun_worker USING (true);
CREATE POLICY own_employer ON employer_account FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT, UPDATE ON employer_account TO payrun_app;
GRANT SELECT (bank_account_id, bank_user_id, detached_at, employer_id, iban_hash, id) ON employer_account TO payrun_worker;

CREATE TABLE fact_sequence (
  employer_id uuid NOT NULL,
  last_seq bigint NOT NULL DEFAULT 0,
  CONSTRAINT fact_sequence_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT fact_sequence_pkey PRIMARY KEY (employer_id)
);
ALTER TABLE fact_sequence FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON fact_sequence FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT, UPDATE ON fact_sequence TO payrun_app;

CREATE TABLE faulty_file (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  pay_run_id uuid,
  sha256 bytea NOT NULL,
  layout jsonb NOT NULL,
  row_count integer NOT NULL,
  fault_count integer NOT NULL,
  read_rows integer NOT NULL,
  read_total_minor numeric(24,0),
  uploaded_by uuid NOT NULL,
  uploaded_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamp with time zone,
  binds_author boolean NOT NULL DEFAULT true,
  CONSTRAINT faulty_file_check CHECK ((fault_count >= row_count)),
  CONSTRAINT faulty_file_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT faulty_file_employer_id_pay_run_id_fkey FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT faulty_file_layout_check CHECK ((jsonb_typeof(layout) = 'object'::text)),
  CONSTRAINT faulty_file_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT faulty_file_row_count_check CHECK ((row_count >= 1)),
  CONSTRAINT faulty_file_sha256_check CHECK ((octet_length(sha256) = 32)),
  CONSTRAINT faulty_file_uploaded_by_fkey FOREIGN KEY (uploaded_by) REFERENCES person(id),
  CONSTRAINT refused_file_expires CHECK (((pay_run_id IS NULL) = (expires_at IS NOT NULL)))
);
CREATE UNIQUE INDEX one_faulty_file_of_a_run ON public.faulty_file USING btree (employer_id, pay_run_id) WHERE (pay_run_id IS NOT NULL);
CREATE TRIGGER refuse_forgetting_of_a_run BEFORE DELETE ON public.faulty_file FOR EACH ROW WHEN ((old.pay_run_id IS NOT NULL)) EXECUTE FUNCTION refuse_forgetting_of_a_run();
ALTER TABLE faulty_file FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON faulty_file FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT DELETE, INSERT, SELECT ON faulty_file TO payrun_app;

CREATE TABLE faulty_row (
  employer_id uuid NOT NULL,
  faulty_file_id uuid NOT NULL,
  line integer NOT NULL,
  row_no integer NOT NULL,
  employee_id text,
  amount_minor bigint,
  cells_sealed text NOT NULL,
  faults_sealed text NOT NULL,
  fault_count integer NOT NULL,
  payment_id uuid,
  rewritten_by uuid[] NOT NULL DEFAULT '{}'::uuid[],
  CONSTRAINT faulty_row_employer_id_faulty_file_id_fkey FOREIGN KEY (employer_id, faulty_file_id) REFERENCES faulty_file(employer_id, id) ON DELETE CASCADE,
  CONSTRAINT faulty_row_employer_id_payment_id_fkey FOREIGN KEY (employer_id, payment_id) REFERENCES payment(employer_id, id),
  CONSTRAINT faulty_row_fault_count_check CHECK ((fault_count >= 1)),
  CONSTRAINT faulty_row_line_check CHECK ((line >= 1)),
  CONSTRAINT faulty_row_pkey PRIMARY KEY (employer_id, faulty_file_id, line),
  CONSTRAINT faulty_row_row_no_check CHECK ((row_no >= 1))
);
CREATE UNIQUE INDEX one_faulty_row_of_a_payment ON public.faulty_row USING btree (employer_id, payment_id) WHERE (payment_id IS NOT NULL);
CREATE TRIGGER refuse_change_of_a_corrected_row BEFORE UPDATE ON public.faulty_row FOR EACH ROW WHEN (((old.payment_id IS NOT NULL) AND (new.* IS DISTINCT FROM old.*))) EXECUTE FUNCTION refuse_change_of_a_corrected_row();
CREATE TRIGGER refuse_foreign_correction BEFORE INSERT OR UPDATE ON public.faulty_row FOR EACH ROW WHEN ((new.payment_id IS NOT NULL)) EXECUTE FUNCTION refuse_foreign_correction();
ALTER TABLE faulty_row FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON faulty_row FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON faulty_row TO payrun_app;
GRANT UPDATE (amount_minor, cells_sealed, employee_id, fault_count, faults_sealed, payment_id, rewritten_by) ON faulty_row TO payrun_app;

CREATE TABLE forgotten_debit (
  restore_id uuid NOT NULL,
  bank_instruction_id text NOT NULL,
  debtor_hash bytea,
  found_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  execution_date date,
  CONSTRAINT forgotten_debit_pkey PRIMARY KEY (restore_id, bank_instruction_id),
  CONSTRAINT forgotten_debit_restore_id_fkey FOREIGN KEY (restore_id) REFERENCES database_restore(id)
);
GRANT INSERT, SELECT ON forgotten_debit TO payrun_app;

CREATE TABLE forgotten_instruction (
  employer_id uuid NOT NULL,
  bank_instruction_id text NOT NULL,
  restore_id uuid,
  pay_run_id uuid,
  instruction_id uuid,
  reference text,
  bank_status text NOT NULL,
  found_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  adopted_at timestamp with time zone,
  action_id uuid,
  executed_payments integer,
  executed_minor bigint,
  submitted_as text,
  execution_date date,
  payments integer,
  CONSTRAINT forgotten_instruction_counts_what_is_decided CHECK ((((executed_payments IS NULL) = (executed_minor IS NULL)) AND ((executed_payments IS NULL) OR ((executed_payments >= 0) AND (executed_minor >= 0) AND (action_id IS NOT NULL))))),
  CONSTRAINT forgotten_instruction_employer_id_action_id_fkey FOREIGN KEY (employer_id, action_id) REFERENCES attention_action(employer_id, id),
  CONSTRAINT forgotten_instruction_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT forgotten_instruction_employer_id_pay_run_id_fkey FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT forgotten_instruction_has_cause CHECK (((restore_id IS NOT NULL) OR (action_id IS NOT NULL))),
  CONSTRAINT forgotten_instruction_pkey PRIMARY KEY (employer_id, bank_instruction_id),
  CONSTRAINT forgotten_instruction_restore_id_fkey FOREIGN KEY (restore_id) REFERENCES database_restore(id)
);
CREATE INDEX forgotten_instruction_by_run ON public.forgotten_instruction USING btree (employer_id, pay_run_id) WHERE (adopted_at IS NULL);
CREATE TRIGGER refuse_decision_by_one_person BEFORE INSERT OR UPDATE OF action_id ON public.forgotten_instruction FOR EACH ROW WHEN ((new.action_id IS NOT NULL)) EXECUTE FUNCTION refuse_decision_by_one_person();
CREATE TRIGGER refuse_other_submitted_status BEFORE UPDATE OF submitted_as ON public.forgotten_instruction FOR EACH ROW WHEN (((old.submitted_as IS NOT NULL) AND (new.submitted_as IS DISTINCT FROM old.submitted_as))) EXECUTE FUNCTION refuse_other_submitted_status();
CREATE TRIGGER refuse_second_decision BEFORE UPDATE OF action_id, executed_payments, executed_minor ON public.forgotten_instruction FOR EACH ROW WHEN (((old.action_id IS NOT NULL) AND ((new.action_id IS DISTINCT FROM old.action_id) OR ((old.executed_payments IS NOT NULL) AND ((new.executed_payments IS DISTINCT FROM old.executed_payments) OR (new.executed_minor IS DISTINCT FROM old.executed_minor)))))) EXECUTE FUNCTION refuse_second_decision();
CREATE TRIGGER refuse_taking_back_without_a_submit BEFORE UPDATE OF adopted_at ON public.forgotten_instruction FOR EACH ROW WHEN ((new.adopted_at IS DISTINCT FROM old.adopted_at)) EXECUTE FUNCTION refuse_taking_back_without_a_submit();
ALTER TABLE forgotten_instruction FORCE ROW LEVEL SECURITY;
CREATE POLICY begins_at_the_beginning ON forgotten_instruction FOR INSERT TO payrun_app WITH CHECK ((adopted_at IS NULL));
CREATE POLICY every_employer ON forgotten_instruction FOR SELECT TO payrun_worker USING (true);
CREATE POLICY own_employer ON forgotten_instruction FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON forgotten_instruction TO payrun_app;
GRANT UPDATE (action_id, adopted_at, executed_minor, executed_payments, submitted_as) ON forgotten_instruction TO payrun_app;
GRANT SELECT (adopted_at, employer_id) ON forgotten_instruction TO payrun_worker;

CREATE TABLE hash_key (
  id uuid NOT NULL,
  fingerprint bytea NOT NULL,
  known_since timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  given_up_at timestamp with time zone,
  CONSTRAINT hash_key_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX one_hash_key ON public.hash_key USING btree (((given_up_at IS NULL))) WHERE (given_up_at IS NULL);
GRANT INSERT, SELECT ON hash_key TO payrun_app;
GRANT UPDATE (given_up_at) ON hash_key TO payrun_app;

CREATE TABLE hook_address (
  url text NOT NULL,
  declared_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT hook_address_pkey PRIMARY KEY (url)
);
GRANT INSERT, SELECT ON hook_address TO payrun_app;
GRANT UPDATE (declared_at) ON hook_address TO payrun_app;

CREATE TABLE hook_subscription (
  bank_hook_id text NOT NULL,
  url text,
  shown_as text,
  events text[] NOT NULL DEFAULT '{}'::text[],
  subscribed_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamp with time zone,
  CONSTRAINT hook_subscription_pkey PRIMARY KEY (bank_hook_id)
);
GRANT INSERT, SELECT ON hook_subscription TO payrun_app;
GRANT UPDATE (ended_at, events, shown_as, subscribed_at, url) ON hook_subscription TO payrun_app;
GRANT SELECT (bank_hook_id, subscribed_at) ON hook_subscription TO payrun_worker;

CREATE TABLE iban_tick (
  employer_id uuid NOT NULL,
  pay_run_id uuid NOT NULL,
  run_version integer NOT NULL,
  payment_id uuid,
  reason text,
  ticked_by uuid NOT NULL,
  ticked_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT a_bulk_decision_says_why CHECK (((payment_id IS NULL) = (reason IS NOT NULL))),
  CONSTRAINT iban_tick_employer_id_pay_run_id_run_version_fkey FOREIGN KEY (employer_id, pay_run_id, run_version) REFERENCES pay_run_version(employer_id, pay_run_id, run_version),
  CONSTRAINT iban_tick_employer_id_payment_id_fkey FOREIGN KEY (employer_id, payment_id) REFERENCES payment(employer_id, id),
  CONSTRAINT iban_tick_reason_check CHECK (((length(reason) >= 3) AND (length(reason) <= 500))),
  CONSTRAINT iban_tick_ticked_by_fkey FOREIGN KEY (ticked_by) REFERENCES person(id),
  CONSTRAINT one_tick_per_iban_and_person UNIQUE NULLS NOT DISTINCT (pay_run_id, employer_id, run_version, payment_id, ticked_by)
);
CREATE TRIGGER refuse_tick_by_a_preparer AFTER INSERT ON public.iban_tick REFERENCING NEW TABLE AS ticked FOR EACH STATEMENT EXECUTE FUNCTION refuse_tick_by_a_preparer();
ALTER TABLE iban_tick FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON iban_tick FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON iban_tick TO payrun_app;

CREATE TABLE idempotency_key (
  employer_id uuid NOT NULL,
  person_id uuid NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  response_status smallint,
  response_body jsonb,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT idempotency_key_fingerprint_check CHECK ((octet_length(fingerprint) = 32)),
  CONSTRAINT idempotency_key_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255))),
  CONSTRAINT idempotency_key_person_id_fkey FOREIGN KEY (person_id) REFERENCES person(id),
  CONSTRAINT idempotency_key_pkey PRIMARY KEY (employer_id, person_id, key)
);
ALTER TABLE idempotency_key FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON idempotency_key FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT DELETE, INSERT, SELECT, UPDATE ON idempotency_key TO payrun_app;

CREATE TABLE installation_event (
  id uuid NOT NULL,
  body_hash bytea NOT NULL,
  event text NOT NULL,
  times integer NOT NULL DEFAULT 1,
  first_received_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  last_received_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT installation_event_body_hash_check CHECK ((octet_length(body_hash) = 32)),
  CONSTRAINT installation_event_body_hash_key UNIQUE (body_hash),
  CONSTRAINT installation_event_event_check CHECK (((length(event) >= 1) AND (length(event) <= 100))),
  CONSTRAINT installation_event_pkey PRIMARY KEY (id)
);
CREATE INDEX installation_event_by_time ON public.installation_event USING btree (last_received_at, id);
GRANT INSERT, SELECT ON installation_event TO payrun_app;
GRANT UPDATE (last_received_at, times) ON installation_event TO payrun_app;

CREATE TABLE instruction (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  pay_run_id uuid NOT NULL,
  planned_instruction_id uuid NOT NULL,
  attempt integer NOT NULL,
  status text NOT NULL,
  bank_instruction_id text,
  bank_status text,
  bank_rank smallint NOT NULL DEFAULT 0,
  verified_at timestamp with time zone,
  submitted_at timestamp with time zone,
  totals_checked_at timestamp with time zone,
  closed_at timestamp with time zone,
  outcome text,
  ended_reason text,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  payments_read_at timestamp with time zone,
  went_on_at timestamp with time zone,
  CONSTRAINT instruction_attempt_check CHECK ((attempt >= 1)),
  CONSTRAINT instruction_bank_instruction_id_key UNIQUE (bank_instruction_id),
  CONSTRAINT instruction_check CHECK (((status <> 'CLOSED'::text) OR (outcome IS NOT NULL))),
  CONSTRAINT instruction_employer_id_pay_run_id_planned_instruction_id_fkey FOREIGN KEY (employer_id, pay_run_id, planned_instruction_id) REFERENCES planned_instruction(employer_id, pay_run_id, id),
  CONSTRAINT instruction_outcome_check CHECK ((outcome = ANY (ARRAY['SETTLED'::text, 'PARTLY_SETTLED'::text, 'FAILED'::text]))),
  CONSTRAINT instruction_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT one_instruction_per_attempt UNIQUE (planned_instruction_id, employer_id, attempt)
);
CREATE INDEX instruction_being_built ON public.instruction USING btree (id) WHERE (status = ANY (ARRAY['PLANNED'::text, 'BUILDING'::text]));
CREATE INDEX instruction_by_run ON public.instruction USING btree (pay_run_id, employer_id);
CREATE UNIQUE INDEX one_live_instruction_per_planned_instruction ON public.instruction USING btree (employer_id, planned_instruction_id) WHERE (status <> ALL (ARRAY['ABANDONED'::text, 'CANCELLED'::text]));
CREATE TRIGGER never_deleted BEFORE DELETE ON public.instruction FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER refuse_arming_after_a_restore BEFORE UPDATE OF status ON public.instruction FOR EACH ROW WHEN (((old.status = 'SUBMIT_INTENT'::text) AND (new.status = 'VERIFIED'::text))) EXECUTE FUNCTION refuse_arming_after_a_restore();
CREATE TRIGGER refuse_change_of_identity BEFORE UPDATE ON public.instruction FOR EACH ROW WHEN (((((((new.employer_id IS DISTINCT FROM old.employer_id) OR (new.id IS DISTINCT FROM old.id)) OR (new.pay_run_id IS DISTINCT FROM old.pay_run_id)) OR (new.planned_instruction_id IS DISTINCT FROM old.planned_instruction_id)) OR (new.attempt IS DISTINCT FROM old.attempt)) OR ((old.bank_instruction_id IS NOT NULL) AND (new.bank_instruction_id IS DISTINCT FROM old.bank_instruction_id)))) EXECUTE FUNCTION refuse_change_of_identity();
CREATE TRIGGER refuse_falling_rank BEFORE UPDATE OF bank_rank ON public.instruction FOR EACH ROW WHEN ((new.bank_rank < old.bank_rank)) EXECUTE FUNCTION refuse_falling_rank();
CREATE TRIGGER refuse_giving_up_after_a_restore BEFORE UPDATE OF status ON public.instruction FOR EACH ROW WHEN (((new.status = 'ABANDONED'::text) AND (old.status <> 'ABANDONED'::text))) EXECUTE FUNCTION refuse_giving_up_after_a_restore();
CREATE TRIGGER refuse_giving_up_of_a_submit BEFORE UPDATE OF status ON public.instruction FOR EACH ROW WHEN (((new.status <> old.status) AND ((new.status = ANY (ARRAY['ABANDONED'::text, 'RELEASED'::text, 'CANCELLED'::text])) OR ((new.status = 'VERIFIED'::text) AND (old.status = 'SUBMIT_INTENT'::text))))) EXECUTE FUNCTION refuse_giving_up_of_a_submit();
CREATE TRIGGER refuse_illegal_move BEFORE UPDATE OF status ON public.instruction FOR EACH ROW WHEN ((new.status <> old.status)) EXECUTE FUNCTION refuse_illegal_move();
CREATE TRIGGER refuse_release_after_a_restore BEFORE UPDATE OF status ON public.instruction FOR EACH ROW WHEN (((new.status = 'RELEASED'::text) AND (old.status <> 'RELEASED'::text))) EXECUTE FUNCTION refuse_release_after_a_restore();
CREATE TRIGGER refuse_row_in_two_live_instructions BEFORE INSERT ON public.instruction FOR EACH ROW EXECUTE FUNCTION refuse_row_in_two_live_instructions();
CREATE TRIGGER refuse_void_without_two_people BEFORE UPDATE OF status ON public.instruction FOR EACH ROW WHEN (((new.status = 'VOID'::text) AND (old.status <> 'VOID'::text))) EXECUTE FUNCTION refuse_void_without_two_people();
ALTER TABLE instruction FORCE ROW LEVEL SECURITY;
CREATE POLICY begins_at_the_beginning ON instruction FOR INSERT TO payrun_app WITH CHECK ((status = 'PLANNED'::text));
CREATE POLICY every_employer ON instruction FOR SELECT TO payrun_worker USING (true);
CREATE POLICY own_employer ON instruction FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT, UPDATE ON instruction TO payrun_app;
GRANT SELECT (bank_instruction_id, employer_id, id, status) ON instruction TO payrun_worker;

CREATE TABLE invariant_breach (
  employer_id uuid NOT NULL,
  invariant text NOT NULL,
  subject_id uuid NOT NULL,
  id uuid NOT NULL,
  pay_run_id uuid,
  found_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  gone_at timestamp with time zone,
  found integer NOT NULL,
  CONSTRAINT invariant_breach_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT invariant_breach_employer_id_pay_run_id_fkey FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT invariant_breach_invariant_check CHECK (((length(invariant) >= 1) AND (length(invariant) <= 60))),
  CONSTRAINT invariant_breach_pkey PRIMARY KEY (employer_id, invariant, subject_id)
);
ALTER TABLE invariant_breach FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON invariant_breach FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON invariant_breach TO payrun_app;
GRANT UPDATE (found, found_at, gone_at, id) ON invariant_breach TO payrun_app;

CREATE TABLE lease (
  subject_id uuid NOT NULL,
  kind text NOT NULL,
  employer_id uuid NOT NULL,
  wake_at timestamp with time zone NOT NULL,
  holder text,
  epoch bigint NOT NULL DEFAULT 0,
  leased_until timestamp with time zone,
  woken_at timestamp with time zone,
  missing text,
  missing_since timestamp with time zone,
  rest_until timestamp with time zone,
  waits_for text,
  waits_since timestamp with time zone,
  written_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT lease_check CHECK (((holder IS NULL) = (leased_until IS NULL))),
  CONSTRAINT lease_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT lease_kind_check CHECK ((kind = ANY (ARRAY['RUN'::text, 'INSTRUCTION'::text, 'FOLLOW'::text, 'ACCOUNT'::text]))),
  CONSTRAINT lease_pkey PRIMARY KEY (subject_id),
  CONSTRAINT missing_has_its_time CHECK (((missing IS NULL) = (missing_since IS NULL))),
  CONSTRAINT waiting_has_its_time CHECK (((waits_for IS NULL) = (waits_since IS NULL)))
);
CREATE INDEX lease_by_due ON public.lease USING btree (kind, COALESCE(leased_until, wake_at));
CREATE INDEX lease_by_waiting ON public.lease USING btree (employer_id) WHERE (waits_since IS NOT NULL);
CREATE INDEX lease_by_writing ON public.lease USING btree (written_at);
CREATE TRIGGER refuse_falling_epoch BEFORE UPDATE OF epoch ON public.lease FOR EACH ROW WHEN ((new.epoch < old.epoch)) EXECUTE FUNCTION refuse_falling_epoch();
GRANT INSERT, SELECT, UPDATE ON lease TO payrun_app;
GRANT SELECT, UPDATE ON lease TO payrun_worker;

CREATE TABLE moved_instruction (
  employer_id uuid NOT NULL,
  instruction_id uuid NOT NULL,
  bank_status text NOT NULL,
  seen_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT moved_instruction_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT moved_instruction_employer_id_instruction_id_fkey FOREIGN KEY (employer_id, instruction_id) REFERENCES instruction(employer_id, id),
  CONSTRAINT moved_instruction_pkey PRIMARY KEY (employer_id, instruction_id)
);
ALTER TABLE moved_instruction FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON moved_instruction FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON moved_instruction TO payrun_app;

CREATE TABLE moved_payment (
  employer_id uuid NOT NULL,
  instruction_id uuid NOT NULL,
  row_no integer NOT NULL,
  bank_status text NOT NULL,
  is_elsewhere boolean NOT NULL,
  seen_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  back_minor bigint,
  CONSTRAINT moved_payment_employer_id_instruction_id_row_no_fkey FOREIGN KEY (employer_id, instruction_id, row_no) REFERENCES bank_payment(employer_id, instruction_id, row_no),
  CONSTRAINT moved_payment_pkey PRIMARY KEY (employer_id, instruction_id, row_no)
);
ALTER TABLE moved_payment FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON moved_payment FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON moved_payment TO payrun_app;
GRANT UPDATE (back_minor, bank_status, is_elsewhere, seen_at) ON moved_payment TO payrun_app;

CREATE TABLE pay_file (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  sha256 bytea NOT NULL,
  size_bytes bigint NOT NULL,
  content bytea NOT NULL,
  content_codec text NOT NULL,
  file_name text,
  period pay_period NOT NULL,
  kind_of_pay text NOT NULL,
  execution_date date NOT NULL,
  account_id uuid NOT NULL,
  row_count integer NOT NULL,
  total_minor amount_minor NOT NULL,
  pay_run_id uuid NOT NULL,
  replayable boolean NOT NULL DEFAULT true,
  uploaded_by uuid NOT NULL,
  uploaded_at timestamp with time zone NOT NULL DEFAULT now(),
  profile_id uuid,
  read_as jsonb NOT NULL DEFAULT '{}'::jsonb,
  fault_policy jsonb NOT NULL DEFAULT '{"policy": "strict"}'::jsonb,
  replacing integer NOT NULL DEFAULT 0,
  renamed integer NOT NULL DEFAULT 0,
  CONSTRAINT pay_file_content_codec_check CHECK ((content_codec = 'gzip'::text)),
  CONSTRAINT pay_file_counts_its_rows CHECK ((((replacing >= 0) AND (replacing <= row_count)) AND ((renamed >= 0) AND (renamed <= row_count)))),
  CONSTRAINT pay_file_employer_id_account_id_fkey FOREIGN KEY (employer_id, account_id) REFERENCES employer_account(employer_id, id),
  CONSTRAINT pay_file_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT pay_file_employer_id_pay_run_id_fkey FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT pay_file_employer_id_pay_run_id_key UNIQUE (employer_id, pay_run_id),
  CONSTRAINT pay_file_employer_id_profile_id_fkey FOREIGN KEY (employer_id, profile_id) REFERENCES pay_file_profile(employer_id, id),
  CONSTRAINT pay_file_fault_policy_check CHECK ((COALESCE((fault_policy ->> 'policy'::text), ''::text) = ANY (ARRAY['strict'::text, 'hold'::text, 'threshold'::text]))),
  CONSTRAINT pay_file_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT pay_file_sha256_check CHECK ((octet_length(sha256) = 32)),
  CONSTRAINT pay_file_uploaded_by_fkey FOREIGN KEY (uploaded_by) REFERENCES person(id)
);
CREATE UNIQUE INDEX one_live_upload_of_a_file ON public.pay_file USING btree (employer_id, sha256, period, kind_of_pay, execution_date, account_id) WHERE replayable;
ALTER TABLE pay_file FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON pay_file FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON pay_file TO payrun_app;
GRANT UPDATE (replayable) ON pay_file TO payrun_app;

CREATE TABLE pay_file_profile (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  definition jsonb NOT NULL,
  revision bigint NOT NULL DEFAULT 1,
  created_by uuid NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  changed_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  deleted_at timestamp with time zone,
  CONSTRAINT pay_file_profile_created_by_fkey FOREIGN KEY (created_by) REFERENCES person(id),
  CONSTRAINT pay_file_profile_definition_check CHECK ((jsonb_typeof(definition) = 'object'::text)),
  CONSTRAINT pay_file_profile_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT pay_file_profile_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  CONSTRAINT pay_file_profile_pkey PRIMARY KEY (employer_id, id)
);
CREATE UNIQUE INDEX one_profile_of_a_name ON public.pay_file_profile USING btree (employer_id, name) WHERE (deleted_at IS NULL);
ALTER TABLE pay_file_profile FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON pay_file_profile FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON pay_file_profile TO payrun_app;
GRANT UPDATE (changed_at, definition, deleted_at, name, revision) ON pay_file_profile TO payrun_app;

CREATE TABLE pay_hold (
  employer_id uuid NOT NULL,
  pay_run_id uuid NOT NULL,
  row_no integer NOT NULL,
  code text NOT NULL,
  payment_id uuid,
  beside_run_id uuid,
  beside_line integer,
  bound_minor bigint,
  same_rows integer,
  outcome text,
  reason text,
  decided_by uuid,
  decided_at timestamp with time zone,
  run_version integer NOT NULL DEFAULT 1,
  also_beside_run_ids uuid[] NOT NULL DEFAULT '{}'::uuid[],
  beside_payment_ids uuid[],
  later_payment_ids uuid[],
  CONSTRAINT decision_has_person_and_reason CHECK (((((outcome IS NOT NULL) AND (outcome <> 'CANCELLED'::text)) = (decided_by IS NOT NULL)) AND ((decided_by IS NULL) = (reason IS NULL)))),
  CONSTRAINT hold_is_of_a_row_or_the_run CHECK (((row_no = 0) = (payment_id IS NULL))),
  CONSTRAINT hold_is_open_or_decided CHECK (((outcome IS NULL) = (decided_at IS NULL))),
  CONSTRAINT pay_hold_code_check CHECK ((code ~ '^[A-Z_]{1,40}$'::text)),
  CONSTRAINT pay_hold_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES person(id),
  CONSTRAINT pay_hold_employer_id_beside_run_id_fkey FOREIGN KEY (employer_id, beside_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT pay_hold_employer_id_pay_run_id_fkey FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT pay_hold_employer_id_payment_id_fkey FOREIGN KEY (employer_id, payment_id) REFERENCES payment(employer_id, id),
  CONSTRAINT pay_hold_outcome_check CHECK (((outcome = ANY (ARRAY['RELEASED'::text, 'LEFT_OUT'::text, 'CANCELLED'::text])) OR ((outcome = 'AMENDED'::text) AND (row_no = 0)))),
  CONSTRAINT pay_hold_pkey PRIMARY KEY (employer_id, pay_run_id, row_no, code, run_version),
  CONSTRAINT pay_hold_reason_check CHECK (((length(reason) >= 3) AND (length(reason) <= 500))),
  CONSTRAINT pay_hold_row_no_check CHECK ((row_no >= 0))
);
CREATE INDEX open_hold_by_run ON public.pay_hold USING btree (pay_run_id, employer_id, payment_id) WHERE (outcome IS NULL);
CREATE TRIGGER refuse_change_of_a_decided_hold BEFORE UPDATE ON public.pay_hold FOR EACH ROW WHEN ((old.outcome IS NOT NULL)) EXECUTE FUNCTION refuse_change_of_a_decided_hold();
CREATE TRIGGER refuse_release_by_a_preparer BEFORE UPDATE ON public.pay_hold FOR EACH ROW WHEN ((new.outcome = 'RELEASED'::text)) EXECUTE FUNCTION refuse_release_by_a_preparer();
ALTER TABLE pay_hold FORCE ROW LEVEL SECURITY;
CREATE POLICY begins_at_the_beginning ON pay_hold FOR INSERT TO payrun_app WITH CHECK ((outcome IS NULL));
CREATE POLICY own_employer ON pay_hold FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON pay_hold TO payrun_app;
GRANT UPDATE (decided_at, decided_by, outcome, reason) ON pay_hold TO payrun_app;

CREATE TABLE pay_release (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  period pay_period NOT NULL,
  kind_of_pay text NOT NULL,
  employee_id text NOT NULL,
  sequence smallint NOT NULL,
  reason text NOT NULL,
  released_by uuid NOT NULL,
  released_at timestamp with time zone NOT NULL DEFAULT now(),
  withdrawn_at timestamp with time zone,
  withdrawn_by uuid,
  withdrawn_reason text,
  payment_id uuid,
  known_restores integer NOT NULL DEFAULT known_restores(),
  CONSTRAINT pay_release_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT pay_release_pkey PRIMARY KEY (employer_id, period, kind_of_pay, employee_id, sequence),
  CONSTRAINT pay_release_reason_check CHECK (((length(reason) >= 3) AND (length(reason) <= 500))),
  CONSTRAINT pay_release_released_by_fkey FOREIGN KEY (released_by) REFERENCES person(id),
  CONSTRAINT pay_release_sequence_check CHECK ((sequence >= 1)),
  CONSTRAINT pay_release_withdrawn_by_fkey FOREIGN KEY (withdrawn_by) REFERENCES person(id),
  CONSTRAINT pay_release_withdrawn_reason_check CHECK (((length(withdrawn_reason) >= 3) AND (length(withdrawn_reason) <= 500))),
  CONSTRAINT release_is_of_a_payment FOREIGN KEY (employer_id, payment_id) REFERENCES payment(employer_id, id) DEFERRABLE,
  CONSTRAINT withdrawal_has_reason CHECK (((num_nulls(withdrawn_at, withdrawn_reason) = ANY (ARRAY[0, 2])) AND ((withdrawn_by IS NULL) OR (withdrawn_at IS NOT NULL))))
);
CREATE TRIGGER refuse_change_of_a_withdrawn_release BEFORE UPDATE ON public.pay_release FOR EACH ROW WHEN ((old.withdrawn_at IS NOT NULL)) EXECUTE FUNCTION refuse_change_of_a_withdrawn_release();
CREATE TRIGGER refuse_withdrawal_of_a_used_release BEFORE UPDATE ON public.pay_release FOR EACH ROW WHEN (((old.withdrawn_at IS NULL) AND (new.withdrawn_at IS NOT NULL))) EXECUTE FUNCTION refuse_withdrawal_of_a_used_release();
ALTER TABLE pay_release FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON pay_release FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON pay_release TO payrun_app;
GRANT UPDATE (withdrawn_at, withdrawn_by, withdrawn_reason) ON pay_release TO payrun_app;

CREATE TABLE pay_run (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  period pay_period NOT NULL,
  kind_of_pay text NOT NULL,
  execution_date date NOT NULL,
  submit_at timestamp with time zone,
  schedule_id uuid,
  sequence integer NOT NULL DEFAULT 0,
  parent_run_id uuid,
  status text NOT NULL,
  run_version integer NOT NULL DEFAULT 1,
  row_count integer NOT NULL,
  total_minor amount_minor NOT NULL,
  currency text NOT NULL,
  exponent smallint NOT NULL DEFAULT 2,
  root_hash bytea,
  stopped_at timestamp with time zone,
  stopped_reason text,
  lapse_reason text,
  revision bigint NOT NULL DEFAULT 1,
  created_by uuid NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  balance_before_minor bigint,
  balance_read_at timestamp with time zone,
  balance_asked_at timestamp with time zone,
  balance_even_at timestamp with time zone,
  known_restores integer NOT NULL DEFAULT known_restores(),
  CONSTRAINT balance_has_its_time CHECK (((balance_before_minor IS NULL) = (balance_read_at IS NULL))),
  CONSTRAINT lapse_is_over_once_ready CHECK (((status <> 'READY'::text) OR (lapse_reason IS NULL))),
  CONSTRAINT pay_run_check CHECK (((sequence = 0) OR (parent_run_id IS NOT NULL))),
  CONSTRAINT pay_run_check1 CHECK (((stopped_at IS NULL) = (stopped_reason IS NULL))),
  CONSTRAINT pay_run_created_by_fkey FOREIGN KEY (created_by) REFERENCES person(id),
  CONSTRAINT pay_run_currency_check CHECK ((currency = 'EUR'::text)),
  CONSTRAINT pay_run_employer_id_account_id_fkey FOREIGN KEY (employer_id, account_id) REFERENCES employer_account(employer_id, id),
  CONSTRAINT pay_run_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT pay_run_employer_id_parent_run_id_fkey FOREIGN KEY (employer_id, parent_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT pay_run_employer_id_schedule_id_fkey FOREIGN KEY (employer_id, schedule_id) REFERENCES pay_schedule(employer_id, id),
  CONSTRAINT pay_run_exponent_check CHECK ((exponent = 2)),
  CONSTRAINT pay_run_kind_of_pay_check CHECK (((length(kind_of_pay) >= 1) AND (length(kind_of_pay) <= 35))),
  CONSTRAINT pay_run_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT pay_run_row_count_check CHECK ((row_count >= 0)),
  CONSTRAINT pay_run_run_version_check CHECK ((run_version >= 1)),
  CONSTRAINT pay_run_sequence_check CHECK ((sequence >= 0))
);
CREATE UNIQUE INDEX one_run_per_schedule_period_and_sequence ON public.pay_run USING btree (employer_id, schedule_id, period, sequence) WHERE ((schedule_id IS NOT NULL) AND (status <> 'CANCELLED'::text));
CREATE TRIGGER refuse_illegal_move BEFORE UPDATE OF status ON public.pay_run FOR EACH ROW WHEN ((new.status <> old.status)) EXECUTE FUNCTION refuse_illegal_move();
CREATE TRIGGER refuse_other_submit_time BEFORE UPDATE OF submit_at ON public.pay_run FOR EACH ROW WHEN (((old.status <> 'DRAFT'::text) AND (new.submit_at IS DISTINCT FROM old.submit_at))) EXECUTE FUNCTION refuse_other_submit_time();
CREATE TRIGGER refuse_use_of_a_detached_account BEFORE INSERT ON public.pay_run FOR EACH ROW EXECUTE FUNCTION refuse_use_of_a_detached_account();
ALTER TABLE pay_run FORCE ROW LEVEL SECURITY;
CREATE POLICY begins_at_the_beginning ON pay_run FOR INSERT TO payrun_app WITH CHECK ((status = 'DRAFT'::text));
CREATE POLICY every_employer ON pay_run FOR SELECT TO payrun_worker USING (true);
CREATE POLICY own_employer ON pay_run FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON pay_run TO payrun_app;
GRANT UPDATE (balance_asked_at, balance_before_minor, balance_even_at, balance_read_at, execution_date, lapse_reason, revision, root_hash, row_count, run_version, status, stopped_at, stopped_reason, submit_at, total_minor) ON pay_run TO payrun_app;
GRANT SELECT (status) ON pay_run TO payrun_worker;

CREATE TABLE pay_run_version (
  employer_id uuid NOT NULL,
  pay_run_id uuid NOT NULL,
  run_version integer NOT NULL,
  root_hash bytea NOT NULL,
  row_count integer NOT NULL,
  total_minor amount_minor NOT NULL,
  execution_date date NOT NULL,
  prepared_by uuid NOT NULL,
  reason text,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT pay_run_version_employer_id_pay_run_id_fkey FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT pay_run_version_employer_id_pay_run_id_run_version_root_has_key UNIQUE (employer_id, pay_run_id, run_version, root_hash, prepared_by),
  CONSTRAINT pay_run_version_pkey PRIMARY KEY (employer_id, pay_run_id, run_version),
  CONSTRAINT pay_run_version_prepared_by_fkey FOREIGN KEY (prepared_by) REFERENCES person(id),
  CONSTRAINT pay_run_version_root_hash_check CHECK ((octet_length(root_hash) = 32))
);
ALTER TABLE pay_run_version FORCE ROW LEVEL SECURITY;
CREATE POLICY joins_a_draft ON pay_run_version FOR INSERT TO payrun_app WITH CHECK ((pay_run_id IN ( SELECT r.id
   FROM pay_run r
  WHERE ((r.employer_id = ( SELECT current_employer() AS current_employer)) AND (r.status = 'DRAFT'::text)))));
CREATE POLICY own_employer ON pay_run_version FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON pay_run_version TO payrun_app;

CREATE TABLE pay_schedule (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  kind_of_pay text NOT NULL,
  day_of_month smallint,
  when_closed text NOT NULL,
  submit_days_before smallint NOT NULL,
  submit_time text NOT NULL,
  time_zone text NOT NULL,
  first_period text NOT NULL,
  active boolean NOT NULL DEFAULT true,
  created_by uuid NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT pay_schedule_created_by_fkey FOREIGN KEY (created_by) REFERENCES person(id),
  CONSTRAINT pay_schedule_day_of_month_check CHECK (((day_of_month >= 1) AND (day_of_month <= 31))),
  CONSTRAINT pay_schedule_employer_id_account_id_fkey FOREIGN KEY (employer_id, account_id) REFERENCES employer_account(employer_id, id),
  CONSTRAINT pay_schedule_first_period_check CHECK ((first_period ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'::text)),
  CONSTRAINT pay_schedule_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT pay_schedule_submit_days_before_check CHECK (((submit_days_before >= 0) AND (submit_days_before <= 20))),
  CONSTRAINT pay_schedule_submit_time_check CHECK ((submit_time ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$'::text)),
  CONSTRAINT pay_schedule_when_closed_check CHECK ((when_closed = ANY (ARRAY['PREVIOUS'::text, 'NEXT'::text])))
);
CREATE UNIQUE INDEX one_active_schedule_per_kind_of_pay ON public.pay_schedule USING btree (employer_id, account_id, kind_of_pay) WHERE active;
CREATE TRIGGER refuse_use_of_a_detached_account BEFORE INSERT ON public.pay_schedule FOR EACH ROW EXECUTE FUNCTION refuse_use_of_a_detached_account();
ALTER TABLE pay_schedule FORCE ROW LEVEL SECURITY;
CREATE POLICY every_employer ON pay_schedule FOR SELECT TO payrun_worker USING (true);
CREATE POLICY own_employer ON pay_schedule FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT, UPDATE ON pay_schedule TO payrun_app;
GRANT SELECT (active, employer_id, id) ON pay_schedule TO payrun_worker;

CREATE TABLE payment (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  pay_run_id uuid NOT NULL,
  row_no integer NOT NULL,
  line integer NOT NULL,
  period pay_period NOT NULL,
  kind_of_pay text NOT NULL,
  employee_id text NOT NULL,
  name_sealed text NOT NULL,
  written_name_sealed text,
  name_hash bytea NOT NULL,
  iban_sealed text NOT NULL,
  iban_hash bytea NOT NULL,
  bic text,
  amount_minor bigint NOT NULL,
  currency text NOT NULL,
  remittance text,
  row_hash bytea NOT NULL,
  status text NOT NULL,
  live boolean NOT NULL DEFAULT true,
  release_sequence smallint NOT NULL DEFAULT 0,
  replaces_payment_id uuid,
  excluded_reason text,
  charges_minor bigint,
  settled_on date,
  returned_at timestamp with time zone,
  replaces_reason text,
  returned_minor bigint,
  CONSTRAINT one_payment_per_row_of_a_run UNIQUE (pay_run_id, employer_id, row_no),
  CONSTRAINT part_came_back CHECK (((returned_minor IS NULL) OR ((returned_at IS NOT NULL) AND (returned_minor > 0) AND (returned_minor <= amount_minor)))),
  CONSTRAINT payment_amount_minor_check CHECK (((amount_minor >= 1) AND (amount_minor <= '99999999999'::bigint))),
  CONSTRAINT payment_check CHECK ((live = (status = ANY (ARRAY['READY'::text, 'APPROVED'::text, 'AT_BANK'::text, 'SUBMITTED'::text, 'SETTLED'::text])))),
  CONSTRAINT payment_check1 CHECK (((status = 'EXCLUDED'::text) = (excluded_reason IS NOT NULL))),
  CONSTRAINT payment_check2 CHECK (((returned_at IS NULL) OR (status = 'SETTLED'::text))),
  CONSTRAINT payment_check3 CHECK (((replaces_reason IS NULL) OR ((replaces_payment_id IS NOT NULL) AND ((length(replaces_reason) >= 3) AND (length(replaces_reason) <= 500))))),
  CONSTRAINT payment_currency_check CHECK ((currency = 'EUR'::text)),
  CONSTRAINT payment_employee_id_check CHECK (((length(employee_id) >= 1) AND (length(employee_id) <= 35))),
  CONSTRAINT payment_employer_id_pay_run_id_fkey FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT payment_employer_id_replaces_payment_id_fkey FOREIGN KEY (employer_id, replaces_payment_id) REFERENCES payment(employer_id, id),
  CONSTRAINT payment_line_check CHECK ((line >= 1)),
  CONSTRAINT payment_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT payment_remittance_check CHECK (((length(remittance) >= 1) AND (length(remittance) <= 140))),
  CONSTRAINT payment_row_hash_check CHECK ((octet_length(row_hash) = 32)),
  CONSTRAINT payment_row_no_check CHECK ((row_no >= 1)),
  CONSTRAINT payment_status_check CHECK ((status = ANY (ARRAY['READY'::text, 'HELD'::text, 'APPROVED'::text, 'AT_BANK'::text, 'SUBMITTED'::text, 'SETTLED'::text, 'FAILED'::text, 'REJECTED'::text, 'CANCELLED'::text, 'VOID'::text, 'EXCLUDED'::text])))
);
CREATE UNIQUE INDEX one_live_payment_per_employee_and_period ON public.payment USING btree (employer_id, period, kind_of_pay, employee_id, release_sequence) WHERE live;
CREATE UNIQUE INDEX one_live_successor_per_payment ON public.payment USING btree (employer_id, replaces_payment_id) WHERE ((replaces_payment_id IS NOT NULL) AND live);
CREATE INDEX payment_by_replaced ON public.payment USING btree (employer_id, replaces_payment_id) WHERE (replaces_payment_id IS NOT NULL);
CREATE INDEX returned_payment_by_employee ON public.payment USING btree (employer_id, period, kind_of_pay, employee_id) WHERE (returned_at IS NOT NULL);
CREATE INDEX unpaid_payment_by_employee ON public.payment USING btree (employer_id, period, kind_of_pay, employee_id) WHERE (NOT live);
CREATE TRIGGER never_deleted BEFORE DELETE ON public.payment FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER refuse_change_of_a_key BEFORE UPDATE OF employer_id, id ON public.payment FOR EACH ROW WHEN (((new.employer_id IS DISTINCT FROM old.employer_id) OR (new.id IS DISTINCT FROM old.id))) EXECUTE FUNCTION refuse_change_of_a_key();
CREATE TRIGGER refuse_end_of_what_went_on BEFORE UPDATE OF status ON public.payment FOR EACH ROW WHEN (((old.status = 'SUBMITTED'::text) AND (new.status = 'VOID'::text))) EXECUTE FUNCTION refuse_end_of_what_went_on();
CREATE TRIGGER refuse_illegal_payment_move BEFORE UPDATE OF status ON public.payment FOR EACH ROW WHEN (((new.status <> old.status) AND ((((((((((((((((((((old.status <> 'READY'::text) OR (new.status <> 'HELD'::text)) AND ((old.status <> 'READY'::text) OR (new.status <> 'APPROVED'::text))) AND ((old.status <> 'READY'::text) OR (new.status <> 'EXCLUDED'::text))) AND ((old.status <> 'READY'::text) OR (new.status <> 'CANCELLED'::text))) AND ((old.status <> 'HELD'::text) OR (new.status <> 'READY'::text))) AND ((old.status <> 'HELD'::text) OR (new.status <> 'EXCLUDED'::text))) AND ((old.status <> 'HELD'::text) OR (new.status <> 'CANCELLED'::text))) AND ((old.status <> 'APPROVED'::text) OR (new.status <> 'READY'::text))) AND ((old.status <> 'APPROVED'::text) OR (new.status <> 'AT_BANK'::text))) AND ((old.status <> 'APPROVED'::text) OR (new.status <> 'EXCLUDED'::text))) AND ((old.status <> 'APPROVED'::text) OR (new.status <> 'CANCELLED'::text))) AND ((old.status <> 'AT_BANK'::text) OR (new.status <> 'SUBMITTED'::text))) AND ((old.status <> 'AT_BANK'::text) OR (new.status <> 'APPROVED'::text))) AND ((old.status <> 'AT_BANK'::text) OR (new.status <> 'VOID'::text))) AND ((old.status <> 'SUBMITTED'::text) OR (new.status <> 'SETTLED'::text))) AND ((old.status <> 'SUBMITTED'::text) OR (new.status <> 'FAILED'::text))) AND ((old.status <> 'SUBMITTED'::text) OR (new.status <> 'REJECTED'::text))) AND ((old.status <> 'SUBMITTED'::text) OR (new.status <> 'CANCELLED'::text))) AND ((old.status <> 'SUBMITTED'::text) OR (new.status <> 'VOID'::text))))) EXECUTE FUNCTION refuse_illegal_payment_move();
CREATE TRIGGER refuse_leaving_a_live_instruction BEFORE UPDATE OF status ON public.payment FOR EACH ROW WHEN (((old.status = 'AT_BANK'::text) AND (new.status = ANY (ARRAY['APPROVED'::text, 'VOID'::text])))) EXECUTE FUNCTION refuse_leaving_a_live_instruction();
CREATE TRIGGER refuse_new_place_of_a_payment BEFORE UPDATE OF release_sequence ON public.payment FOR EACH ROW WHEN (((new.release_sequence <> old.release_sequence) AND (old.status <> 'HELD'::text))) EXECUTE FUNCTION refuse_new_place_of_a_payment();
CREATE TRIGGER refuse_payment_on_hold BEFORE UPDATE OF status ON public.payment FOR EACH ROW WHEN (((old.status = 'HELD'::text) AND (new.status = 'READY'::text))) EXECUTE FUNCTION refuse_payment_on_hold();
CREATE TRIGGER refuse_successor_around_another BEFORE INSERT ON public.payment FOR EACH ROW WHEN ((new.replaces_payment_id IS NOT NULL)) EXECUTE FUNCTION refuse_successor_around_another();
CREATE TRIGGER refuse_successor_around_another_on_release BEFORE UPDATE OF status ON public.payment FOR EACH ROW WHEN (((old.status = 'HELD'::text) AND (new.status = 'READY'::text) AND (new.replaces_payment_id IS NOT NULL))) EXECUTE FUNCTION refuse_successor_around_another();
CREATE TRIGGER refuse_successor_beside_the_same_pay BEFORE INSERT ON public.payment FOR EACH ROW WHEN (((new.replaces_payment_id IS NOT NULL) AND (new.status <> 'HELD'::text))) EXECUTE FUNCTION refuse_successor_beside_the_same_pay();
CREATE TRIGGER refuse_successor_of_a_forgotten_run BEFORE INSERT ON public.payment FOR EACH ROW WHEN ((new.replaces_payment_id IS NOT NULL)) EXECUTE FUNCTION refuse_successor_of_a_forgotten_run();
CREATE TRIGGER refuse_successor_of_what_is_kept BEFORE INSERT ON public.payment FOR EACH ROW WHEN ((new.replaces_payment_id IS NOT NULL)) EXECUTE FUNCTION refuse_successor_of_what_is_kept();
CREATE TRIGGER refuse_successor_of_what_is_kept_on_release BEFORE UPDATE OF status ON public.payment FOR EACH ROW WHEN (((old.status = 'HELD'::text) AND (new.status = 'READY'::text) AND (new.replaces_payment_id IS NOT NULL))) EXECUTE FUNCTION refuse_successor_of_what_is_kept();
CREATE TRIGGER refuse_unlawful_successor BEFORE INSERT ON public.payment FOR EACH ROW WHEN ((new.replaces_payment_id IS NOT NULL)) EXECUTE FUNCTION refuse_unlawful_successor();
CREATE TRIGGER refuse_unlawful_successor_on_release BEFORE UPDATE OF status ON public.payment FOR EACH ROW WHEN (((old.status = 'HELD'::text) AND (new.status = 'READY'::text) AND (new.replaces_payment_id IS NOT NULL))) EXECUTE FUNCTION refuse_unlawful_successor();
CREATE TRIGGER refuse_unreleased_second_pay BEFORE INSERT ON public.payment FOR EACH ROW WHEN ((new.release_sequence > 0)) EXECUTE FUNCTION refuse_unreleased_second_pay();
CREATE TRIGGER refuse_unreleased_second_pay_on_joining BEFORE UPDATE OF status ON public.payment FOR EACH ROW WHEN (((old.status = 'HELD'::text) AND (new.status = 'READY'::text) AND (new.release_sequence > 0))) EXECUTE FUNCTION refuse_unreleased_second_pay();
CREATE TRIGGER refuse_unreleased_second_pay_on_release BEFORE UPDATE OF release_sequence ON public.payment FOR EACH ROW WHEN ((new.release_sequence > 0)) EXECUTE FUNCTION refuse_unreleased_second_pay();
CREATE TRIGGER refuse_whole_of_parts BEFORE UPDATE OF returned_minor ON public.payment FOR EACH ROW WHEN (
        CASE
            WHEN (old.returned_minor IS NULL) THEN (new.returned_minor >= new.amount_minor)
            ELSE (new.returned_minor IS NULL)
        END) EXECUTE FUNCTION refuse_whole_of_parts();
ALTER TABLE payment FORCE ROW LEVEL SECURITY;
CREATE POLICY begins_at_the_beginning ON payment FOR INSERT TO payrun_app WITH CHECK ((status = ANY (ARRAY['READY'::text, 'HELD'::text])));
CREATE POLICY joins_a_draft ON payment FOR INSERT TO payrun_app WITH CHECK ((pay_run_id IN ( SELECT r.id
   FROM pay_run r
  WHERE ((r.employer_id = ( SELECT current_employer() AS current_employer)) AND (r.status = 'DRAFT'::text)))));
CREATE POLICY own_employer ON payment FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON payment TO payrun_app;
GRANT UPDATE (charges_minor, excluded_reason, live, release_sequence, returned_at, returned_minor, settled_on, status) ON payment TO payrun_app;

CREATE TABLE payment_decision (
  employer_id uuid NOT NULL,
  instruction_id uuid NOT NULL,
  row_no integer NOT NULL,
  payment_id uuid NOT NULL,
  action_id uuid NOT NULL,
  bank_status text NOT NULL,
  CONSTRAINT payment_decision_employer_id_action_id_fkey FOREIGN KEY (employer_id, action_id) REFERENCES attention_action(employer_id, id),
  CONSTRAINT payment_decision_employer_id_instruction_id_row_no_fkey FOREIGN KEY (employer_id, instruction_id, row_no) REFERENCES bank_payment(employer_id, instruction_id, row_no),
  CONSTRAINT payment_decision_employer_id_payment_id_bank_status_key UNIQUE (employer_id, payment_id, bank_status),
  CONSTRAINT payment_decision_employer_id_payment_id_fkey FOREIGN KEY (employer_id, payment_id) REFERENCES payment(employer_id, id),
  CONSTRAINT payment_decision_pkey PRIMARY KEY (employer_id, instruction_id, row_no, bank_status)
);
CREATE TRIGGER refuse_meaning_without_two_people BEFORE INSERT ON public.payment_decision FOR EACH ROW EXECUTE FUNCTION refuse_meaning_without_two_people();
CREATE TRIGGER refuse_second_meaning BEFORE INSERT ON public.payment_decision FOR EACH ROW EXECUTE FUNCTION refuse_second_meaning();
ALTER TABLE payment_decision FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON payment_decision FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON payment_decision TO payrun_app;

CREATE TABLE person (
  id uuid NOT NULL,
  name text NOT NULL,
  administrator boolean NOT NULL DEFAULT false,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  disabled_at timestamp with time zone,
  CONSTRAINT person_name_check CHECK (((length(name) >= 1) AND (length(name) <= 140))),
  CONSTRAINT person_pkey PRIMARY KEY (id)
);
GRANT INSERT, SELECT, UPDATE ON person TO payrun_app;

CREATE TABLE person_role (
  employer_id uuid NOT NULL,
  person_id uuid NOT NULL,
  role text NOT NULL,
  granted_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT person_role_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT person_role_person_id_fkey FOREIGN KEY (person_id) REFERENCES person(id),
  CONSTRAINT person_role_pkey PRIMARY KEY (employer_id, person_id, role),
  CONSTRAINT person_role_role_check CHECK ((role = ANY (ARRAY['preparer'::text, 'approver'::text, 'finance'::text, 'operator'::text])))
);
CREATE INDEX person_role_by_person ON public.person_role USING btree (person_id);
GRANT DELETE, INSERT, SELECT, UPDATE ON person_role TO payrun_app;

CREATE TABLE planned_instruction (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  pay_run_id uuid NOT NULL,
  run_version integer NOT NULL,
  ordinal integer NOT NULL,
  first_row integer NOT NULL,
  last_row integer NOT NULL,
  row_count integer NOT NULL,
  total_minor amount_minor NOT NULL,
  row_hash bytea NOT NULL,
  CONSTRAINT planned_instruction_check CHECK ((first_row <= last_row)),
  CONSTRAINT planned_instruction_employer_id_pay_run_id_fkey FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT planned_instruction_ordinal_check CHECK ((ordinal >= 1)),
  CONSTRAINT planned_instruction_pay_run_id_employer_id_id_key UNIQUE (pay_run_id, employer_id, id),
  CONSTRAINT planned_instruction_pay_run_id_employer_id_run_version_ordi_key UNIQUE (pay_run_id, employer_id, run_version, ordinal),
  CONSTRAINT planned_instruction_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT planned_instruction_row_count_check CHECK ((row_count >= 1)),
  CONSTRAINT planned_instruction_row_hash_check CHECK ((octet_length(row_hash) = 32))
);
ALTER TABLE planned_instruction FORCE ROW LEVEL SECURITY;
CREATE POLICY joins_a_draft ON planned_instruction FOR INSERT TO payrun_app WITH CHECK ((pay_run_id IN ( SELECT r.id
   FROM pay_run r
  WHERE ((r.employer_id = ( SELECT current_employer() AS current_employer)) AND (r.status = 'DRAFT'::text)))));
CREATE POLICY own_employer ON planned_instruction FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON planned_instruction TO payrun_app;

CREATE TABLE reconciler_pass (
  employer_id uuid NOT NULL,
  checked_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  position jsonb NOT NULL DEFAULT '{}'::jsonb,
  CONSTRAINT reconciler_pass_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT reconciler_pass_pkey PRIMARY KEY (employer_id)
);
ALTER TABLE reconciler_pass FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON reconciler_pass FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON reconciler_pass TO payrun_app;
GRANT UPDATE (checked_at, position) ON reconciler_pass TO payrun_app;

CREATE TABLE restore_check (
  employer_id uuid NOT NULL,
  restore_id uuid NOT NULL,
  passed_at timestamp with time zone,
  needs_evidence boolean NOT NULL DEFAULT true,
  waits_for text,
  may_lack_runs boolean NOT NULL DEFAULT true,
  unidentified integer NOT NULL DEFAULT 0,
  CONSTRAINT restore_check_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT restore_check_pkey PRIMARY KEY (employer_id, restore_id),
  CONSTRAINT restore_check_restore_id_fkey FOREIGN KEY (restore_id) REFERENCES database_restore(id),
  CONSTRAINT restore_check_waits_until_it_passed CHECK (((waits_for IS NULL) OR (passed_at IS NULL)))
);
CREATE TRIGGER refuse_change_of_a_passed_check BEFORE UPDATE ON public.restore_check FOR EACH ROW WHEN ((old.passed_at IS NOT NULL)) EXECUTE FUNCTION refuse_change_of_a_passed_check();
ALTER TABLE restore_check FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON restore_check FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON restore_check TO payrun_app;
GRANT UPDATE (may_lack_runs, needs_evidence, passed_at, unidentified, waits_for) ON restore_check TO payrun_app;

CREATE TABLE restore_mark (
  id uuid NOT NULL,
  seq bigint NOT NULL DEFAULT 1,
  seen_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT restore_mark_pkey PRIMARY KEY (id)
);
GRANT INSERT, SELECT ON restore_mark TO payrun_app;
GRANT UPDATE (seen_at, seq) ON restore_mark TO payrun_app;

CREATE TABLE run_comparison (
  employer_id uuid NOT NULL,
  pay_run_id uuid NOT NULL,
  run_version integer NOT NULL,
  before_period pay_period,
  before_run_ids uuid[] NOT NULL,
  before_count integer NOT NULL,
  before_minor amount_minor NOT NULL,
  net_change_basis_points integer NOT NULL,
  CONSTRAINT run_comparison_check CHECK (((before_period IS NULL) = (before_run_ids = '{}'::uuid[]))),
  CONSTRAINT run_comparison_employer_id_pay_run_id_run_version_fkey FOREIGN KEY (employer_id, pay_run_id, run_version) REFERENCES pay_run_version(employer_id, pay_run_id, run_version),
  CONSTRAINT run_comparison_pkey PRIMARY KEY (employer_id, pay_run_id, run_version)
);
ALTER TABLE run_comparison FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON run_comparison FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON run_comparison TO payrun_app;

CREATE TABLE run_difference (
  employer_id uuid NOT NULL,
  pay_run_id uuid NOT NULL,
  run_version integer NOT NULL,
  kind text NOT NULL,
  n integer NOT NULL,
  payment_id uuid,
  before_payment_id uuid,
  amount_minor amount_minor NOT NULL,
  before_minor amount_minor NOT NULL,
  CONSTRAINT run_difference_check CHECK (((kind = 'LEFT'::text) = (payment_id IS NULL))),
  CONSTRAINT run_difference_check1 CHECK (((kind = 'JOINED'::text) = (before_payment_id IS NULL))),
  CONSTRAINT run_difference_employer_id_before_payment_id_fkey FOREIGN KEY (employer_id, before_payment_id) REFERENCES payment(employer_id, id),
  CONSTRAINT run_difference_employer_id_pay_run_id_run_version_fkey FOREIGN KEY (employer_id, pay_run_id, run_version) REFERENCES run_comparison(employer_id, pay_run_id, run_version),
  CONSTRAINT run_difference_employer_id_payment_id_fkey FOREIGN KEY (employer_id, payment_id) REFERENCES payment(employer_id, id),
  CONSTRAINT run_difference_kind_check CHECK ((kind = ANY (ARRAY['JOINED'::text, 'LEFT'::text, 'NET_CHANGED'::text, 'IBAN_CHANGED'::text, 'NAME_CHANGED'::text]))),
  CONSTRAINT run_difference_pkey PRIMARY KEY (employer_id, pay_run_id, run_version, kind, n)
);
CREATE UNIQUE INDEX one_iban_to_tick_per_payment ON public.run_difference USING btree (payment_id, run_version, employer_id) WHERE (kind = ANY (ARRAY['JOINED'::text, 'IBAN_CHANGED'::text]));
ALTER TABLE run_difference FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON run_difference FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON run_difference TO payrun_app;

CREATE TABLE schedule_period (
  employer_id uuid NOT NULL,
  schedule_id uuid NOT NULL,
  period pay_period NOT NULL,
  execution_date date NOT NULL,
  submit_at timestamp with time zone NOT NULL,
  pay_run_id uuid,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT schedule_period_employer_id_pay_run_id_fkey FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run(employer_id, id),
  CONSTRAINT schedule_period_employer_id_pay_run_id_key UNIQUE (employer_id, pay_run_id),
  CONSTRAINT schedule_period_employer_id_schedule_id_fkey FOREIGN KEY (employer_id, schedule_id) REFERENCES pay_schedule(employer_id, id),
  CONSTRAINT schedule_period_pkey PRIMARY KEY (employer_id, schedule_id, period)
);
ALTER TABLE schedule_period FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON schedule_period FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT, UPDATE ON schedule_period TO payrun_app;

CREATE TABLE service_stop (
  id uuid NOT NULL,
  employer_id uuid NOT NULL,
  kind text NOT NULL,
  subject_id uuid NOT NULL,
  stopped_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  lifted_at timestamp with time zone,
  CONSTRAINT service_stop_employer_id_fkey FOREIGN KEY (employer_id) REFERENCES employer(id),
  CONSTRAINT service_stop_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX one_standing_stop_per_breach ON public.service_stop USING btree (employer_id, kind, subject_id) WHERE (lifted_at IS NULL);
CREATE TRIGGER refuse_resume_before_the_bank_was_read BEFORE UPDATE OF lifted_at ON public.service_stop FOR EACH ROW WHEN (((old.kind = 'RESTORED'::text) AND (old.lifted_at IS NULL) AND (new.lifted_at IS NOT NULL))) EXECUTE FUNCTION refuse_resume_before_the_bank_was_read();
CREATE TRIGGER refuse_resume_without_two_people BEFORE UPDATE OF lifted_at ON public.service_stop FOR EACH ROW WHEN (((old.lifted_at IS NULL) AND (new.lifted_at IS NOT NULL))) EXECUTE FUNCTION refuse_resume_without_two_people();
GRANT INSERT, SELECT ON service_stop TO payrun_app;
GRANT UPDATE (lifted_at) ON service_stop TO payrun_app;

CREATE TABLE service_switch (
  id smallint NOT NULL DEFAULT 1,
  submits_off boolean NOT NULL DEFAULT false,
  reason text,
  changed_at timestamp with time zone NOT NULL DEFAULT now(),
  stopped_by uuid,
  off_since timestamp with time zone,
  CONSTRAINT service_switch_check CHECK ((submits_off = (reason IS NOT NULL))),
  CONSTRAINT service_switch_id_check CHECK ((id = 1)),
  CONSTRAINT service_switch_pkey PRIMARY KEY (id),
  CONSTRAINT service_switch_stopped_by_fkey FOREIGN KEY (stopped_by) REFERENCES person(id),
  CONSTRAINT what_runs_is_stopped_by_nobody CHECK ((submits_off OR (stopped_by IS NULL)))
);
CREATE TRIGGER keep_since_when_off BEFORE UPDATE ON public.service_switch FOR EACH ROW EXECUTE FUNCTION keep_since_when_off();
CREATE TRIGGER refuse_resume_over_a_stop BEFORE UPDATE OF submits_off ON public.service_switch FOR EACH ROW WHEN ((old.submits_off AND (NOT new.submits_off))) EXECUTE FUNCTION refuse_resume_over_a_stop();
GRANT SELECT, UPDATE ON service_switch TO payrun_app;

CREATE TABLE state_change (
  employer_id uuid NOT NULL,
  seq bigint NOT NULL,
  at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  subject text NOT NULL,
  subject_id uuid NOT NULL,
  pay_run_id uuid NOT NULL,
  from_status text NOT NULL,
  to_status text NOT NULL,
  payments integer NOT NULL DEFAULT 0,
  amount_minor bigint NOT NULL DEFAULT 0,
  actor text NOT NULL,
  reason text,
  CONSTRAINT state_change_pkey PRIMARY KEY (employer_id, seq, at),
  CONSTRAINT state_change_subject_check CHECK ((subject = ANY (ARRAY['pay_run'::text, 'instruction'::text, 'payment'::text, 'payments_of_run'::text, 'payments_of_instruction'::text])))
) PARTITION BY RANGE (at);
CREATE INDEX state_change_by_run ON ONLY public.state_change USING btree (employer_id, pay_run_id, seq);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.state_change FOR EACH ROW EXECUTE FUNCTION refuse_rewriting_the_past();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.state_change FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_the_past();
ALTER TABLE state_change FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON state_change FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON state_change TO payrun_app;

CREATE TABLE submit_attempt (
  employer_id uuid NOT NULL,
  id uuid NOT NULL,
  planned_instruction_id uuid NOT NULL,
  instruction_id uuid NOT NULL,
  bank_instruction_id text NOT NULL,
  row_hash bytea NOT NULL,
  epoch bigint NOT NULL,
  attempted_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  outcome text,
  outcome_detail text,
  finished_at timestamp with time zone,
  known_restores integer NOT NULL DEFAULT known_restores(),
  CONSTRAINT submit_attempt_employer_id_instruction_id_fkey FOREIGN KEY (employer_id, instruction_id) REFERENCES instruction(employer_id, id),
  CONSTRAINT submit_attempt_employer_id_planned_instruction_id_fkey FOREIGN KEY (employer_id, planned_instruction_id) REFERENCES planned_instruction(employer_id, id),
  CONSTRAINT submit_attempt_outcome_check CHECK ((outcome = ANY (ARRAY['EXECUTED'::text, 'REFUSED'::text, 'IN_DOUBT'::text, 'PROVEN_UNSENT'::text]))),
  CONSTRAINT submit_attempt_pkey PRIMARY KEY (employer_id, id),
  CONSTRAINT submit_attempt_row_hash_check CHECK ((octet_length(row_hash) = 32))
);
CREATE UNIQUE INDEX one_submit_per_planned_instruction ON public.submit_attempt USING btree (employer_id, planned_instruction_id) WHERE (outcome IS DISTINCT FROM 'PROVEN_UNSENT'::text);
CREATE TRIGGER refuse_adoption_without_evidence BEFORE INSERT ON public.submit_attempt FOR EACH ROW WHEN ((new.outcome = 'EXECUTED'::text)) EXECUTE FUNCTION refuse_adoption_without_evidence();
CREATE TRIGGER refuse_change_of_a_final_outcome BEFORE UPDATE OF outcome ON public.submit_attempt FOR EACH ROW WHEN (((old.outcome IS NOT NULL) AND (new.outcome IS DISTINCT FROM old.outcome) AND ((((((old.outcome = 'IN_DOUBT'::text) AND (new.outcome = 'EXECUTED'::text)) OR ((old.outcome = 'IN_DOUBT'::text) AND (new.outcome = 'REFUSED'::text))) OR ((old.outcome = 'IN_DOUBT'::text) AND (new.outcome = 'PROVEN_UNSENT'::text))) OR ((old.outcome = 'REFUSED'::text) AND (new.outcome = 'EXECUTED'::text))) IS NOT TRUE))) EXECUTE FUNCTION refuse_change_of_a_final_outcome();
CREATE TRIGGER refuse_submit_after_a_restore BEFORE INSERT ON public.submit_attempt FOR EACH ROW WHEN ((new.outcome IS DISTINCT FROM 'EXECUTED'::text)) EXECUTE FUNCTION refuse_submit_after_a_restore();
CREATE TRIGGER refuse_submit_beside_the_same_pay BEFORE INSERT ON public.submit_attempt FOR EACH ROW WHEN ((new.outcome IS DISTINCT FROM 'EXECUTED'::text)) EXECUTE FUNCTION refuse_submit_beside_the_same_pay();
CREATE TRIGGER refuse_submit_of_a_held_payment BEFORE INSERT ON public.submit_attempt FOR EACH ROW EXECUTE FUNCTION refuse_submit_of_a_held_payment();
CREATE TRIGGER refuse_submit_over_contradiction BEFORE INSERT ON public.submit_attempt FOR EACH ROW WHEN ((new.outcome IS DISTINCT FROM 'EXECUTED'::text)) EXECUTE FUNCTION refuse_submit_over_contradiction();
CREATE TRIGGER refuse_submit_over_what_is_kept BEFORE INSERT ON public.submit_attempt FOR EACH ROW WHEN ((new.outcome IS DISTINCT FROM 'EXECUTED'::text)) EXECUTE FUNCTION refuse_submit_over_what_is_kept();
CREATE TRIGGER refuse_submit_without_intent BEFORE INSERT ON public.submit_attempt FOR EACH ROW WHEN ((new.outcome IS DISTINCT FROM 'EXECUTED'::text)) EXECUTE FUNCTION refuse_submit_without_intent();
ALTER TABLE submit_attempt FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON submit_attempt FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON submit_attempt TO payrun_app;
GRANT UPDATE (finished_at, outcome, outcome_detail) ON submit_attempt TO payrun_app;

CREATE TABLE unseen_decision (
  employer_id uuid NOT NULL,
  instruction_id uuid NOT NULL,
  row_no integer NOT NULL,
  payment_id uuid NOT NULL,
  action_id uuid NOT NULL,
  CONSTRAINT unseen_decision_employer_id_action_id_fkey FOREIGN KEY (employer_id, action_id) REFERENCES attention_action(employer_id, id),
  CONSTRAINT unseen_decision_employer_id_instruction_id_row_no_fkey FOREIGN KEY (employer_id, instruction_id, row_no) REFERENCES bank_payment(employer_id, instruction_id, row_no),
  CONSTRAINT unseen_decision_employer_id_payment_id_fkey FOREIGN KEY (employer_id, payment_id) REFERENCES payment(employer_id, id),
  CONSTRAINT unseen_decision_pkey PRIMARY KEY (employer_id, instruction_id, row_no, action_id)
);
CREATE TRIGGER refuse_word_without_two_people BEFORE INSERT ON public.unseen_decision FOR EACH ROW EXECUTE FUNCTION refuse_word_without_two_people();
ALTER TABLE unseen_decision FORCE ROW LEVEL SECURITY;
CREATE POLICY own_employer ON unseen_decision FOR ALL TO payrun_app USING ((employer_id = ( SELECT current_employer() AS current_employer))) WITH CHECK ((employer_id = ( SELECT current_employer() AS current_employer)));
GRANT INSERT, SELECT ON unseen_decision TO payrun_app;

CREATE TABLE webhook_inbox (
  id uuid NOT NULL,
  received_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  body_hash bytea NOT NULL,
  event text NOT NULL,
  matched integer NOT NULL DEFAULT 0,
  CONSTRAINT webhook_inbox_pkey PRIMARY KEY (id, received_at)
) PARTITION BY RANGE (received_at);
CREATE INDEX webhook_inbox_by_hash ON ONLY public.webhook_inbox USING btree (body_hash, received_at);
GRANT INSERT, SELECT ON webhook_inbox TO payrun_app;

CREATE OR REPLACE FUNCTION public.current_employer()
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ SELECT nullif(current_setting('payrun.employer_id', true), '')::uuid $function$;

CREATE OR REPLACE FUNCTION public.database_is_known()
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
        SELECT NOT EXISTS (SELECT FROM database_restore WHERE told_at IS NULL) AND coalesce((
          SELECT coalesce(i.system_identifier = now.system_identifier, true)
            AND coalesce(i.timeline = now.timeline, true) AND i.database_oid = now.database_oid
            AND i.xmin::text::bigint = i.written_by::text::bigint % 4294967296
          FROM database_identity i, read_database() now), true) $function$;

CREATE OR REPLACE FUNCTION public.ensure_month_partitions(first_month date, months integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        parent text; start date; part text; made integer := 0;
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtext('ensure_month_partitions'));
        FOREACH parent IN ARRAY ARRAY['state_change', 'bank_call', 'webhook_inbox'] LOOP
          FOR n IN 0 .. least(months, 24) - 1 LOOP
            start := (date_trunc('month', first_month) + make_interval(months => n))::date;
            part := parent || '_' || to_char(start, 'YYYYMM');
            IF to_regclass('public.' || part) IS NULL THEN
              EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', part, parent,
                start::timestamp AT TIME ZONE 'UTC', (start + interval '1 month') AT TIME ZONE 'UTC');
              -- A trigger on rows comes with the parent, one on TRUNCATE does not.
              IF parent = 'state_change' THEN
                EXECUTE format('CREATE TRIGGER never_emptied BEFORE TRUNCATE ON %I FOR EACH STATEMENT '
                  'EXECUTE FUNCTION refuse_rewriting_the_past()', part);
              END IF;
              made := made + 1;
            END IF;
          END LOOP;
        END LOOP;
        RETURN made;
      END $function$;

CREATE OR REPLACE FUNCTION public.entitled_tickers(employer uuid, run uuid, version integer)
 RETURNS uuid[]
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
        SELECT ARRAY(
          SELECT t.ticked_by FROM (SELECT DISTINCT k.ticked_by FROM iban_tick k
            WHERE k.employer_id = $1 AND k.pay_run_id = $2 AND k.run_version = $3) AS t
          WHERE may_approve($1, $2, t.ticked_by)) $function$;

CREATE OR REPLACE FUNCTION public.has_prepared(employer uuid, run uuid, person uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (SELECT FROM pay_run_version v
             WHERE v.employer_id = employer AND v.pay_run_id = run AND v.prepared_by = person) THEN
          RETURN true;
        END IF;
        -- A row that was kept back is corrected in its run or in a supplement of it, which is where copies begin.
        IF EXISTS (
            WITH RECURSIVE origin AS (
              SELECT run AS id
              UNION
              SELECT r.parent_run_id FROM origin o JOIN pay_run r ON r.employer_id = employer AND r.id = o.id
              WHERE r.parent_run_id IS NOT NULL
                AND NOT EXISTS (SELECT FROM pay_file f WHERE f.employer_id = employer AND f.pay_run_id = r.id)),
            written AS (
              SELECT unnest(ARRAY(SELECT k.payment_id FROM faulty_row k
                WHERE k.employer_id = employer AND k.faulty_file_id = f.id AND k.payment_id IS NOT NULL
                  AND (f.binds_author AND f.uploaded_by = person OR person = ANY (k.rewritten_by)))) AS id
              FROM origin o JOIN pay_run r ON r.employer_id = employer AND r.id = o.id
              JOIN faulty_file f ON f.employer_id = employer AND f.pay_run_id IN (r.id, r.parent_run_id)
              UNION
              SELECT unnest(ARRAY(SELECT s.id FROM payment s
                WHERE s.employer_id = employer AND s.replaces_payment_id = w.id
                  AND NOT EXISTS (SELECT FROM pay_file f WHERE f.employer_id = employer AND f.pay_run_id = s.pay_run_id)))
              FROM written w
              WHERE (SELECT p.status FROM payment p WHERE p.employer_id = employer AND p.id = w.id) = 'EXCLUDED')
            SELECT FROM written w
            CROSS JOIN LATERAL (SELECT * FROM payment p WHERE p.employer_id = employer AND p.id = w.id LIMIT 1) AS paid
            WHERE paid.pay_run_id = run AND (paid.live OR paid.status = 'HELD')) THEN
          RETURN true;
        END IF;
        -- The rows are read last, and for hardly anybody: of a successor of 100,000 that takes half a second.
        RETURN EXISTS (
            WITH RECURSIVE origin AS (
              SELECT run AS id
              UNION
              SELECT r.parent_run_id FROM origin o JOIN pay_run r ON r.employer_id = employer AND r.id = o.id
              WHERE r.parent_run_id IS NOT NULL
                AND NOT EXISTS (SELECT FROM pay_file f WHERE f.employer_id = employer AND f.pay_run_id = r.id))
            SELECT FROM origin o JOIN pay_run_version v ON v.employer_id = employer AND v.pay_run_id = o.id
            WHERE v.prepared_by = person)
          AND EXISTS (SELECT FROM payment p
            CROSS JOIN LATERAL (
              SELECT o.status FROM payment o
              WHERE o.employer_id = employer AND o.id = p.replaces_payment_id LIMIT 1) AS replaced
            WHERE p.employer_id = employer AND p.pay_run_id = run AND p.live
              AND p.replaces_payment_id IS NOT NULL AND replaced.status = 'EXCLUDED');
      END $function$;

CREATE OR REPLACE FUNCTION public.has_unseen_iban(employer uuid, run uuid, version integer)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
 SET enable_nestloop TO 'off'
AS $function$
        -- By run: the index of what is live has the payments of every run.
        WITH pay AS MATERIALIZED (
          SELECT p.id, p.employee_id, p.iban_hash, p.live FROM payment p
          WHERE p.employer_id = $1 AND p.pay_run_id = $2),
        earlier AS MATERIALIZED (
          SELECT p.employee_id, p.iban_hash, p.live AND p.returned_at IS NULL AS paid FROM payment p
          WHERE p.employer_id = $1 AND p.pay_run_id = ANY ((SELECT b.run_ids FROM paid_before($1, $2) b)::uuid[])),
        asked AS MATERIALIZED (
          SELECT d.payment_id FROM run_difference d
          WHERE d.employer_id = $1 AND d.pay_run_id = $2 AND d.run_version = $3 AND d.kind IN ('JOINED', 'IBAN_CHANGED'))
        SELECT EXISTS (SELECT FROM run_comparison c WHERE c.employer_id = $1 AND c.pay_run_id = $2 AND c.run_version = $3
            AND c.before_period IS NOT NULL)
          AND EXISTS (SELECT FROM pay n
            WHERE n.live
              AND NOT EXISTS (SELECT FROM earlier e
                WHERE e.paid AND e.employee_id = n.employee_id AND e.iban_hash = n.iban_hash)
              AND NOT EXISTS (SELECT FROM asked a WHERE a.payment_id = n.id)) $function$;

CREATE OR REPLACE FUNCTION public.keep_since_when_off()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        NEW.off_since = CASE WHEN NOT NEW.submits_off THEN NULL
          WHEN OLD.submits_off THEN OLD.off_since ELSE clock_timestamp() END;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.known_restores()
 RETURNS integer
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
        SELECT coalesce(max(nth), 0) FROM database_restore $function$;

CREATE OR REPLACE FUNCTION public.less_is_back_since(of_employer uuid, one uuid, other uuid)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
        SELECT max(a.opened_at)
        FROM (SELECT * FROM payment WHERE employer_id = of_employer AND id = one LIMIT 1) p
        JOIN LATERAL (SELECT * FROM pay_run WHERE employer_id = of_employer AND id = p.pay_run_id LIMIT 1) own ON true
        JOIN LATERAL (SELECT * FROM payment WHERE employer_id = of_employer AND id = other LIMIT 1) o ON true
        JOIN attention a ON a.employer_id = of_employer AND a.payment_id = o.id AND a.opened_at > own.created_at
        WHERE o.returned_at IS NOT NULL AND (a.kind = 'CONTRADICTION' OR a.kind = 'ECHO_MISMATCH'
          AND o.returned_minor IS NOT NULL AND may_be_kept(o.employer_id, o.id, o.amount_minor - o.returned_minor))
      $function$;

CREATE OR REPLACE FUNCTION public.lock_for_call(of_employer uuid, run uuid, of_instruction uuid, account uuid, subject uuid, of_holder text, of_epoch bigint, OUT run_status text, OUT ended boolean, OUT stopped boolean, OUT restored boolean, OUT instruction_status text, OUT held boolean, OUT account_status text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        PERFORM FROM pay_run r WHERE r.employer_id = of_employer AND r.id = run FOR SHARE;
        PERFORM lock_switches(of_employer);
        SELECT s.run_status, s.ended, s.stopped, s.restored INTO run_status, ended, stopped, restored
          FROM run_state(of_employer, run) s;
        SELECT i.status INTO instruction_status FROM instruction i
          WHERE i.employer_id = of_employer AND i.id = of_instruction FOR NO KEY UPDATE;
        PERFORM FROM lease l WHERE l.subject_id = subject AND l.holder = of_holder AND l.epoch = of_epoch
          AND l.leased_until > clock_timestamp() FOR KEY SHARE;
        held := FOUND;
        SELECT a.bank_status INTO account_status FROM employer_account a
          WHERE a.employer_id = of_employer AND a.id = account FOR SHARE;
      END $function$;

CREATE OR REPLACE FUNCTION public.lock_switches(of_employer uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        PERFORM FROM employer e, service_switch s WHERE e.id = of_employer FOR SHARE OF e, s;
      END $function$;

CREATE OR REPLACE FUNCTION public.may_approve(employer uuid, run uuid, person uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
        SELECT EXISTS (SELECT FROM person p
            JOIN person_role r ON r.employer_id = $1 AND r.person_id = p.id AND r.role = 'approver'
            WHERE p.id = $3 AND p.disabled_at IS NULL)
          AND NOT has_prepared($1, $2, $3) $function$;

CREATE OR REPLACE FUNCTION public.may_be_forgotten(employer uuid, run uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
        SELECT NOT database_is_known()
          OR EXISTS (SELECT FROM service_stop s
               WHERE s.employer_id = employer AND s.kind = 'RESTORED' AND s.lifted_at IS NULL)
          OR EXISTS (SELECT FROM forgotten_instruction f
               WHERE f.employer_id = employer AND f.pay_run_id = run AND f.adopted_at IS NULL AND f.action_id IS NULL) $function$;

CREATE OR REPLACE FUNCTION public.may_be_kept(of_employer uuid, of_payment uuid, lacking bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
        SELECT coalesce((
          SELECT d.action <> 'RESUME' FROM attention a
          JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id AND d.confirmed_at IS NOT NULL
          WHERE a.employer_id = of_employer AND a.kind = 'ECHO_MISMATCH' AND a.subject_id = of_payment
            AND a.lacking_minor >= lacking
          ORDER BY d.confirmed_at DESC LIMIT 1), true)
      $function$;

CREATE OR REPLACE FUNCTION public.may_be_paid_by_another(employer uuid, replaced uuid, release integer)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
      SELECT EXISTS (SELECT FROM payment p JOIN pay_run own ON own.employer_id = p.employer_id AND own.id = p.pay_run_id
        WHERE p.employer_id = employer AND p.id = replaced
          AND (restore_leaves_in_doubt(employer, own.known_restores, own.created_at) OR EXISTS (
            SELECT FROM pay_run r
            WHERE r.employer_id = employer AND r.period = p.period AND r.id <> own.id
              AND (EXISTS (SELECT FROM forgotten_instruction f
                  WHERE f.employer_id = employer AND f.pay_run_id = r.id AND f.adopted_at IS NULL)
                OR r.status = 'CANCELLED' AND EXISTS (SELECT FROM database_restore d WHERE d.nth > r.known_restores))
              AND EXISTS (SELECT FROM payment o
                WHERE o.employer_id = employer AND o.period = p.period AND o.kind_of_pay = p.kind_of_pay
                  AND o.employee_id = p.employee_id AND o.pay_run_id = r.id AND o.release_sequence >= release)))) $function$;

CREATE OR REPLACE FUNCTION public.may_pay_the_same(of_employer uuid, one uuid, other uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
        WITH RECURSIVE paid AS (
          SELECT s.origin, p.id, p.amount_minor AS its_minor, p.amount_minor, p.status, p.pay_run_id, p.returned_at, p.replaces_payment_id
          FROM (VALUES (true, one), (false, other)) AS s(origin, id)
          JOIN LATERAL (SELECT * FROM payment WHERE employer_id = of_employer AND id = s.id LIMIT 1) p ON true
          UNION ALL
          SELECT c.origin, p.id, c.its_minor, p.amount_minor, p.status, p.pay_run_id, p.returned_at, p.replaces_payment_id
          FROM paid c
          JOIN LATERAL (SELECT * FROM payment WHERE employer_id = of_employer AND id = c.replaces_payment_id LIMIT 1) p ON true)
        SELECT EXISTS (SELECT FROM payment o WHERE o.employer_id = of_employer AND o.id = other AND o.live AND (
            o.returned_at IS NULL OR other > one AND o.returned_minor IS NOT NULL
              AND may_be_kept(o.employer_id, o.id, o.amount_minor - o.returned_minor)
            OR less_is_back_since(of_employer, one, other) IS NOT NULL AND other NOT IN (SELECT id FROM paid WHERE origin)))
          AND EXISTS (SELECT FROM paid WHERE returned_at IS NOT NULL)
          AND NOT EXISTS (SELECT FROM paid a JOIN paid b ON b.pay_run_id = a.pay_run_id
            WHERE a.origin AND NOT b.origin AND a.amount_minor = a.its_minor AND b.amount_minor = b.its_minor
              AND a.status NOT IN ('HELD', 'EXCLUDED') AND b.status NOT IN ('HELD', 'EXCLUDED'))
      $function$;

CREATE OR REPLACE FUNCTION public.may_pay_the_same_unasked(of_employer uuid, one uuid, other uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
        SELECT may_pay_the_same(of_employer, one, other)
          AND (EXISTS (SELECT FROM payment p WHERE p.employer_id = of_employer AND p.id = greatest(one, other)
            AND p.replaces_payment_id IS NOT NULL
            AND NOT EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id
              AND h.row_no = p.row_no AND h.payment_id = p.id AND h.outcome = 'RELEASED'
              AND h.code IN ('EMPLOYEE_TWICE', 'EMPLOYEE_ALREADY_PAID', 'EMPLOYEE_MAY_BE_PAID', 'EMPLOYEE_PAY_RETURNED')))
          OR less_is_back_since(of_employer, one, other) IS NOT NULL
            AND EXISTS (SELECT FROM payment p WHERE p.employer_id = of_employer AND p.id = one
            AND NOT EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id
              AND h.row_no = p.row_no AND h.payment_id = p.id AND h.outcome = 'RELEASED'
              AND h.code IN ('EMPLOYEE_TWICE', 'EMPLOYEE_ALREADY_PAID', 'EMPLOYEE_MAY_BE_PAID', 'EMPLOYEE_PAY_RETURNED')
              AND h.decided_at > less_is_back_since(of_employer, one, other))))
      $function$;

CREATE OR REPLACE FUNCTION public.paid_before(employer uuid, run uuid, OUT period pay_period, OUT run_ids uuid[])
 RETURNS record
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
        SELECT r.period, array_agg(r.id ORDER BY r.sequence, r.id)
        FROM pay_run own
        JOIN pay_run r ON r.employer_id = own.employer_id AND r.kind_of_pay = own.kind_of_pay AND r.period < own.period
          AND r.status IN ('FOLLOWING', 'SETTLED', 'PARTLY_SETTLED')
        CROSS JOIN LATERAL (SELECT FROM payment p WHERE p.employer_id = $1 AND p.pay_run_id = r.id
          AND p.status = 'SETTLED' AND p.returned_at IS NULL LIMIT 1) AS paid
        WHERE own.employer_id = $1 AND own.id = $2
        GROUP BY r.period ORDER BY r.period DESC LIMIT 1 $function$;

CREATE OR REPLACE FUNCTION public.read_database(OUT system_identifier text, OUT timeline integer, OUT database_oid bigint)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        SELECT oid INTO database_oid FROM pg_database WHERE datname = current_database();
        -- A server may not let its control data or its log be read: what is not known is not compared.
        BEGIN
          SELECT c.system_identifier INTO system_identifier FROM pg_control_system() c;
        EXCEPTION WHEN OTHERS THEN system_identifier := NULL;
        END;
        -- Not that of the last checkpoint, which a promoted standby makes minutes later.
        BEGIN
          timeline := ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer;
        EXCEPTION WHEN OTHERS THEN timeline := NULL;
        END;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_adoption_without_evidence()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        PERFORM FROM forgotten_instruction f
             JOIN instruction i ON i.employer_id = f.employer_id AND i.bank_instruction_id = f.bank_instruction_id
             JOIN planned_instruction p ON p.employer_id = i.employer_id AND p.id = i.planned_instruction_id
             JOIN pay_run r ON r.employer_id = p.employer_id AND r.id = p.pay_run_id
             WHERE f.employer_id = NEW.employer_id AND f.bank_instruction_id = NEW.bank_instruction_id
               AND f.adopted_at IS NULL AND i.id = NEW.instruction_id AND i.status = 'SUBMIT_INTENT'
               AND p.id = NEW.planned_instruction_id AND p.row_hash = NEW.row_hash
               AND r.status = 'SUBMITTING' AND r.run_version = p.run_version FOR NO KEY UPDATE OF i;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'a submit is recorded as executed afterwards only where the bank showed a forgotten one'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'adoption_needs_evidence';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_approval_by_a_preparer()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF has_prepared(NEW.employer_id, NEW.pay_run_id, NEW.approver_id) THEN
          RAISE EXCEPTION 'approver_is_not_preparer' USING ERRCODE = 'check_violation',
            CONSTRAINT = 'approver_is_not_preparer';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_approval_by_an_old_comparison()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        -- What is being submitted cannot be compared anew, and was approved once.
        IF (SELECT e.tick_ibans FROM employer e WHERE e.id = NEW.employer_id) IS NOT FALSE
          AND (SELECT r.status FROM pay_run r WHERE r.employer_id = NEW.employer_id AND r.id = NEW.pay_run_id)
            <> 'SUBMITTING'
          AND has_unseen_iban(NEW.employer_id, NEW.pay_run_id, NEW.run_version) THEN
          RAISE EXCEPTION 'the version was compared before other pay settled or came back'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'comparison_is_of_now';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_approval_of_unasked_rows()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        -- What is being submitted can be amended no more, and was approved once: what others pay since is asked of them.
        IF (SELECT r.status FROM pay_run r WHERE r.employer_id = NEW.employer_id AND r.id = NEW.pay_run_id)
            <> 'SUBMITTING'
          AND EXISTS (SELECT FROM unasked_rows(NEW.employer_id, NEW.pay_run_id, '{}')) THEN
          RAISE EXCEPTION 'rows of the run are those of another one, and nobody was asked about them'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'alike_rows_are_asked_about';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_approval_of_unticked_ibans()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET enable_nestloop TO 'off'
AS $function$
      DECLARE
        entitled CONSTANT uuid[] := entitled_tickers(NEW.employer_id, NEW.pay_run_id, NEW.run_version);
      BEGIN
        IF (SELECT e.tick_ibans FROM employer e WHERE e.id = NEW.employer_id) IS NOT FALSE
          AND NOT EXISTS (SELECT FROM iban_tick t WHERE t.employer_id = NEW.employer_id
            AND t.pay_run_id = NEW.pay_run_id AND t.run_version = NEW.run_version AND t.payment_id IS NULL AND t.ticked_by = ANY (entitled))
          AND (
            NOT EXISTS (SELECT FROM run_comparison c WHERE c.employer_id = NEW.employer_id
              AND c.pay_run_id = NEW.pay_run_id AND c.run_version = NEW.run_version AND c.before_period IS NOT NULL)
            OR EXISTS (SELECT FROM run_difference d WHERE d.employer_id = NEW.employer_id
              AND d.pay_run_id = NEW.pay_run_id AND d.run_version = NEW.run_version
              AND d.kind IN ('JOINED', 'IBAN_CHANGED')
              AND NOT EXISTS (SELECT FROM iban_tick t WHERE t.employer_id = d.employer_id
                AND t.pay_run_id = d.pay_run_id AND t.run_version = d.run_version AND t.payment_id = d.payment_id AND t.ticked_by = ANY (entitled))))
        THEN
          RAISE EXCEPTION 'new IBANs of the version are not ticked'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ibans_are_ticked';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_approval_over_a_hold()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = NEW.employer_id
             AND h.pay_run_id = NEW.pay_run_id AND h.outcome IS NULL) THEN
          RAISE EXCEPTION 'a run with an open hold is not approved'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'no_approval_over_a_hold';
        END IF;
        IF EXISTS (SELECT FROM pay_run_version v WHERE v.employer_id = NEW.employer_id
             AND v.pay_run_id = NEW.pay_run_id AND v.run_version = NEW.run_version AND v.row_count = 0) THEN
          RAISE EXCEPTION 'a run that pays nobody is not approved'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'approval_is_of_payments';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_arming_after_a_restore()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
    BEGIN
      IF (SELECT max(s.known_restores) FROM submit_attempt s WHERE s.employer_id = NEW.employer_id
            AND s.planned_instruction_id = NEW.planned_instruction_id AND s.instruction_id = NEW.id) < known_restores() THEN
        RAISE EXCEPTION 'a submit from before a restore is not sent again: that it was may be forgotten'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_before_a_restore_is_not_sent_again';
      END IF;
      RETURN NEW;
    END $function$;

CREATE OR REPLACE FUNCTION public.refuse_bank_payment_of_nobody()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        referred record;
      BEGIN
        -- By arrays: a join with rows this fresh, of which there are no statistics, may read all payments for each row.
        FOR referred IN SELECT employer_id, array_agg(DISTINCT payment_id) AS payments,
            array_agg(DISTINCT instruction_id) AS instructions FROM added GROUP BY employer_id LOOP
          IF (SELECT count(*) FROM payment p WHERE p.employer_id = referred.employer_id
                AND p.id = ANY (referred.payments)) < cardinality(referred.payments) THEN
            RAISE EXCEPTION 'a payment of the bank is of a payment of the same employer'
              USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'bank_payment_has_payment';
          END IF;
          IF (SELECT count(*) FROM instruction i WHERE i.employer_id = referred.employer_id
                AND i.id = ANY (referred.instructions)) < cardinality(referred.instructions) THEN
            RAISE EXCEPTION 'a payment of the bank is of an instruction of the same employer'
              USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'bank_payment_has_instruction';
          END IF;
        END LOOP;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_change_of_a_corrected_row()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        paying uuid;
      BEGIN
        SELECT pay_run_id INTO paying FROM payment WHERE employer_id = OLD.employer_id AND id = OLD.payment_id;
        IF NOT EXISTS (SELECT FROM pay_run WHERE employer_id = OLD.employer_id AND id = paying
             AND status IN ('CANCELLING', 'CANCELLED')) THEN
          RAISE EXCEPTION 'a row that was corrected stays so unless its run is cancelled'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'corrected_once';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_change_of_a_decided_action()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'an action is confirmed or withdrawn once, and stays as it was proposed'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'action_is_decided_once';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_change_of_a_decided_hold()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'a hold is decided once'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'hold_is_decided_once';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_change_of_a_final_outcome()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'a submit that was % does not become %', OLD.outcome, coalesce(NEW.outcome, 'unanswered')
          USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_outcome_is_final';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_change_of_a_key()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'what a row of % is, and of what, never changes', TG_TABLE_NAME
          USING ERRCODE = 'check_violation', CONSTRAINT = 'keys_never_change';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_change_of_a_passed_check()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'what a check after a restore found never changes'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'passed_restore_check_stays';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_change_of_a_resolved_attention()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'what was resolved stays as it was resolved; a new doubt is a new attention'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'resolved_for_good';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_change_of_a_voided_approval()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'an approval that was taken back stays so'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'voided_for_good';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_change_of_a_withdrawn_release()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'a release is withdrawn once'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'release_is_withdrawn_once';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_change_of_identity()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'what an instruction is of, and its id at the bank, never change'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'identity_never_changes';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_confirmation_without_role()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF NOT EXISTS (SELECT FROM person p
            JOIN person_role r ON r.employer_id = NEW.employer_id AND r.person_id = p.id
            WHERE p.id = NEW.confirmed_by AND p.disabled_at IS NULL AND r.role IN ('approver', 'operator')) THEN
          RAISE EXCEPTION 'who confirms an action holds no role any more that may'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'who_confirms_may';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_decision_by_one_person()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF NOT EXISTS (SELECT FROM attention_action d
             JOIN attention a ON a.employer_id = d.employer_id AND a.id = d.attention_id
             WHERE d.employer_id = NEW.employer_id AND d.id = NEW.action_id AND d.action = 'EXECUTED'
               AND d.confirmed_at IS NOT NULL AND a.kind = 'UNRECORDED_SUBMIT' AND a.pay_run_id = NEW.pay_run_id
               AND (a.instruction_id = NEW.instruction_id OR NEW.restore_id IS NOT NULL AND d.evidence IS NOT NULL)) THEN
          RAISE EXCEPTION 'two people decide what becomes of a submit that is not in the record'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'unrecorded_submit_needs_two_people';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_deletion()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION '% is never deleted from: others refer to it', TG_TABLE_NAME
          USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'never_deleted';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_detachment_in_use()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        -- What uses the account keeps its key, for which an update alone does not wait; and waits for no gate, which
        -- would wait for a long upload if that shared the row.
        PERFORM FROM employer_account a WHERE a.employer_id = NEW.employer_id AND a.id = NEW.id FOR UPDATE;
        IF OLD.detached_at IS NOT NULL
            OR EXISTS (SELECT FROM pay_schedule s
              WHERE s.employer_id = NEW.employer_id AND s.account_id = NEW.id AND s.active)
            OR EXISTS (SELECT FROM pay_run r WHERE r.employer_id = NEW.employer_id AND r.account_id = NEW.id
              AND r.status NOT IN ('SETTLED', 'PARTLY_SETTLED', 'FAILED', 'CANCELLED')) THEN
          RAISE EXCEPTION 'an account is detached once, and while no schedule and no open run uses it'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'detached_account_is_idle';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_end_of_what_went_on()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (SELECT FROM instruction i
             WHERE i.employer_id = NEW.employer_id AND i.planned_instruction_id = ANY (ARRAY(
               SELECT n.id FROM planned_instruction n WHERE n.employer_id = NEW.employer_id
                 AND n.pay_run_id = NEW.pay_run_id AND NEW.row_no BETWEEN n.first_row AND n.last_row))
               AND i.status = 'SUBMITTED' AND i.went_on_at IS NOT NULL
               AND NOT EXISTS (SELECT FROM attention a
                 JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
                 WHERE a.employer_id = i.employer_id AND a.instruction_id = i.id AND a.opened_at > i.went_on_at
                   AND d.action = 'NOT_EXECUTED' AND d.confirmed_at IS NOT NULL))
           AND NOT EXISTS (SELECT FROM payment_decision d
             WHERE d.employer_id = NEW.employer_id AND d.payment_id = NEW.id) THEN
          RAISE EXCEPTION 'the bank went on with an instruction since two people were asked whether it was executed'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'void_is_asked_since';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_falling_epoch()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'the epoch of a lease only climbs: % to %', OLD.epoch, NEW.epoch
          USING ERRCODE = 'check_violation', CONSTRAINT = 'epoch_only_climbs';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_falling_rank()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'the bank''s ladder only climbs: % to %', OLD.bank_rank, NEW.bank_rank
          USING ERRCODE = 'check_violation', CONSTRAINT = 'ladder_only_climbs';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_foreign_correction()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        paying uuid;
      BEGIN
        SELECT pay_run_id INTO paying FROM payment WHERE employer_id = NEW.employer_id AND id = NEW.payment_id;
        IF EXISTS (SELECT FROM pay_run r
             JOIN faulty_file f ON f.employer_id = r.employer_id AND f.id = NEW.faulty_file_id
             WHERE r.employer_id = NEW.employer_id AND r.id = paying
               AND (f.pay_run_id IN (r.id, r.parent_run_id)) IS NOT TRUE) THEN
          RAISE EXCEPTION 'a row is corrected in its run or in a supplement of it'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'corrected_in_its_run';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_forgetting_of_a_run()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'the rows kept back of a run stay with it'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'kept_with_its_run';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_giving_up_after_a_restore()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF NOT database_is_known() THEN
          RAISE EXCEPTION 'nothing is given up on a database that may have forgotten its submit'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'giving_up_needs_known_database';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_giving_up_of_a_submit()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (SELECT FROM submit_attempt s WHERE s.employer_id = NEW.employer_id
             AND s.planned_instruction_id = NEW.planned_instruction_id AND s.instruction_id = NEW.id
             AND s.outcome IS DISTINCT FROM 'PROVEN_UNSENT') THEN
          RAISE EXCEPTION 'an instruction whose submit is not proven unsent does not become %', NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_is_not_given_up';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_illegal_move()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF NOT EXISTS (SELECT FROM allowed_move m WHERE m.subject = TG_TABLE_NAME
             AND m.from_status = OLD.status AND m.to_status = NEW.status) THEN
          RAISE EXCEPTION '% may not move from % to %', TG_TABLE_NAME, OLD.status, NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_moves_only';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_illegal_payment_move()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'payment may not move from % to %', OLD.status, NEW.status
          USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_moves_only';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_leaving_a_live_instruction()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (SELECT FROM instruction i
             WHERE i.employer_id = NEW.employer_id AND i.planned_instruction_id = ANY (ARRAY(
               SELECT n.id FROM planned_instruction n WHERE n.employer_id = NEW.employer_id
                 AND n.pay_run_id = NEW.pay_run_id AND NEW.row_no BETWEEN n.first_row AND n.last_row))
               AND i.status NOT IN ('ABANDONED', 'CANCELLED')
               AND (NEW.status <> 'VOID' OR i.status NOT IN ('RELEASED', 'VOID'))) THEN
          RAISE EXCEPTION 'a payment at the bank becomes % only once no instruction that holds it may pay it', NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'leaves_with_its_instruction';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_meaning_without_two_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF NOT EXISTS (SELECT FROM attention_action d
             JOIN attention a ON a.employer_id = d.employer_id AND a.id = d.attention_id
             WHERE d.employer_id = NEW.employer_id AND d.id = NEW.action_id AND d.action IN ('PAID', 'NOT_PAID')
               AND d.confirmed_at IS NOT NULL AND NEW.payment_id = ANY (d.payment_ids)
               AND (d.action = 'PAID' OR d.payment_statuses IS NULL
                 OR d.payment_statuses[array_position(d.payment_ids, NEW.payment_id)] = NEW.bank_status)
               AND a.kind = 'UNKNOWN_STATUS' AND a.instruction_id = NEW.instruction_id
               AND strpos(a.happened, ' ' || NEW.bank_status || ' (') > 0
               AND EXISTS (SELECT FROM bank_payment b
                 WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id
                   AND b.row_no = NEW.row_no AND b.payment_id = NEW.payment_id)) THEN
          RAISE EXCEPTION 'two people who were asked about this status decide what it means for a payment they named'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'meaning_needs_two_people';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_new_place_of_a_payment()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'only a held payment takes a release'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'release_is_taken_while_held';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_other_submit_time()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'when a run is submitted changes only in a draft, which is approved anew'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_time_is_of_a_draft';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_other_submitted_status()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'that what a restore left open was submitted is written down once'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'shown_as_submitted_once';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_payment_on_hold()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = NEW.employer_id
             AND h.pay_run_id = NEW.pay_run_id AND h.payment_id = NEW.id AND h.outcome IS NULL) OR NOT EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = NEW.employer_id
             AND h.pay_run_id = NEW.pay_run_id AND h.payment_id = NEW.id AND h.outcome = 'RELEASED') THEN
          RAISE EXCEPTION 'a payment with an open hold stays held'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'held_until_released';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_release_after_a_restore()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF may_be_forgotten(NEW.employer_id, NEW.pay_run_id) THEN
          RAISE EXCEPTION 'nothing is released of a run of which a restored database may have forgotten a submit'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'forgotten_run_is_not_released';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_release_by_a_preparer()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF has_prepared(NEW.employer_id, NEW.pay_run_id, NEW.decided_by) THEN
          RAISE EXCEPTION 'who prepared a run releases none of its holds'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'releaser_is_not_preparer';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_resume_before_the_bank_was_read()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF NOT EXISTS (SELECT FROM restore_check c WHERE c.employer_id = NEW.employer_id
             AND c.restore_id = NEW.subject_id AND c.passed_at IS NOT NULL) THEN
          RAISE EXCEPTION 'submits stay off until the bank was reconciled with what was restored'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'restore_is_reconciled';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_resume_over_a_stop()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (SELECT FROM service_stop WHERE lifted_at IS NULL) THEN
          RAISE EXCEPTION 'submits stay off while a breach that stops everything is undecided'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'service_is_stopped';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_resume_without_two_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        -- Of an attention that is resolved only what came after the stop: another stop of the same is another decision.
        IF NOT EXISTS (SELECT FROM attention a
             JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
             WHERE a.employer_id = NEW.employer_id AND a.kind = NEW.kind AND a.subject_id = NEW.subject_id
               AND d.action = 'RESUME' AND d.confirmed_at IS NOT NULL
               AND (a.resolved_at IS NULL OR d.confirmed_at >= NEW.stopped_at)
               AND (NEW.kind <> 'RESTORED' OR btrim(d.evidence) <> '' OR EXISTS (SELECT FROM restore_check c
                 WHERE c.employer_id = NEW.employer_id AND c.restore_id = NEW.subject_id AND NOT c.needs_evidence))) THEN
          RAISE EXCEPTION 'two people let submits go on after a breach that stops everything'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'resume_needs_two_people';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_rewriting_the_past()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME
          USING ERRCODE = 'check_violation', CONSTRAINT = 'append_only';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_row_in_two_live_instructions()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        mine planned_instruction;
      BEGIN
        PERFORM 1 FROM pay_run r WHERE r.employer_id = NEW.employer_id AND r.id = NEW.pay_run_id
          FOR NO KEY UPDATE;
        SELECT * INTO mine FROM planned_instruction p
        WHERE p.employer_id = NEW.employer_id AND p.id = NEW.planned_instruction_id;
        IF EXISTS (SELECT FROM planned_instruction other
             CROSS JOIN LATERAL (SELECT FROM instruction i
               WHERE i.employer_id = other.employer_id AND i.planned_instruction_id = other.id
                 AND i.status NOT IN ('ABANDONED', 'CANCELLED') LIMIT 1) AS live
             WHERE other.employer_id = mine.employer_id AND other.pay_run_id = mine.pay_run_id
               AND other.id <> mine.id AND other.first_row <= mine.last_row AND other.last_row >= mine.first_row) THEN
          RAISE EXCEPTION 'a row may be in one live instruction only'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'one_live_instruction_per_row';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_second_decision()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'what becomes of a submit that is not in the record is decided once'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'unrecorded_submit_is_decided_once';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_second_meaning()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        ended text;
      BEGIN
        -- Of two at a time the later one sees the earlier.
        SELECT p.status INTO ended FROM payment p
        WHERE p.employer_id = NEW.employer_id AND p.id = NEW.payment_id FOR NO KEY UPDATE;
        IF EXISTS (SELECT FROM payment_decision d
             WHERE d.employer_id = NEW.employer_id AND d.payment_id = NEW.payment_id)
           AND NOT (ended IN ('FAILED', 'REJECTED', 'CANCELLED')
             AND EXISTS (SELECT FROM attention_action a
               WHERE a.employer_id = NEW.employer_id AND a.id = NEW.action_id AND a.action = 'NOT_PAID')) THEN
          RAISE EXCEPTION 'only what the bank ended unpaid is decided of by a further status, and so that it stays unpaid'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'one_decision_ends_a_payment';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_submit_after_a_restore()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF NOT database_is_known() THEN
          RAISE EXCEPTION 'no submit on a database that may have forgotten others'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_known_database';
        END IF;
        IF EXISTS (SELECT FROM planned_instruction p
             JOIN forgotten_instruction f ON f.employer_id = p.employer_id AND f.pay_run_id = p.pay_run_id
             WHERE p.employer_id = NEW.employer_id AND p.id = NEW.planned_instruction_id AND f.adopted_at IS NULL) THEN
          RAISE EXCEPTION 'no submit of a run of which a restored database had forgotten one'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'forgotten_run_is_not_paid_again';
        END IF;
        IF EXISTS (SELECT FROM planned_instruction p WHERE p.employer_id = NEW.employer_id
             AND p.id = NEW.planned_instruction_id AND repays_forgotten(p.employer_id, p.pay_run_id)) THEN
          RAISE EXCEPTION 'no submit for employees whom one that a restored database had forgotten may have paid'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'forgotten_pay_is_not_paid_again';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_submit_beside_the_same_pay()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        -- Counted for each row: joined, the planner may read every payment of the employer.
        IF EXISTS (
            SELECT FROM planned_instruction i
            JOIN payment p ON p.employer_id = i.employer_id AND p.pay_run_id = i.pay_run_id
              AND p.row_no BETWEEN i.first_row AND i.last_row
            WHERE i.employer_id = NEW.employer_id AND i.id = NEW.planned_instruction_id AND p.live
              AND (p.replaces_payment_id IS NOT NULL OR p.release_sequence > 0)
              AND (SELECT count(*) > 0 FROM payment o WHERE o.employer_id = p.employer_id AND o.period = p.period
                AND o.kind_of_pay = p.kind_of_pay AND o.employee_id = p.employee_id AND o.live
                AND o.id <> p.id AND may_pay_the_same_unasked(p.employer_id, p.id, o.id))) THEN
          RAISE EXCEPTION 'another payment than one of the instruction may be made in the stead of the same one, and nobody released it'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_beside_the_same_pay';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_submit_of_a_held_payment()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        held boolean;
        elsewhere boolean;
      BEGIN
        SELECT bool_or(one.status = 'HELD'), bool_or(one.status <> 'AT_BANK') INTO held, elsewhere
          FROM bank_payment b CROSS JOIN LATERAL (
            SELECT p.status FROM payment p
            WHERE p.employer_id = NEW.employer_id AND p.id = b.payment_id LIMIT 1) AS one
          WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id;
        IF held THEN
          RAISE EXCEPTION 'an instruction that holds a held payment is not submitted'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'no_submit_of_a_held_payment';
        END IF;
        -- What the bank shows as submitted is written down after the fact, whatever became of its payments.
        IF elsewhere AND NEW.outcome IS DISTINCT FROM 'EXECUTED' THEN
          RAISE EXCEPTION 'an instruction is submitted while each payment in it is at the bank'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_is_of_payments_at_bank';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_submit_over_contradiction()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (
            WITH RECURSIVE replaced AS (
              SELECT p.replaces_payment_id AS id
              FROM planned_instruction i
              JOIN payment p ON p.employer_id = i.employer_id AND p.pay_run_id = i.pay_run_id
                AND p.row_no BETWEEN i.first_row AND i.last_row
              WHERE i.employer_id = NEW.employer_id AND i.id = NEW.planned_instruction_id
                AND p.replaces_payment_id IS NOT NULL AND p.live
              UNION
              SELECT p.replaces_payment_id FROM replaced r
              CROSS JOIN LATERAL (
                SELECT o.replaces_payment_id FROM payment o
                WHERE o.employer_id = NEW.employer_id AND o.id = r.id LIMIT 1) p
              WHERE p.replaces_payment_id IS NOT NULL)
            SELECT FROM replaced r JOIN attention a ON a.employer_id = NEW.employer_id AND a.payment_id = r.id
            WHERE a.kind = 'CONTRADICTION') THEN
          RAISE EXCEPTION 'what a payment of the instruction replaces may have been paid after all'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_over_contradiction';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_submit_over_what_is_kept()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        -- Each is sought by its key: joined, the planner may read every payment of the employer.
        IF EXISTS (
            WITH RECURSIVE replaced AS (
              SELECT p.replaces_payment_id AS id
              FROM planned_instruction i
              JOIN payment p ON p.employer_id = i.employer_id AND p.pay_run_id = i.pay_run_id
                AND p.row_no BETWEEN i.first_row AND i.last_row
              WHERE i.employer_id = NEW.employer_id AND i.id = NEW.planned_instruction_id
                AND p.replaces_payment_id IS NOT NULL AND p.live
              UNION
              SELECT p.replaces_payment_id FROM replaced r
              JOIN LATERAL (SELECT * FROM payment WHERE employer_id = NEW.employer_id AND id = r.id LIMIT 1) p ON true
              WHERE p.replaces_payment_id IS NOT NULL)
            SELECT FROM replaced r
            JOIN LATERAL (SELECT * FROM payment WHERE employer_id = NEW.employer_id AND id = r.id LIMIT 1) p ON true
            WHERE p.returned_minor IS NOT NULL
              AND may_be_kept(NEW.employer_id, p.id, p.amount_minor - p.returned_minor)) THEN
          RAISE EXCEPTION 'what a payment of the instruction replaces came back in part, and somebody may have kept the rest'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_over_what_is_kept';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_submit_without_intent()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        gate record;
        overlapping uuid[];
        approvals integer;
      BEGIN
        -- Locked, so that what allows the submit still does when its intent is committed.
        SELECT r.id, r.status, r.run_version, r.root_hash, p.run_version AS planned_version, e.approvals_required,
            p.first_row, p.last_row, r.stopped_at IS NOT NULL OR e.stopped_at IS NOT NULL OR s.submits_off AS stopped
          INTO gate
          FROM planned_instruction p
          JOIN pay_run r ON r.employer_id = p.employer_id AND r.id = p.pay_run_id
          JOIN employer e ON e.id = r.employer_id
          CROSS JOIN service_switch s
          WHERE p.employer_id = NEW.employer_id AND p.id = NEW.planned_instruction_id
          FOR SHARE OF r, e, s;
        -- After its run, as everything locks them: who would take the instruction back waits and finds the submit.
        PERFORM FROM instruction i
          JOIN planned_instruction p ON p.employer_id = i.employer_id AND p.id = i.planned_instruction_id
          WHERE i.employer_id = NEW.employer_id AND i.id = NEW.instruction_id AND i.status = 'SUBMIT_INTENT'
            AND i.planned_instruction_id = NEW.planned_instruction_id
            AND i.bank_instruction_id = NEW.bank_instruction_id AND p.row_hash = NEW.row_hash FOR NO KEY UPDATE OF i;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'a submit needs an instruction in SUBMIT_INTENT with the approved row hash'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_intent';
        END IF;
        SELECT array_agg(o.id) INTO overlapping FROM planned_instruction o
          WHERE o.employer_id = NEW.employer_id AND o.pay_run_id = gate.id AND o.id <> NEW.planned_instruction_id
            AND o.first_row <= gate.last_row AND o.last_row >= gate.first_row;
        IF overlapping IS NOT NULL AND EXISTS (SELECT FROM submit_attempt s WHERE s.employer_id = NEW.employer_id
             AND s.planned_instruction_id = ANY (overlapping) AND s.outcome IS DISTINCT FROM 'PROVEN_UNSENT') THEN
          RAISE EXCEPTION 'a row is submitted once, whatever became of the instruction it was in'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'one_submit_per_row';
        END IF;
        IF (gate.status = 'SUBMITTING' AND gate.planned_version = gate.run_version) IS NOT TRUE THEN
          RAISE EXCEPTION 'a submit needs a run in SUBMITTING of which the plan is the standing version'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_gate';
        END IF;
        IF gate.stopped THEN
          RAISE EXCEPTION 'no submit while a switch stops the run, its employer or everything'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_is_stopped';
        END IF;
        SELECT count(*) INTO approvals FROM (SELECT FROM approval a
          WHERE a.employer_id = NEW.employer_id AND a.pay_run_id = gate.id AND a.run_version = gate.run_version
            AND a.root_hash = gate.root_hash AND a.voided_at IS NULL FOR SHARE) AS standing;
        IF approvals < gate.approvals_required THEN
          RAISE EXCEPTION 'a submit needs the approvals its employer requires, over what stands now'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_approval';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_successor_around_another()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        -- What another session replaces of the same chain meanwhile is seen once it is committed.
        PERFORM FROM payment WHERE employer_id = NEW.employer_id AND id = (
          WITH RECURSIVE chain AS (
            SELECT p.id, p.replaces_payment_id AS before FROM payment p
            WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id
            UNION SELECT o.id, o.replaces_payment_id
            FROM chain c JOIN LATERAL (SELECT * FROM payment
              WHERE employer_id = NEW.employer_id AND id = c.before LIMIT 1) o ON true)
          SELECT id FROM chain WHERE before IS NULL) FOR NO KEY UPDATE;
        IF EXISTS (
            WITH RECURSIVE chain AS (
              SELECT p.id, p.replaces_payment_id AS before, p.status FROM payment p
              WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id
              UNION SELECT o.id, o.replaces_payment_id, o.status
              FROM chain c JOIN LATERAL (SELECT * FROM payment
                WHERE employer_id = NEW.employer_id AND id = c.before LIMIT 1) o ON true),
            stead AS (
              SELECT id FROM chain WHERE before IS NULL
              UNION SELECT unnest(ARRAY(SELECT s.id FROM payment s
                WHERE s.employer_id = NEW.employer_id AND s.replaces_payment_id = stead.id))
              FROM stead)
            SELECT FROM chain replaced, stead
            JOIN LATERAL (SELECT * FROM payment WHERE employer_id = NEW.employer_id AND id = stead.id LIMIT 1) s ON true
            JOIN LATERAL (SELECT * FROM pay_run WHERE employer_id = NEW.employer_id AND id = s.pay_run_id LIMIT 1) r ON true
            WHERE replaced.id = NEW.replaces_payment_id AND stead.id NOT IN (SELECT id FROM chain)
              AND s.replaces_payment_id <> NEW.replaces_payment_id
              AND (s.live OR s.status NOT IN ('EXCLUDED', 'HELD')
                AND NOT (s.status = 'CANCELLED' AND r.status IN ('CANCELLING', 'CANCELLED')))
              AND (replaced.status = 'EXCLUDED' OR s.id > replaced.id)) THEN
          RAISE EXCEPTION 'another payment was sent in the stead of the same one: that one is replaced'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'last_sent_is_replaced';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_successor_beside_the_same_pay()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (SELECT FROM payment o WHERE o.employer_id = NEW.employer_id AND o.period = NEW.period
             AND o.kind_of_pay = NEW.kind_of_pay AND o.employee_id = NEW.employee_id AND o.live
             AND may_pay_the_same(NEW.employer_id, NEW.replaces_payment_id, o.id)) THEN
          RAISE EXCEPTION 'another payment may be made in the stead of what came back: this one is held until a person releases it'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_is_not_paid_otherwise';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_successor_of_a_forgotten_run()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (SELECT FROM payment p
             JOIN forgotten_instruction f ON f.employer_id = p.employer_id AND f.pay_run_id = p.pay_run_id
             WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id AND f.adopted_at IS NULL) THEN
          RAISE EXCEPTION 'what a submit that is not in the record may have paid is never replaced'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_was_not_forgotten';
        END IF;
        IF NEW.status <> 'HELD'
            AND may_be_paid_by_another(NEW.employer_id, NEW.replaces_payment_id, NEW.release_sequence) THEN
          RAISE EXCEPTION 'whom a run may have paid that a restored database has forgotten is held before it is paid again'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_was_not_paid_by_another';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_successor_of_what_is_kept()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        before uuid := NEW.replaces_payment_id;
        replaced record;
      BEGIN
        WHILE before IS NOT NULL LOOP
          SELECT p.replaces_payment_id, p.amount_minor - p.returned_minor AS lacking INTO replaced FROM payment p
            WHERE p.employer_id = NEW.employer_id AND p.id = before FOR SHARE;
          IF replaced.lacking IS NOT NULL AND may_be_kept(NEW.employer_id, before, replaced.lacking) THEN
            RAISE EXCEPTION 'a payment that came back in part is replaced once two people say that nobody kept the rest'
              USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_is_not_kept';
          END IF;
          before := replaced.replaces_payment_id;
        END LOOP;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_taking_back_without_a_submit()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF OLD.adopted_at IS NOT NULL OR NOT EXISTS (SELECT FROM submit_attempt s
             WHERE s.employer_id = NEW.employer_id AND s.bank_instruction_id = NEW.bank_instruction_id
               AND s.outcome = 'EXECUTED') THEN
          RAISE EXCEPTION 'what was forgotten is taken back once, with its submit in the record'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'taken_back_with_its_submit';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_tick_by_a_preparer()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (SELECT FROM (SELECT DISTINCT employer_id, pay_run_id, ticked_by FROM ticked) AS t
             WHERE has_prepared(t.employer_id, t.pay_run_id, t.ticked_by)) THEN
          RAISE EXCEPTION 'who prepared the run does not tick its IBANs'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ticker_is_not_preparer';
        END IF;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_unlawful_successor()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        replaced record;
      BEGIN
        -- Locked, so that what allows the successor still does when it is committed.
        SELECT p.period, p.kind_of_pay, p.employee_id, p.status, p.returned_at INTO replaced FROM payment p
          WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id FOR SHARE;
        IF NOT FOUND THEN
          RETURN NEW;
        END IF;
        IF (replaced.period, replaced.kind_of_pay, replaced.employee_id)
            IS DISTINCT FROM (NEW.period, NEW.kind_of_pay, NEW.employee_id) THEN
          RAISE EXCEPTION 'a payment replaces one of the same employee, period and kind of pay'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'successor_is_the_same_pay';
        END IF;
        IF replaced.status NOT IN ('VOID', 'FAILED', 'REJECTED', 'CANCELLED', 'EXCLUDED')
            AND NOT (replaced.status = 'SETTLED' AND replaced.returned_at IS NOT NULL
              AND NEW.replaces_reason IS NOT NULL) THEN
          RAISE EXCEPTION 'a payment that is % is not replaced', replaced.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_was_not_paid';
        END IF;
        IF EXISTS (SELECT FROM attention a WHERE a.employer_id = NEW.employer_id
             AND a.payment_id = NEW.replaces_payment_id AND a.kind = 'CONTRADICTION') THEN
          RAISE EXCEPTION 'a payment with two final statuses is never replaced'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_is_not_contradicted';
        END IF;
        IF EXISTS (SELECT FROM payment s JOIN pay_run r ON r.employer_id = s.employer_id AND r.id = s.pay_run_id
             WHERE s.employer_id = NEW.employer_id AND s.replaces_payment_id = NEW.replaces_payment_id
               AND NOT s.live AND s.status NOT IN ('EXCLUDED', 'HELD')
               AND NOT (s.status = 'CANCELLED' AND r.status IN ('CANCELLING', 'CANCELLED'))) THEN
          RAISE EXCEPTION 'the payment was replaced by one that was sent: that one is replaced'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'last_of_the_chain_is_replaced';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_unreleased_second_pay()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        -- Locked, so that who withdraws it waits and finds what uses it.
        PERFORM FROM pay_release r WHERE r.employer_id = NEW.employer_id
             AND r.period = NEW.period AND r.kind_of_pay = NEW.kind_of_pay
             AND r.employee_id = NEW.employee_id AND r.sequence = NEW.release_sequence AND r.withdrawn_at IS NULL AND (r.payment_id IS NULL OR r.payment_id = NEW.id OR (
               SELECT m.live OR m.status <> 'EXCLUDED' AND (
                 SELECT c.status FROM pay_run c WHERE c.employer_id = m.employer_id AND c.id = m.pay_run_id) <> 'CANCELLED'
               FROM payment m WHERE m.employer_id = r.employer_id AND m.id = r.payment_id))
             FOR SHARE OF r;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'second pay of a period without a release'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'second_pay_is_released';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_use_of_a_detached_account()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        detached timestamptz;
      BEGIN
        -- Locked, and judged as it is by then: who detaches it waits and finds what uses it, or has done so.
        SELECT a.detached_at INTO detached FROM employer_account a
          WHERE a.employer_id = NEW.employer_id AND a.id = NEW.account_id FOR KEY SHARE;
        IF detached IS NOT NULL THEN
          RAISE EXCEPTION 'a detached account pays nothing more'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'account_is_attached';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_void_without_two_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF NOT EXISTS (SELECT FROM attention a
             JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
             WHERE a.employer_id = NEW.employer_id AND a.instruction_id = NEW.id AND d.action = 'NOT_EXECUTED'
               AND d.confirmed_at IS NOT NULL) THEN
          RAISE EXCEPTION 'two people declare that a submit was not executed'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'void_needs_two_people';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_whole_of_parts()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        RAISE EXCEPTION 'what came back in part stays so, and what came back whole came back in none'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'part_stays_part';
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_withdrawal_of_a_used_release()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF EXISTS (SELECT FROM payment p WHERE p.employer_id = NEW.employer_id AND p.period = NEW.period
             AND p.kind_of_pay = NEW.kind_of_pay AND p.employee_id = NEW.employee_id
             AND p.release_sequence = NEW.sequence AND p.live) THEN
          RAISE EXCEPTION 'a release that a live payment uses is not withdrawn'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'used_release_stands';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.refuse_word_without_two_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      BEGIN
        IF NOT EXISTS (SELECT FROM attention_action d
             JOIN attention a ON a.employer_id = d.employer_id AND a.id = d.attention_id
             WHERE d.employer_id = NEW.employer_id AND d.id = NEW.action_id AND d.action = 'NOT_PAID'
               AND d.confirmed_at IS NOT NULL AND NEW.payment_id = ANY (d.payment_ids)
               AND a.kind = 'REPLACED_UNSEEN' AND NOT EXISTS (SELECT FROM moved_payment m
                 WHERE m.employer_id = NEW.employer_id AND m.instruction_id = NEW.instruction_id
                   AND m.row_no = NEW.row_no AND m.seen_at >= a.opened_at))
           OR NOT EXISTS (SELECT FROM bank_payment b
             JOIN payment p ON p.employer_id = b.employer_id AND p.id = b.payment_id
             WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id
               AND b.row_no = NEW.row_no AND b.payment_id = NEW.payment_id
               AND (NOT p.live OR p.returned_at IS NOT NULL)) THEN
          RAISE EXCEPTION 'two people who were asked about it say that a payment which is over was not paid'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'word_needs_two_people';
        END IF;
        RETURN NEW;
      END $function$;

CREATE OR REPLACE FUNCTION public.repays_forgotten(employer uuid, run uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        runs uuid[];
        moved uuid[];
      BEGIN
        SELECT array_agg(DISTINCT f.pay_run_id) INTO runs FROM forgotten_instruction f
          WHERE f.employer_id = employer AND f.pay_run_id IS NOT NULL AND f.adopted_at IS NULL;
        IF run = ANY (runs) THEN
          RETURN true;
        END IF;
        IF runs IS NOT NULL AND EXISTS (SELECT FROM payment o
            JOIN payment p ON p.employer_id = o.employer_id AND p.period = o.period AND p.kind_of_pay = o.kind_of_pay
              AND p.employee_id = o.employee_id AND p.pay_run_id = run AND p.live
              AND p.release_sequence <= o.release_sequence AND p.status NOT IN ('SUBMITTED', 'SETTLED')
            WHERE o.employer_id = employer AND o.pay_run_id = ANY (runs)) THEN
          RETURN true;
        END IF;
        SELECT array_agg(m.instruction_id) INTO moved FROM moved_instruction m WHERE m.employer_id = employer;
        RETURN moved IS NOT NULL AND EXISTS (SELECT FROM bank_payment b
            JOIN payment o ON o.employer_id = b.employer_id AND o.id = b.payment_id
            JOIN payment p ON p.employer_id = o.employer_id AND p.period = o.period AND p.kind_of_pay = o.kind_of_pay
              AND p.employee_id = o.employee_id AND p.pay_run_id = run AND p.live
              AND p.release_sequence <= o.release_sequence AND p.status NOT IN ('SUBMITTED', 'SETTLED')
            WHERE b.employer_id = employer AND b.instruction_id = ANY (moved));
      END $function$;

CREATE OR REPLACE FUNCTION public.restore_leaves_in_doubt(employer uuid, known integer, since timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
        SELECT EXISTS (SELECT FROM database_restore d WHERE d.nth > known
            AND (NOT EXISTS (SELECT FROM restore_check c WHERE c.employer_id = employer AND c.restore_id = d.id
                AND c.passed_at IS NOT NULL AND NOT c.needs_evidence)
              OR EXISTS (SELECT FROM forgotten_debit f
                JOIN employer_account a ON a.employer_id = employer AND a.iban_hash = f.debtor_hash
                WHERE f.restore_id = d.id)
              OR EXISTS (SELECT FROM forgotten_instruction f WHERE f.employer_id = employer AND f.restore_id = d.id
                AND f.pay_run_id IS NULL AND f.adopted_at IS NULL)))
          OR EXISTS (SELECT FROM forgotten_instruction f WHERE f.employer_id = employer AND f.pay_run_id IS NULL
            AND f.adopted_at IS NULL AND f.found_at > since) $function$;

CREATE OR REPLACE FUNCTION public.run_state(of_employer uuid, run uuid, OUT run_status text, OUT ended boolean, OUT stopped boolean, OUT restored boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
      DECLARE
        switched_off boolean;
      BEGIN
        SELECT e.stopped_at IS NOT NULL OR s.submits_off OR EXISTS (SELECT FROM forgotten_instruction f
              WHERE f.employer_id = e.id AND f.pay_run_id = run AND f.adopted_at IS NULL),
            NOT database_is_known() OR EXISTS (SELECT FROM restore_check c
              WHERE c.employer_id = e.id AND c.passed_at IS NULL)
          INTO switched_off, restored
          FROM employer e, service_switch s WHERE e.id = of_employer;
        SELECT r.status, r.status IN ('CANCELLING', 'CANCELLED') OR r.lapse_reason IS NOT NULL OR EXISTS (SELECT FROM amendment a
              WHERE a.employer_id = r.employer_id AND a.pay_run_id = r.id AND a.applied_as_version IS NULL),
            switched_off OR r.stopped_at IS NOT NULL
          INTO run_status, ended, stopped
          FROM pay_run r WHERE r.employer_id = of_employer AND r.id = run;
      END $function$;

CREATE OR REPLACE FUNCTION public.unasked_rows(employer uuid, run uuid, in_doubt uuid[])
 RETURNS TABLE(payment_id uuid, beside_run_id uuid, beside_line integer, also_beside_run_ids uuid[])
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'public', 'pg_temp'
 SET enable_nestloop TO 'off'
AS $function$
      DECLARE
        codes CONSTANT text[] := ARRAY['ROWS_OF_ANOTHER_RUN', 'IBAN_AND_AMOUNT_TWICE'];
        besides CONSTANT uuid[] := ARRAY(
          SELECT o.id FROM pay_run o JOIN pay_run r ON r.employer_id = o.employer_id AND r.id = run
          WHERE o.employer_id = employer AND (o.period = r.period OR abs(o.execution_date - r.execution_date) <= 14)
            AND o.id IN (SELECT unnest(h.beside_run_id || h.also_beside_run_ids) FROM pay_hold h
              WHERE h.employer_id = employer AND h.pay_run_id = run AND h.row_no = 0 AND h.code = codes[1]
                AND h.outcome = 'AMENDED'));
      BEGIN
        IF besides = '{}' THEN
          RETURN;
        END IF;
        RETURN QUERY
          WITH asked AS MATERIALIZED (
            SELECT CASE h.pay_run_id WHEN run THEN b.id ELSE h.pay_run_id END AS other, h.payment_id AS row,
              b.id = h.beside_run_id AS is_first
            FROM pay_hold h, unnest(h.beside_run_id || h.also_beside_run_ids) AS b(id)
            WHERE h.employer_id = employer AND h.code = ANY (codes) AND (h.outcome IS NULL OR h.outcome = 'RELEASED')
              AND (h.pay_run_id = run AND b.id = ANY (besides) OR h.pay_run_id = ANY (besides) AND b.id = run)),
          mine AS MATERIALIZED (
            SELECT u.id, u.employee_id, u.iban_hash, u.amount_minor, u.period, u.kind_of_pay FROM payment u
            WHERE u.employer_id = employer AND u.pay_run_id = run AND (u.live OR u.status = 'HELD')),
          theirs AS (
            SELECT p.id, p.pay_run_id, p.line, p.employee_id, p.iban_hash, p.amount_minor, p.period, p.kind_of_pay,
              p.employee_id <> first_value(p.employee_id) OVER (
                PARTITION BY p.pay_run_id, p.iban_hash, p.amount_minor ORDER BY p.id) AS of_another
            FROM payment p
            WHERE p.employer_id = employer AND (p.live OR p.status = 'HELD' OR p.pay_run_id = ANY (in_doubt))
              AND p.pay_run_id = ANY (ARRAY(SELECT unnest(besides)
                EXCEPT SELECT a.other FROM asked a WHERE a.row IS NULL AND a.is_first))
              AND (p.iban_hash, p.amount_minor) IN (SELECT m.iban_hash, m.amount_minor FROM mine m)
              AND NOT EXISTS (SELECT FROM asked a WHERE a.row = p.id)),
          first AS (
            SELECT DISTINCT ON (t.pay_run_id, t.iban_hash, t.amount_minor, t.of_another) t.* FROM theirs t
            ORDER BY t.pay_run_id, t.iban_hash, t.amount_minor, t.of_another, t.id),
          alike AS (
            SELECT DISTINCT ON (u.id, p.pay_run_id) u.id AS row, p.id, p.pay_run_id, p.line
            FROM mine u
            JOIN first p ON p.iban_hash = u.iban_hash AND p.amount_minor = u.amount_minor
              AND (p.period = u.period AND p.employee_id <> u.employee_id
                OR (p.period, p.kind_of_pay) <> (u.period, u.kind_of_pay)
                  AND p.pay_run_id <> ALL (ARRAY(SELECT a.other FROM asked a WHERE a.row IS NULL)))
            WHERE NOT EXISTS (SELECT FROM asked a WHERE a.row = u.id AND a.other = p.pay_run_id)
            ORDER BY u.id, p.pay_run_id, p.id)
          SELECT a.row, (array_agg(a.pay_run_id ORDER BY a.id))[1], (array_agg(a.line ORDER BY a.id))[1],
            (array_agg(a.pay_run_id ORDER BY a.id))[2:]
          FROM alike a GROUP BY a.row;
      END $function$;
