/** Schema of the store, for both databases: postgres/schema.ts translates it. Times are epoch milliseconds. */

const META = 'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;';

export const TABLES = `
  -- window_ms and sweep: width of the next window, and the current sweep for late entries.
  CREATE TABLE log_aggregation (
    account TEXT PRIMARY KEY, watermark INTEGER NOT NULL, kept_from INTEGER NOT NULL, swept_at INTEGER, entry_mode TEXT,
    window_ms INTEGER, sweep TEXT, proven_at INTEGER, attempts_since INTEGER
  ) STRICT, WITHOUT ROWID;

  -- Ended delivery attempts of a minute by destination, as JSON. All attempts after attempts_since are counted.
  CREATE TABLE log_attempts (
    account TEXT NOT NULL, minute INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (account, minute)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE log_keys (account TEXT NOT NULL, kind TEXT NOT NULL, slice INTEGER NOT NULL, keys BLOB NOT NULL) STRICT;
  CREATE INDEX log_keys_slice ON log_keys (account, kind, slice);

  CREATE TABLE log_open (
    account TEXT NOT NULL, message_id TEXT NOT NULL, expires INTEGER NOT NULL,
    destination TEXT NOT NULL, created INTEGER, due INTEGER, record TEXT NOT NULL,
    PRIMARY KEY (account, message_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX log_open_expires ON log_open (account, expires);

  -- Minutes and hours of an account, by their length in milliseconds. First the sums of the log by the time of its
  -- entries (minute-sums.ts; d0 is the first bucket of durations), then the highest values of readings, NULL if unknown.
  CREATE TABLE history (
    account TEXT NOT NULL, step INTEGER NOT NULL, at INTEGER NOT NULL,
    created INTEGER NOT NULL DEFAULT 0, delivered INTEGER NOT NULL DEFAULT 0, error INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0, retried INTEGER NOT NULL DEFAULT 0,
    d0 INTEGER NOT NULL DEFAULT 0, d1 INTEGER NOT NULL DEFAULT 0, d2 INTEGER NOT NULL DEFAULT 0, d3 INTEGER NOT NULL DEFAULT 0,
    d4 INTEGER NOT NULL DEFAULT 0, d5 INTEGER NOT NULL DEFAULT 0, d6 INTEGER NOT NULL DEFAULT 0, d7 INTEGER NOT NULL DEFAULT 0,
    d8 INTEGER NOT NULL DEFAULT 0, d9 INTEGER NOT NULL DEFAULT 0, d10 INTEGER NOT NULL DEFAULT 0, d11 INTEGER NOT NULL DEFAULT 0,
    d12 INTEGER NOT NULL DEFAULT 0, d13 INTEGER NOT NULL DEFAULT 0, d14 INTEGER NOT NULL DEFAULT 0, d15 INTEGER NOT NULL DEFAULT 0,
    canary_created INTEGER NOT NULL DEFAULT 0, canary_delivered INTEGER NOT NULL DEFAULT 0,
    canary_error INTEGER NOT NULL DEFAULT 0, canary_cancelled INTEGER NOT NULL DEFAULT 0,
    in_flight INTEGER, failed_runs INTEGER, dead_messages INTEGER, spend_usd REAL, flow_control TEXT,
    PRIMARY KEY (account, step, at)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE delivery_lines (
    id INTEGER PRIMARY KEY AUTOINCREMENT, line TEXT NOT NULL, account TEXT NOT NULL DEFAULT ''
  ) STRICT;
  CREATE TABLE workflow_dlq_aggregation (account TEXT PRIMARY KEY, listed_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE workflow_dlq_runs (
    account TEXT NOT NULL, dlq_id TEXT NOT NULL, workflow TEXT NOT NULL, created INTEGER NOT NULL,
    missed_since INTEGER, left_at INTEGER, run_id TEXT,
    PRIMARY KEY (account, dlq_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE series_aggregation (
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

  -- matched and backlog are NULL if they are unknown after a run.
  CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    policy TEXT NOT NULL, account TEXT NOT NULL, plan_id TEXT, at INTEGER NOT NULL, cause TEXT NOT NULL,
    finished_at INTEGER, outcome TEXT, matched INTEGER DEFAULT 0, acted INTEGER NOT NULL DEFAULT 0,
    backlog INTEGER DEFAULT 0, detail TEXT, stopped_by TEXT
  ) STRICT;
  CREATE INDEX runs_policy ON runs (policy, id);
  CREATE INDEX runs_at ON runs (at);
  CREATE INDEX runs_stopped ON runs (stopped_by, at) WHERE stopped_by IS NOT NULL;

  -- subject is the run or message of the entry. active is 0 once the action is proven to have had no effect.
  CREATE TABLE intents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL REFERENCES runs (id), at INTEGER NOT NULL, epoch INTEGER NOT NULL,
    policy TEXT NOT NULL, account TEXT NOT NULL, action TEXT NOT NULL,
    target TEXT NOT NULL, group_name TEXT NOT NULL, items INTEGER NOT NULL CHECK (items > 0),
    subject TEXT, lineage TEXT, campaign TEXT, step INTEGER, active INTEGER NOT NULL DEFAULT 1, proposal TEXT NOT NULL
  ) STRICT;
  -- Of two actions on one target, at most one may have had an effect, regardless of the program's state.
  CREATE UNIQUE INDEX intents_claim ON intents (account, target) WHERE active = 1;
  CREATE INDEX intents_target ON intents (target);
  CREATE INDEX intents_subject ON intents (subject) WHERE subject IS NOT NULL;
  CREATE INDEX intents_lineage ON intents (account, lineage, active, at) WHERE lineage IS NOT NULL;
  CREATE INDEX intents_campaign ON intents (campaign, step) WHERE campaign IS NOT NULL;
  CREATE INDEX intents_policy ON intents (policy, at);
  CREATE INDEX intents_run ON intents (run_id);
  CREATE INDEX intents_raises ON intents (account, at) WHERE action = 'budget.raise';
  -- Covers all columns of a sum over a part of a window.
  CREATE INDEX intents_caps ON intents (at, action, policy, account, items, active);

  -- Items taken and not returned, in time slices: a window is the sum of a few rows.
  CREATE TABLE cap_slices (
    slice INTEGER NOT NULL, policy TEXT NOT NULL, account TEXT NOT NULL, action TEXT NOT NULL, items INTEGER NOT NULL,
    PRIMARY KEY (slice, policy, account, action)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE outcomes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    intent_id INTEGER NOT NULL REFERENCES intents (id), at INTEGER NOT NULL,
    outcome TEXT NOT NULL, detail TEXT, new_run_id TEXT, done INTEGER
  ) STRICT;
  CREATE INDEX outcomes_intent ON outcomes (intent_id, id);
  CREATE INDEX outcomes_new_run ON outcomes (new_run_id) WHERE new_run_id IS NOT NULL;
  CREATE INDEX outcomes_repairs ON outcomes (at) WHERE outcome IN ('verified', 'failed_again');

  -- Work list of the ledger: intents without a final outcome. All else is read from the two tables above.
  CREATE TABLE unsettled (intent_id INTEGER PRIMARY KEY REFERENCES intents (id)) STRICT;

  CREATE TABLE pauses (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL,
    lifted_at INTEGER, lifted_reason TEXT, lifted_by TEXT
  ) STRICT;
  CREATE UNIQUE INDEX pauses_active ON pauses (scope) WHERE lifted_at IS NULL;

  CREATE TABLE campaigns (
    id TEXT PRIMARY KEY, policy TEXT NOT NULL, group_name TEXT NOT NULL, state TEXT NOT NULL, begun_at INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX campaigns_active ON campaigns (policy, group_name) WHERE state <> 'ended';
  CREATE TABLE campaign_numbers (policy TEXT PRIMARY KEY, last INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  -- hash is that of the content; revision counts the plans with it. by and reason are those of the last decision.
  CREATE TABLE plans (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL, revision INTEGER NOT NULL, state TEXT NOT NULL, saved_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, made_by TEXT, by TEXT, decided_at INTEGER, reason TEXT, approved_by TEXT, approved_at INTEGER,
    replaced_by TEXT, plan TEXT NOT NULL, targets TEXT NOT NULL
  ) STRICT;
  CREATE INDEX plans_state ON plans (state, saved_at);
  CREATE INDEX plans_hash ON plans (hash, revision);

  -- pending is the trigger as JSON until a run has processed it; account is the policy's account at the time.
  CREATE TABLE triggers (
    policy TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, account TEXT, pending TEXT, PRIMARY KEY (policy, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX triggers_pending ON triggers (policy, account, at) WHERE pending IS NOT NULL;

  -- accounts is a JSON list; NULL if the accounts of an alert are unknown.
  CREATE TABLE alerts (
    receiver TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, is_firing INTEGER NOT NULL, at INTEGER NOT NULL,
    accounts TEXT,
    PRIMARY KEY (receiver, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX alerts_firing ON alerts (name) WHERE is_firing = 1;

  -- parts is a JSON list of URL prefixes and hosts.
  CREATE TABLE deploys (
    id INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, parts TEXT NOT NULL, version TEXT NOT NULL, url TEXT,
    at INTEGER NOT NULL, is_rollback INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX deploys_at ON deploys (account, at);

  CREATE TABLE dead_letters (
    account TEXT NOT NULL, dlq_id TEXT NOT NULL, learned_at INTEGER NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (account, dlq_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX dead_letters_learned ON dead_letters (account, learned_at);

  -- Bodies of dead letters. bytes is the length of content, which is NULL if the body is not kept; lack is the reason.
  -- content is sealed by the key with key_id; in clear if that is NULL.
  CREATE TABLE dead_letter_bodies (
    account TEXT NOT NULL, dlq_id TEXT NOT NULL, at INTEGER NOT NULL, expires_at INTEGER NOT NULL, size INTEGER NOT NULL,
    bytes INTEGER NOT NULL, lack TEXT, key_id TEXT, content BLOB,
    PRIMARY KEY (account, dlq_id)
  ) STRICT;
  CREATE INDEX dead_letter_bodies_age ON dead_letter_bodies (account, at, bytes, expires_at);
  CREATE INDEX dead_letter_bodies_expiry ON dead_letter_bodies (expires_at);

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
  CREATE TABLE notifications (key TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE notification_queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT NOT NULL, record TEXT NOT NULL, uuid TEXT NOT NULL DEFAULT ''
  ) STRICT;
  CREATE UNIQUE INDEX notification_queue_uuid ON notification_queue (uuid);

  -- Requests of a day, counted in advance: after a crash the count is too high, never too low.
  CREATE TABLE request_use (
    account TEXT NOT NULL, api TEXT NOT NULL, day INTEGER NOT NULL, used INTEGER NOT NULL,
    PRIMARY KEY (account, api)
  ) STRICT, WITHOUT ROWID;

  -- Time since when the store has every raise of an account's budget.
  CREATE TABLE watched_accounts (
    account TEXT PRIMARY KEY, id TEXT NOT NULL, since INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Operations of operators. outcome is null until the response; to_usd is 0 for an unlimited budget. Of a retrigger:
  -- dlq_id is the failed run, run_id the new one, and retrigger has the facts as JSON, without the body.
  CREATE TABLE operations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL, operation TEXT NOT NULL, account TEXT NOT NULL, by TEXT NOT NULL,
    from_usd INTEGER, to_usd INTEGER, outcome TEXT, ended_at INTEGER, dlq_id TEXT, run_id TEXT, retrigger TEXT
  ) STRICT;
  CREATE INDEX operations_open ON operations (id) WHERE outcome IS NULL;
  CREATE INDEX operations_budget ON operations (account, at) WHERE to_usd IS NOT NULL;
  CREATE INDEX operations_at ON operations (at);
  CREATE INDEX operations_dlq_id ON operations (account, dlq_id) WHERE dlq_id IS NOT NULL;
  CREATE INDEX operations_run ON operations (account, run_id) WHERE run_id IS NOT NULL;

  CREATE TABLE operation_claims (
    account TEXT NOT NULL, target TEXT NOT NULL, action TEXT NOT NULL,
    operation_id INTEGER NOT NULL REFERENCES operations (id), PRIMARY KEY (account, target)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX operation_claims_operation ON operation_claims (operation_id);

  -- Incidents as JSON, their present members, the acknowledgments of operators as JSON, and changes that may explain them.
  CREATE TABLE incidents (
    id TEXT PRIMARY KEY, record TEXT NOT NULL, account TEXT NOT NULL DEFAULT ''
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE incident_members (
    account TEXT NOT NULL, queue TEXT NOT NULL, dlq_id TEXT NOT NULL, incident TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (account, queue, dlq_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE incident_acknowledgments (
    incident TEXT PRIMARY KEY, record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE incident_marks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL
  ) STRICT;

  -- Messages of canaries as JSON, and the state of each canary.
  CREATE TABLE canary_rounds (
    id TEXT PRIMARY KEY, record TEXT NOT NULL, account TEXT NOT NULL DEFAULT ''
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE canary_states (
    account TEXT NOT NULL, canary TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (account, canary)
  ) STRICT, WITHOUT ROWID;
`;

export const SCHEMA = META + TABLES;

/**
 * Schema as numbered steps: step n updates a store from version n - 1 to n. A released step must never be edited. A
 * change is a new step, which both databases run.
 */
export const MIGRATIONS: readonly string[] = [SCHEMA];
