-- The tables that doctor's questions ask, for one legacy directory in memory. They take anything: no trigger, no key, and
-- run_id and sequence say where a line was found, whatever the line itself says.
CREATE TABLE runs (run_id TEXT, status TEXT, task TEXT, started_at TEXT, status_started_at TEXT, finished_at TEXT);
CREATE TABLE events (
    event_number      INTEGER PRIMARY KEY,
    run_id            TEXT,
    sequence          INTEGER,
    line              TEXT,
    journal_bytes     INTEGER,
    checkpoint_sha256 TEXT
);
CREATE TABLE checkpoints (sha256 TEXT, byte_size INTEGER, body BLOB);
CREATE TABLE recoveries (
    recovery_number INTEGER PRIMARY KEY, run_id TEXT, after_sequence INTEGER, recovered_at TEXT, owner_pid INTEGER,
    prior_status TEXT, sha256 TEXT, byte_size INTEGER, receipt BLOB
);
CREATE TABLE locks (
    workspace TEXT, run_id TEXT, token_sha256 TEXT, acquired_at TEXT,
    pid INTEGER, start_time TEXT, boot_id TEXT, machine_id TEXT, host_name TEXT, pid_namespace TEXT,
    lease_seconds INTEGER, last_write_at TEXT,
    claim_id TEXT, claimed_at TEXT, claim_pid INTEGER, claim_start_time TEXT, claim_boot_id TEXT,
    claim_machine_id TEXT, claim_host_name TEXT, claim_pid_namespace TEXT
);
CREATE TABLE imports (run_id TEXT);
CREATE TABLE imported_files (run_id TEXT, path TEXT, sha256 TEXT, body BLOB);
CREATE TABLE quarantine (run_id TEXT, whole_lines INTEGER, at_end INTEGER);
