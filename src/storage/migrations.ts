/** End of the step that gives plans ids of their own, the same in both databases. Part of a released step. */
export const FILL_PLANS = `
  INSERT INTO plans (id, hash, revision, state, saved_at, expires_at, made_by, by, reason, approved_by, plan, targets)
    SELECT CASE WHEN count(*) OVER (PARTITION BY id) = 1 THEN id ELSE substr(hash, 1, 16) END, hash, 1, state, saved_at,
      expires_at, CASE WHEN state = 'draft' THEN by END, CASE WHEN state <> 'draft' THEN by END, reason,
      CASE WHEN state = 'approved' THEN by END, plan, targets
    FROM plans_by_hash;
  DROP TABLE plans_by_hash;
  CREATE INDEX plans_state ON plans (state, saved_at);
  CREATE INDEX plans_hash ON plans (hash, revision);
`;

/**
 * Schema as numbered steps: step n updates a store from `user_version` n to n + 1. A released step must never be
 * edited. A change is a new step.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE log_fold (
    account TEXT PRIMARY KEY, watermark INTEGER NOT NULL, kept_from INTEGER NOT NULL, swept_at INTEGER, form TEXT
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE log_keys (account TEXT NOT NULL, kind TEXT NOT NULL, slice INTEGER NOT NULL, keys BLOB NOT NULL) STRICT;
  CREATE INDEX log_keys_slice ON log_keys (account, kind, slice);

  CREATE TABLE log_open (
    account TEXT NOT NULL, message_id TEXT NOT NULL, expires INTEGER NOT NULL,
    destination TEXT NOT NULL, created INTEGER, due INTEGER, record TEXT NOT NULL,
    PRIMARY KEY (account, message_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX log_open_expires ON log_open (account, expires);

  CREATE TABLE log_hours (
    account TEXT NOT NULL, hour INTEGER NOT NULL, state TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (account, hour, state)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE delivery_lines (id INTEGER PRIMARY KEY AUTOINCREMENT, line TEXT NOT NULL) STRICT;

  CREATE TABLE workflow_dlq_fold (account TEXT PRIMARY KEY, listed_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE workflow_dlq_runs (
    account TEXT NOT NULL, dlq_id TEXT NOT NULL, workflow TEXT NOT NULL, created INTEGER NOT NULL,
    missed_since INTEGER, left_at INTEGER,
    PRIMARY KEY (account, dlq_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE series_fold (
    account TEXT NOT NULL, subject TEXT NOT NULL, source TEXT NOT NULL, series TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (account, subject, source, series)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE counters (
    account TEXT NOT NULL, metric TEXT NOT NULL, labels TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (account, metric, labels)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE histograms (
    account TEXT NOT NULL, metric TEXT NOT NULL, labels TEXT NOT NULL, buckets TEXT NOT NULL, sum REAL NOT NULL,
    PRIMARY KEY (account, metric, labels)
  ) STRICT, WITHOUT ROWID;

  -- Spans until their acknowledgment. Ids are never reused, so that a batch is settled once.
  CREATE TABLE span_outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, protocol TEXT NOT NULL,
    head TEXT NOT NULL, body BLOB NOT NULL, spans INTEGER NOT NULL, made_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE span_left_open (
    account TEXT NOT NULL, message_id TEXT NOT NULL, PRIMARY KEY (account, message_id)
  ) STRICT, WITHOUT ROWID;

  -- Label values that are exported under their own name, in the order of their arrival.
  CREATE TABLE label_values (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL, label TEXT NOT NULL, value TEXT NOT NULL, idle_ms INTEGER NOT NULL,
    UNIQUE (account, label, value)
  ) STRICT;

  CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    policy TEXT NOT NULL, account TEXT NOT NULL, plan_id TEXT NOT NULL, at INTEGER NOT NULL, cause TEXT NOT NULL,
    finished_at INTEGER, outcome TEXT, matched INTEGER NOT NULL DEFAULT 0, acted INTEGER NOT NULL DEFAULT 0,
    backlog INTEGER NOT NULL DEFAULT 0, detail TEXT, stopped_by TEXT
  ) STRICT;
  CREATE INDEX runs_policy ON runs (policy, id);
  CREATE INDEX runs_at ON runs (at);
  CREATE INDEX runs_stopped ON runs (stopped_by, at) WHERE stopped_by IS NOT NULL;

  -- subject is the run or message of the entry. stands is 0 once the action is proven to have had no effect.
  CREATE TABLE intents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL REFERENCES runs (id), at INTEGER NOT NULL, epoch INTEGER NOT NULL,
    policy TEXT NOT NULL, account TEXT NOT NULL, action TEXT NOT NULL,
    target TEXT NOT NULL, group_name TEXT NOT NULL, worth INTEGER NOT NULL CHECK (worth > 0),
    subject TEXT, lineage TEXT, campaign TEXT, step INTEGER, fingerprint TEXT,
    stands INTEGER NOT NULL DEFAULT 1, proposal TEXT NOT NULL
  ) STRICT;
  -- Of two actions on one target, at most one may have had an effect, regardless of the program's state.
  CREATE UNIQUE INDEX intents_claim ON intents (account, target) WHERE stands = 1;
  CREATE INDEX intents_target ON intents (target);
  CREATE INDEX intents_subject ON intents (subject) WHERE subject IS NOT NULL;
  CREATE INDEX intents_lineage ON intents (account, lineage, stands, at) WHERE lineage IS NOT NULL;
  CREATE INDEX intents_fingerprint ON intents (account, fingerprint) WHERE fingerprint IS NOT NULL;
  CREATE INDEX intents_campaign ON intents (campaign, step) WHERE campaign IS NOT NULL;
  CREATE INDEX intents_policy ON intents (policy, at);
  CREATE INDEX intents_run ON intents (run_id);
  CREATE INDEX intents_raises ON intents (account, at) WHERE action = 'budget.raise';
  -- Covers all columns of a sum over a part of a window.
  CREATE INDEX intents_caps ON intents (at, action, policy, account, worth, stands);

  -- Worth taken and not returned, in time slices: a window is the sum of a few rows.
  CREATE TABLE cap_slices (
    slice INTEGER NOT NULL, policy TEXT NOT NULL, account TEXT NOT NULL, action TEXT NOT NULL, worth INTEGER NOT NULL,
    PRIMARY KEY (slice, policy, account, action)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE outcomes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    intent_id INTEGER NOT NULL REFERENCES intents (id), at INTEGER NOT NULL,
    outcome TEXT NOT NULL, detail TEXT, new_run_id TEXT, done INTEGER
  ) STRICT;
  CREATE INDEX outcomes_intent ON outcomes (intent_id, id);
  CREATE INDEX outcomes_new_run ON outcomes (new_run_id) WHERE new_run_id IS NOT NULL;

  -- Work list of the ledger: intents without a final outcome. All else is read from the two tables above.
  CREATE TABLE unsettled (intent_id INTEGER PRIMARY KEY REFERENCES intents (id)) STRICT;

  CREATE TABLE pauses (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL,
    lifted_at INTEGER, lifted_reason TEXT, lifted_by TEXT
  ) STRICT;
  CREATE UNIQUE INDEX pauses_standing ON pauses (scope) WHERE lifted_at IS NULL;

  CREATE TABLE campaigns (
    id TEXT PRIMARY KEY, policy TEXT NOT NULL, group_name TEXT NOT NULL, state TEXT NOT NULL, begun_at INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX campaigns_standing ON campaigns (policy, group_name) WHERE state <> 'ended';
  CREATE TABLE campaign_numbers (policy TEXT PRIMARY KEY, last INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE plans (
    hash TEXT PRIMARY KEY, id TEXT NOT NULL, state TEXT NOT NULL, saved_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    by TEXT, reason TEXT, plan TEXT NOT NULL, targets TEXT NOT NULL
  ) STRICT;
  CREATE INDEX plans_state ON plans (state, saved_at);

  CREATE TABLE triggers (
    policy TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (policy, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE alerts (
    receiver TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, is_firing INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (receiver, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX alerts_firing ON alerts (name) WHERE is_firing = 1;

  CREATE TABLE dead_letters (
    account TEXT NOT NULL, dlq_id TEXT NOT NULL, learned_at INTEGER NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (account, dlq_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX dead_letters_learned ON dead_letters (account, learned_at);

  CREATE TABLE policy_matches (
    policy TEXT NOT NULL, dlq_id TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (policy, dlq_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE policy_versions (
    policy TEXT PRIMARY KEY, scope TEXT NOT NULL, audit_runs INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE policy_conditions (
    policy TEXT PRIMARY KEY, since INTEGER NOT NULL, last INTEGER NOT NULL, readings INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Conditions, and their pending notifications.
  CREATE TABLE notices (key TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE notice_queue (id INTEGER PRIMARY KEY, receiver TEXT NOT NULL, record TEXT NOT NULL) STRICT;
  `,
  `
  -- Requests of a day, counted in advance: after a crash the count is too high, never too low.
  CREATE TABLE request_use (
    account TEXT NOT NULL, api TEXT NOT NULL, day INTEGER NOT NULL, used INTEGER NOT NULL,
    PRIMARY KEY (account, api)
  ) STRICT, WITHOUT ROWID;
  `,
  'ALTER TABLE workflow_dlq_runs ADD COLUMN run_id TEXT',
  'DROP INDEX intents_fingerprint; ALTER TABLE intents DROP COLUMN fingerprint',
  `
  -- pending is the trigger as JSON until a run has processed it; account is the policy's account at the time.
  ALTER TABLE triggers ADD COLUMN account TEXT;
  ALTER TABLE triggers ADD COLUMN pending TEXT;
  CREATE INDEX triggers_pending ON triggers (policy, account, at) WHERE pending IS NOT NULL;
  -- A JSON list; NULL if the accounts of an alert are unknown.
  ALTER TABLE alerts ADD COLUMN accounts TEXT;
  `,
  `
  -- Time since when the store has every raise of an account's budget.
  CREATE TABLE watched_accounts (
    account TEXT PRIMARY KEY, id TEXT NOT NULL, since INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Width of the next window, and the current sweep for late entries.
  ALTER TABLE log_fold ADD COLUMN window_ms INTEGER;
  ALTER TABLE log_fold ADD COLUMN sweep TEXT;
  `,
  'ALTER TABLE log_fold ADD COLUMN proven_at INTEGER',
  `
  UPDATE outcomes SET outcome = CASE outcome
      WHEN 'acked' THEN 'accepted' WHEN 'came_back' THEN 'failed_again' WHEN 'undecidable' THEN 'unresolvable'
      WHEN 'resolved_done' THEN 'confirmed_applied' ELSE 'confirmed_not_applied' END
    WHERE outcome IN ('acked', 'came_back', 'undecidable', 'resolved_done', 'resolved_not_done');
  ALTER TABLE intents RENAME COLUMN worth TO items;
  ALTER TABLE cap_slices RENAME COLUMN worth TO items;
  ALTER TABLE intents RENAME COLUMN stands TO active;
  -- A quote inside a JSON text is escaped, so this matches only fields.
  UPDATE intents SET proposal = replace(proposal, '"worth":', '"items":');
  UPDATE plans SET plan = replace(plan, '"worth":', '"items":');
  UPDATE runs SET outcome = CASE WHEN outcome = 'nothing' THEN 'nothing_to_do' WHEN outcome = 'error' THEN 'failed'
      WHEN detail LIKE 'approval:%' THEN 'pending_approval' ELSE 'deferred' END
    WHERE outcome IN ('nothing', 'error', 'waiting');
  UPDATE runs SET stopped_by = CASE stopped_by
      WHEN 'complete_read' THEN 'incomplete_read' WHEN 'echo_check' THEN 'filter_mismatch'
      WHEN 'sanity' THEN 'implausible_data' WHEN 'foreign_actor' THEN 'other_instance'
      WHEN 'more_than_asked' THEN 'exceeded_request' ELSE 'outcome_mismatch' END
    WHERE stopped_by IN ('complete_read', 'echo_check', 'sanity', 'foreign_actor', 'more_than_asked', 'books');
  UPDATE plans SET state = CASE state WHEN 'shown' THEN 'draft' WHEN 'waiting' THEN 'pending' ELSE 'applied' END
    WHERE state IN ('shown', 'waiting', 'used');
  ALTER TABLE notices RENAME TO notifications;
  ALTER TABLE notice_queue RENAME TO notification_queue;
  UPDATE notifications SET record = replace(record, '"notice":{', '"notification":{');
  UPDATE notification_queue SET record = replace(record, '"notice":{', '"notification":{');
  DROP INDEX pauses_standing;
  CREATE UNIQUE INDEX pauses_active ON pauses (scope) WHERE lifted_at IS NULL;
  DROP INDEX campaigns_standing;
  CREATE UNIQUE INDEX campaigns_active ON campaigns (policy, group_name) WHERE state <> 'ended';
  ALTER TABLE log_fold RENAME COLUMN form TO entry_mode;
  UPDATE log_fold SET entry_mode = 'snapshot' WHERE entry_mode = 'present';
  UPDATE counters SET metric = CASE metric
      WHEN 'opsd_logs_given_up_messages_total' THEN 'opsd_messages_abandoned_total'
      WHEN 'opsd_logs_refused_entries_total' THEN 'opsd_log_invalid_entries_total'
      WHEN 'opsd_label_values_folded_total' THEN 'opsd_label_values_overflowed_total'
      WHEN 'msgsvc_log_events_by_total' THEN 'msgsvc_log_events_by_dimension_total'
      ELSE replace(metric, 'opsd_logs_', 'opsd_log_') END;
  UPDATE counters SET labels = replace(labels, '"elsewhere"]', '"other"]')
    WHERE metric = 'msgsvc_workflow_dlq_left_runs_total';
  ALTER TABLE log_fold RENAME TO log_aggregation;
  ALTER TABLE workflow_dlq_fold RENAME TO workflow_dlq_aggregation;
  ALTER TABLE series_fold RENAME TO series_aggregation;
  `,
  `
  -- Operations of operators. outcome is null until the response; to_usd is 0 for an unlimited budget.
  CREATE TABLE operations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL, operation TEXT NOT NULL, account TEXT NOT NULL, by TEXT NOT NULL,
    from_usd INTEGER, to_usd INTEGER, outcome TEXT, ended_at INTEGER
  ) STRICT;
  CREATE INDEX operations_open ON operations (id) WHERE outcome IS NULL;
  CREATE INDEX operations_budget ON operations (account, at) WHERE to_usd IS NOT NULL;
  CREATE INDEX operations_at ON operations (at);
  CREATE TABLE operation_claims (
    account TEXT NOT NULL, target TEXT NOT NULL, action TEXT NOT NULL,
    operation_id INTEGER NOT NULL REFERENCES operations (id), PRIMARY KEY (account, target)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX operation_claims_operation ON operation_claims (operation_id);
  `,
  `
  -- Incidents as JSON, their present members, the acknowledgments of operators, and changes that may explain them.
  CREATE TABLE incidents (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE incident_members (
    account TEXT NOT NULL, queue TEXT NOT NULL, dlq_id TEXT NOT NULL, incident TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (account, queue, dlq_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE incident_acknowledgments (
    incident TEXT PRIMARY KEY, at INTEGER NOT NULL, by TEXT NOT NULL, note TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE incident_marks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL
  ) STRICT;
  `,
  `
  -- Messages of canaries as JSON, and the state of each canary.
  CREATE TABLE canary_rounds (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE canary_states (
    account TEXT NOT NULL, canary TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (account, canary)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Accounts of rows that several replicas share, and ids of notifications that no two processes give.
  ALTER TABLE delivery_lines ADD COLUMN account TEXT NOT NULL DEFAULT '';
  ALTER TABLE incidents ADD COLUMN account TEXT NOT NULL DEFAULT '';
  UPDATE incidents SET account = json_extract(record, '$.account');
  ALTER TABLE canary_rounds ADD COLUMN account TEXT NOT NULL DEFAULT '';
  UPDATE canary_rounds SET account = json_extract(record, '$.account');
  ALTER TABLE notification_queue ADD COLUMN uuid TEXT NOT NULL DEFAULT '';
  UPDATE notification_queue SET uuid = id;
  CREATE UNIQUE INDEX notification_queue_uuid ON notification_queue (uuid);
  `,
  `
  -- Ended delivery attempts of a minute by destination, as JSON. All attempts after attempts_since are counted.
  CREATE TABLE log_attempts (
    account TEXT NOT NULL, minute INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (account, minute)
  ) STRICT, WITHOUT ROWID;
  ALTER TABLE log_aggregation ADD COLUMN attempts_since INTEGER;
  `,
  `
  -- Plans get ids of their own. An id that two contents share becomes longer.
  ALTER TABLE plans RENAME TO plans_by_hash;
  DROP INDEX plans_state;
  CREATE TABLE plans (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL, revision INTEGER NOT NULL, state TEXT NOT NULL, saved_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, made_by TEXT, by TEXT, decided_at INTEGER, reason TEXT, approved_by TEXT, approved_at INTEGER,
    replaced_by TEXT, plan TEXT NOT NULL, targets TEXT NOT NULL
  ) STRICT;
  ${FILL_PLANS}
  `,
];
