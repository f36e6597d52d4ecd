-- The first schema. A table belongs to the package whose name it bears; this file
-- is only where they are made. All tables are STRICT, instants are milliseconds
-- since 1970 in UTC, tokens are integers, and the CHECKs are the state machines:
-- a program that holds a wrong idea of them is refused here.

-- store: which traces were seen, and what was found in them.

CREATE TABLE store_files (
  source     TEXT    NOT NULL,
  path       TEXT    NOT NULL,
  size       INTEGER NOT NULL CHECK (size >= 0),
  mtime_ns   INTEGER NOT NULL,
  inode      INTEGER NOT NULL, -- the bits of a uint64
  format     TEXT    NOT NULL,
  sha256     TEXT    NOT NULL,
  records    INTEGER NOT NULL CHECK (records >= 0),
  status     TEXT    NOT NULL CHECK (status IN ('audited', 'growing', 'unreadable')),
  audited_ms INTEGER NOT NULL,
  PRIMARY KEY (source, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE store_runs (
  id           INTEGER PRIMARY KEY,
  run_key      TEXT    NOT NULL CHECK (run_key <> ''),
  trace_hash   TEXT    NOT NULL CHECK (trace_hash <> ''),
  source       TEXT    NOT NULL,
  path         TEXT    NOT NULL,
  format       TEXT    NOT NULL,
  session_id   TEXT    NOT NULL,
  calls        INTEGER NOT NULL CHECK (calls >= 0),
  bad_lines    INTEGER NOT NULL CHECK (bad_lines >= 0),
  claims_hash  TEXT    NOT NULL,
  started_ms   INTEGER, -- NULL: the trace does not say
  audited_ms   INTEGER NOT NULL,
  pass         INTEGER NOT NULL CHECK (pass >= 0),
  unsupported  INTEGER NOT NULL CHECK (unsupported >= 0),
  contradicted INTEGER NOT NULL CHECK (contradicted >= 0),
  not_checked  INTEGER NOT NULL CHECK (not_checked >= 0),
  UNIQUE (run_key, trace_hash, claims_hash)
) STRICT;
CREATE INDEX store_runs_audited ON store_runs (audited_ms);

CREATE TABLE store_findings (
  id          INTEGER PRIMARY KEY,
  run_id      INTEGER NOT NULL REFERENCES store_runs (id),
  claim_key   TEXT    NOT NULL CHECK (claim_key <> ''),
  trace_hash  TEXT    NOT NULL CHECK (trace_hash <> ''),
  run_key     TEXT    NOT NULL,
  claim_id    TEXT    NOT NULL,
  statement   TEXT    NOT NULL,
  source      TEXT    NOT NULL,
  verdict     TEXT    NOT NULL CHECK (verdict IN ('PASS', 'UNSUPPORTED', 'CONTRADICTED')),
  reason      TEXT    NOT NULL,
  own_measure INTEGER NOT NULL CHECK (own_measure IN (0, 1)),
  recovered   INTEGER NOT NULL CHECK (recovered IN (0, 1)),
  strength    TEXT    NOT NULL,
  findings    TEXT    NOT NULL CHECK (json_valid(findings)),
  requirement TEXT    NOT NULL CHECK (json_valid(requirement)),
  audited_ms  INTEGER NOT NULL
) STRICT;
-- Verdicts are appended; of several on one claim the newest stands.
CREATE INDEX store_findings_claim ON store_findings (claim_key, trace_hash);
CREATE INDEX store_findings_run ON store_findings (run_key);
CREATE INDEX store_findings_audited ON store_findings (audited_ms);

CREATE TRIGGER store_findings_no_update BEFORE UPDATE ON store_findings
BEGIN SELECT RAISE(ABORT, 'findings are never changed'); END;
CREATE TRIGGER store_findings_no_delete BEFORE DELETE ON store_findings
BEGIN SELECT RAISE(ABORT, 'findings are never deleted'); END;

-- What a finding rests on, redacted and cut, for when the trace is gone.
CREATE TABLE store_excerpts (
  id          INTEGER PRIMARY KEY,
  run_key     TEXT    NOT NULL,
  trace_hash  TEXT    NOT NULL,
  byte_offset INTEGER NOT NULL,
  line        INTEGER NOT NULL,
  call_id     TEXT    NOT NULL,
  tool        TEXT    NOT NULL,
  arguments   TEXT    NOT NULL,
  result      TEXT    NOT NULL,
  UNIQUE (run_key, trace_hash, byte_offset)
) STRICT;

-- rerun: the queue of contradicted segments and what was tried.

CREATE TABLE rerun_queue (
  id              INTEGER PRIMARY KEY,
  segment_key     TEXT    NOT NULL UNIQUE CHECK (segment_key <> ''),
  claim_keys      TEXT    NOT NULL CHECK (json_valid(claim_keys)),
  run_key         TEXT    NOT NULL,
  trace_hash      TEXT    NOT NULL,
  source          TEXT    NOT NULL,
  path            TEXT    NOT NULL,
  claims          TEXT    NOT NULL CHECK (json_valid(claims)),
  segment         TEXT    NOT NULL CHECK (json_valid(segment)),
  context         TEXT    NOT NULL DEFAULT '', -- the digest, redacted
  verdict         TEXT    NOT NULL CHECK (verdict IN ('UNSUPPORTED', 'CONTRADICTED')),
  priority        INTEGER NOT NULL DEFAULT 0,
  cost_estimate   INTEGER NOT NULL DEFAULT 0 CHECK (cost_estimate >= 0),
  state           TEXT    NOT NULL DEFAULT 'queued'
                  CHECK (state IN ('queued', 'parked', 'running', 'done', 'given_up', 'stale')),
  parked_until_ms INTEGER,
  attempts        INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  created_ms      INTEGER NOT NULL,
  updated_ms      INTEGER NOT NULL,
  last_error      TEXT    DEFAULT '',
  CHECK ((state = 'parked') = (parked_until_ms IS NOT NULL))
) STRICT;
CREATE INDEX rerun_queue_state ON rerun_queue (state, priority, cost_estimate);
CREATE INDEX rerun_queue_run ON rerun_queue (run_key);

CREATE TABLE rerun_attempts (
  id          INTEGER PRIMARY KEY,
  queue_id    INTEGER NOT NULL REFERENCES rerun_queue (id),
  number      INTEGER NOT NULL CHECK (number >= 1),
  state       TEXT    NOT NULL CHECK (state IN ('open', 'done', 'interrupted')),
  outcome     TEXT    CHECK (outcome IN ('REPAIRED', 'STILL_FAILING', 'GAVE_UP')),
  started_ms  INTEGER NOT NULL,
  ended_ms    INTEGER,
  trace_path  TEXT    DEFAULT '',
  model       TEXT    DEFAULT '',
  endpoint    TEXT    DEFAULT '',
  stop_reason TEXT    DEFAULT '',
  tokens      INTEGER NOT NULL DEFAULT 0 CHECK (tokens >= 0),
  verdicts    TEXT    CHECK (json_valid(verdicts)), -- merged, by claim
  proposal    TEXT    DEFAULT '', -- what a model without tools suggested
  UNIQUE (queue_id, number),
  CHECK ((state = 'open') = (ended_ms IS NULL)),
  CHECK ((state = 'done') = (outcome IS NOT NULL))
) STRICT;
-- Two attempts at one segment never run at the same time.
CREATE UNIQUE INDEX rerun_attempts_open ON rerun_attempts (queue_id) WHERE state = 'open';

CREATE TABLE rerun_steps (
  id             INTEGER PRIMARY KEY,
  attempt_id     INTEGER NOT NULL REFERENCES rerun_attempts (id),
  number         INTEGER NOT NULL CHECK (number >= 1),
  kind           TEXT    NOT NULL CHECK (kind IN ('model', 'tool')),
  tool           TEXT    DEFAULT '' CHECK (kind = 'model' OR coalesce(tool, '') <> ''),
  idem_key       TEXT    DEFAULT '',
  mutating       INTEGER NOT NULL DEFAULT 0 CHECK (mutating IN (0, 1)),
  state          TEXT    NOT NULL CHECK (state IN ('started', 'done', 'unknown')),
  args           TEXT    DEFAULT '',
  result         TEXT    DEFAULT '',
  ok             INTEGER CHECK (ok IN (0, 1)),
  started_ms     INTEGER NOT NULL,
  ended_ms       INTEGER,
  reservation_id INTEGER,
  UNIQUE (attempt_id, number),
  CHECK (mutating = 0 OR coalesce(idem_key, '') <> ''),
  CHECK (state <> 'done' OR ended_ms IS NOT NULL)
) STRICT;
-- A write that succeeded is never recorded as done a second time. One that failed
-- may be tried again under the same key, hence ok = 1.
CREATE UNIQUE INDEX rerun_steps_write ON rerun_steps (idem_key)
  WHERE kind = 'tool' AND state = 'done' AND mutating = 1 AND ok = 1;

-- endpoint: what was learnt of a server, and until when to leave it alone.

CREATE TABLE endpoint_state (
  endpoint        TEXT    NOT NULL,
  model           TEXT    NOT NULL DEFAULT '', -- '' is the whole endpoint
  parked_until_ms INTEGER,
  park_reason     TEXT    DEFAULT '',
  learnt          TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(learnt)),
  updated_ms      INTEGER NOT NULL,
  PRIMARY KEY (endpoint, model)
) STRICT, WITHOUT ROWID;

-- scheduler: slots, the lease, and the traces that are left alone.

CREATE TABLE scheduler_slots (
  schedule   TEXT    NOT NULL,
  label      TEXT    NOT NULL, -- the local date-time that the schedule named
  state      TEXT    NOT NULL CHECK (state IN ('running', 'done', 'failed', 'skipped')),
  reason     TEXT    NOT NULL DEFAULT '',
  due_ms     INTEGER,
  claimed_ms INTEGER NOT NULL,
  ended_ms   INTEGER,
  PRIMARY KEY (schedule, label),
  CHECK ((state = 'running') = (ended_ms IS NULL)),
  CHECK (state <> 'skipped' OR reason <> '')
) STRICT, WITHOUT ROWID;
CREATE INDEX scheduler_slots_running ON scheduler_slots (schedule) WHERE state = 'running';

CREATE TABLE scheduler_lease (
  name        TEXT    PRIMARY KEY,
  owner       TEXT    NOT NULL,
  host        TEXT    NOT NULL DEFAULT '',
  pid         INTEGER NOT NULL DEFAULT 0,
  boot_id     TEXT    NOT NULL DEFAULT '',
  epoch       INTEGER NOT NULL DEFAULT 1 CHECK (epoch >= 1),
  acquired_ms INTEGER NOT NULL,
  expires_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE scheduler_quarantine (
  source   TEXT    NOT NULL,
  path     TEXT    NOT NULL,
  failures INTEGER NOT NULL CHECK (failures >= 1),
  reason   TEXT    NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms  INTEGER NOT NULL,
  PRIMARY KEY (source, path)
) STRICT, WITHOUT ROWID;

-- budget: see the package's comment. Entries are the truth; held and spent are
-- sums of them that triggers keep, so that the check of a reservation is one row.

CREATE TABLE budget_allowances (
  name   TEXT    PRIMARY KEY,
  period TEXT    NOT NULL CHECK (period IN ('month', 'day', 'night')),
  zone   TEXT    NOT NULL,
  tokens INTEGER NOT NULL CHECK (tokens >= 0),
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  held   INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE budget_periods (
  id        INTEGER PRIMARY KEY,
  allowance TEXT    NOT NULL REFERENCES budget_allowances (name),
  period    TEXT    NOT NULL,
  start_ms  INTEGER NOT NULL,
  end_ms    INTEGER NOT NULL,
  zone      TEXT    NOT NULL,
  tokens    INTEGER NOT NULL CHECK (tokens >= 0),
  spent     INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
  UNIQUE (allowance, period, start_ms),
  CHECK (start_ms < end_ms)
) STRICT;

CREATE TABLE budget_entries (
  id             INTEGER PRIMARY KEY CHECK (id >= 1),
  reservation_id INTEGER NOT NULL REFERENCES budget_entries (id),
  kind           TEXT    NOT NULL,
  free           INTEGER NOT NULL,
  held           INTEGER NOT NULL,
  spent          INTEGER NOT NULL,
  at_ms          INTEGER NOT NULL,
  source         TEXT    NOT NULL DEFAULT '',
  reason         TEXT    NOT NULL DEFAULT '',
  prompt         INTEGER NOT NULL DEFAULT 0,
  completion     INTEGER NOT NULL DEFAULT 0,
  claim_key      TEXT    NOT NULL DEFAULT '',
  attempt_id     INTEGER NOT NULL DEFAULT 0,
  endpoint       TEXT    NOT NULL DEFAULT '',
  model          TEXT    NOT NULL DEFAULT '',
  prev_hash      TEXT    NOT NULL,
  hash           TEXT    NOT NULL UNIQUE,
  UNIQUE (reservation_id, kind),
  CHECK (free + held + spent = 0),
  CHECK ((kind = 'reserve') = (reservation_id = id)),
  CHECK ((kind = 'settle') = (source IN ('reported', 'assumed'))),
  CHECK (CASE kind
    WHEN 'reserve' THEN held BETWEEN 1 AND 1125899906842624 AND spent = 0
    WHEN 'sent'    THEN held = 0 AND spent = 0
    WHEN 'settle'  THEN held < 0 AND spent BETWEEN 0 AND 1125899906842624
    WHEN 'void'    THEN held < 0 AND spent = 0 AND reason <> ''
    ELSE 0 END)
) STRICT;
CREATE UNIQUE INDEX budget_entries_resolved ON budget_entries (reservation_id)
  WHERE kind IN ('settle', 'void');
CREATE INDEX budget_entries_at ON budget_entries (at_ms);

CREATE TRIGGER budget_entries_no_update BEFORE UPDATE ON budget_entries
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER budget_entries_no_delete BEFORE DELETE ON budget_entries
BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;

-- The book has no gaps, its time never goes back, and each entry is chained to
-- the one before.
CREATE TRIGGER budget_entries_chain BEFORE INSERT ON budget_entries
BEGIN
  SELECT RAISE(ABORT, 'entry does not follow the last one')
    WHERE NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM budget_entries)
       OR EXISTS (SELECT 1 FROM budget_entries
                   WHERE id = NEW.id - 1 AND (at_ms > NEW.at_ms OR hash <> NEW.prev_hash))
       OR (NEW.id = 1 AND NEW.prev_hash <> '');
END;

-- The guard: what is held, what is spent and what is asked for must fit every
-- allowance in force. It stands here so that no caller can go round it.
-- Everything open counts as held, whichever period it was reserved in, because a
-- provider may bill a request that is in flight over a boundary on either side.
CREATE TRIGGER budget_entries_admit BEFORE INSERT ON budget_entries WHEN NEW.kind = 'reserve'
BEGIN
  SELECT RAISE(ABORT, 'no allowance in force')
    WHERE NOT EXISTS (SELECT 1 FROM budget_allowances WHERE active = 1)
       OR EXISTS (
          SELECT 1 FROM budget_allowances AS a
           WHERE a.active = 1
             AND NOT EXISTS (
                 SELECT 1 FROM budget_periods AS p
                  WHERE p.allowance = a.name AND p.period = a.period
                    AND p.start_ms <= NEW.at_ms AND NEW.at_ms < p.end_ms));
  SELECT RAISE(ABORT, 'allowance exhausted')
    FROM budget_allowances AS a
    JOIN budget_periods AS p ON p.allowance = a.name AND p.period = a.period
   WHERE a.active = 1
     AND p.start_ms <= NEW.at_ms AND NEW.at_ms < p.end_ms
     AND a.held + p.spent + NEW.held > p.tokens;
END;

CREATE TRIGGER budget_entries_resolve BEFORE INSERT ON budget_entries WHEN NEW.kind <> 'reserve'
BEGIN
  SELECT RAISE(ABORT, 'no such reservation')
    WHERE NOT EXISTS (SELECT 1 FROM budget_entries
                       WHERE id = NEW.reservation_id AND kind = 'reserve');
  SELECT RAISE(ABORT, 'reservation is resolved')
    WHERE EXISTS (SELECT 1 FROM budget_entries
                   WHERE reservation_id = NEW.reservation_id AND kind IN ('settle', 'void'));
  SELECT RAISE(ABORT, 'not what was reserved')
    FROM budget_entries
   WHERE id = NEW.reservation_id AND NEW.kind IN ('settle', 'void') AND held <> -NEW.held;
  SELECT RAISE(ABORT, 'reservation was sent')
    WHERE NEW.kind = 'void' AND NEW.reason <> 'unbilled refusal'
      AND EXISTS (SELECT 1 FROM budget_entries
                   WHERE reservation_id = NEW.reservation_id AND kind = 'sent');
END;

-- Tokens count in the period that their reservation was admitted in.
CREATE TRIGGER budget_entries_balance AFTER INSERT ON budget_entries
BEGIN
  UPDATE budget_allowances SET held = held + NEW.held WHERE NEW.held <> 0;
  UPDATE budget_periods SET spent = spent + NEW.spent
   WHERE NEW.spent <> 0
     AND (SELECT at_ms FROM budget_entries WHERE id = NEW.reservation_id) >= start_ms
     AND (SELECT at_ms FROM budget_entries WHERE id = NEW.reservation_id) < end_ms;
END;
