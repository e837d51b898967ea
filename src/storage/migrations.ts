/**
 * The schema, as numbered steps: step n brings a store from `user_version` n to n + 1. A step that has been released
 * is never edited; a change is a new step.
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

  -- Spans until they are acknowledged; ids are never used again, so that a batch is settled once.
  CREATE TABLE span_outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, protocol TEXT NOT NULL,
    head TEXT NOT NULL, body BLOB NOT NULL, spans INTEGER NOT NULL, made_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE span_left_open (
    account TEXT NOT NULL, message_id TEXT NOT NULL, PRIMARY KEY (account, message_id)
  ) STRICT, WITHOUT ROWID;

  -- Label values that have a place of their own in the metrics, in the order in which they came.
  CREATE TABLE label_values (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL, label TEXT NOT NULL, value TEXT NOT NULL, idle_ms INTEGER NOT NULL,
    UNIQUE (account, label, value)
  ) STRICT;

  CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    policy TEXT NOT NULL, account TEXT NOT NULL, plan_id TEXT NOT NULL, at INTEGER NOT NULL,
    finished_at INTEGER, outcome TEXT, matched INTEGER NOT NULL DEFAULT 0, acted INTEGER NOT NULL DEFAULT 0,
    backlog INTEGER NOT NULL DEFAULT 0, detail TEXT
  ) STRICT;
  CREATE INDEX runs_policy ON runs (policy, id);

  CREATE TABLE intents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL REFERENCES runs (id), at INTEGER NOT NULL,
    policy TEXT NOT NULL, account TEXT NOT NULL, action TEXT NOT NULL,
    dlq_id TEXT NOT NULL, lineage TEXT NOT NULL, proposal TEXT NOT NULL
  ) STRICT;
  CREATE INDEX intents_dlq_id ON intents (account, dlq_id);
  CREATE INDEX intents_lineage ON intents (account, lineage);
  CREATE INDEX intents_at ON intents (at);

  CREATE TABLE outcomes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    intent_id INTEGER NOT NULL REFERENCES intents (id), at INTEGER NOT NULL,
    outcome TEXT NOT NULL, detail TEXT, new_run_id TEXT
  ) STRICT;
  CREATE INDEX outcomes_intent ON outcomes (intent_id, id);
  CREATE TABLE pauses (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL,
    lifted_at INTEGER, lifted_reason TEXT
  ) STRICT;
  CREATE UNIQUE INDEX pauses_standing ON pauses (scope) WHERE lifted_at IS NULL;

  -- The ledger's work list: intents whose last word is not spoken. Everything else is read from the two tables above.
  CREATE TABLE unsettled (intent_id INTEGER PRIMARY KEY REFERENCES intents (id)) STRICT;
  CREATE INDEX outcomes_new_run ON outcomes (new_run_id) WHERE new_run_id IS NOT NULL;
  `,
  `
  -- Requests of a day, counted ahead: after a crash too many, never too few.
  CREATE TABLE request_use (
    account TEXT NOT NULL, api TEXT NOT NULL, day INTEGER NOT NULL, used INTEGER NOT NULL,
    PRIMARY KEY (account, api)
  ) STRICT, WITHOUT ROWID;
  `,
  'ALTER TABLE workflow_dlq_runs ADD COLUMN run_id TEXT',
];
