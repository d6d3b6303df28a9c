-- Views for people with a plain sqlite3 shell: each answers a question in words and readable times.
--
-- Reason: at three in the morning nobody wants to join tables and read digests. legbook's own doctor and recovery trust
-- none of these; they ask the tables.
-- Times are UTC, as `YYYY-MM-DD HH:MM:SS`, with `.SSS` behind where the order within a second matters; spans are `h:mm:ss`.
-- A view answers also where a line or body is spoiled: nothing is read of either without json_valid.

CREATE VIEW lock_owners AS
-- Who holds which workspace, since when, and when was it last heard of?
-- Whether the owner still lives SQL cannot know: the command in `judge` does.
SELECT run_id, workspace, pid, host_name AS host,
       datetime(acquired_at) AS held_since,
       datetime(last_write_at) AS last_write,
       printf('%d:%02d:%02d', silent / 3600, silent / 60 % 60, silent % 60) AS silent_for,
       CASE WHEN lease_seconds IS NULL THEN 'none'
            WHEN lease_end > datetime('now') THEN 'until ' || lease_end
            ELSE 'ran out ' || coalesce(lease_end, '?') END AS lease,
       CASE WHEN claim_id IS NOT NULL
            THEN 'claimed ' || datetime(claimed_at) || ' by pid ' || coalesce(claim_pid, '?')
                 || ' on ' || coalesce(claim_host_name, '?') END AS recovery,
       'legbook runs lock ' || run_id AS judge
FROM (SELECT *, max(0, strftime('%s', 'now') - strftime('%s', last_write_at)) AS silent,
             datetime(last_write_at, lease_seconds || ' seconds') AS lease_end FROM locks)
ORDER BY last_write_at;

CREATE VIEW stale_locks AS
-- Which locks may be stale: those that no running lease keeps live, the longest silent first? One is stale where `judge`
-- says so; `recover` then ends its run.
SELECT run_id, workspace, pid, host, held_since, last_write, silent_for, lease, recovery, judge,
       'legbook runs recover ' || run_id AS recover
FROM lock_owners
WHERE lease NOT LIKE 'until %'
ORDER BY last_write;

CREATE VIEW run_overview AS
-- What runs are there, how far is each, and who holds it? The newest first.
SELECT run_id, status,
       CASE WHEN finished_at IS NOT NULL
              OR status NOT IN ('started', 'planning', 'dispatching', 'result-processing', 'synthesizing', 'handoff',
                                'artifact-collection', 'running') THEN 'ended'
            WHEN recovery IS NOT NULL THEN 'being recovered: ' || recovery
            WHEN held_since IS NOT NULL
                 THEN 'held by pid ' || coalesce(pid, '?') || ' on ' || coalesce(host, '?') || ', silent for ' || silent_for
            ELSE 'open, and nobody holds it' END AS state,
       task,
       coalesce(datetime(started_at), datetime(created_at)) AS started,
       datetime(status_started_at) AS status_since,
       datetime(finished_at) AS finished,
       CASE WHEN journaled_at IS NULL THEN 'no' ELSE 'yes' END AS journal,
       (SELECT count(*) FROM events WHERE events.run_id = runs.run_id) AS events,
       (SELECT count(*) FROM events WHERE events.run_id = runs.run_id
            AND event_type = 'run.snapshot.checkpointed') AS checkpoints,
       (SELECT count(*) FROM recoveries WHERE recoveries.run_id = runs.run_id) AS receipts,
       run_dir, runs.workspace
FROM runs
LEFT JOIN (SELECT run_id, pid, host, held_since, silent_for, recovery FROM lock_owners) USING (run_id)
ORDER BY run_number DESC;

CREATE VIEW run_timeline AS
-- What happened to a run, in order?
SELECT run_id, sequence, at, what, detail
FROM (
    SELECT run_id, 0 AS sequence, 0 AS place, strftime('%Y-%m-%d %H:%M:%f', created_at) AS at,
           'made in this store' AS what, 'task: ' || task AS detail
    FROM runs
    UNION ALL
    SELECT run_id, sequence, 1, strftime('%Y-%m-%d %H:%M:%f', recorded_at),
           CASE event_type
               WHEN 'run.created' THEN 'started'
               WHEN 'run.planning.started' THEN 'planning began'
               WHEN 'run.planning.completed' THEN 'planning was done'
               WHEN 'run.planning.failed' THEN 'planning failed'
               WHEN 'run.dispatch.requested' THEN 'work was given out'
               WHEN 'run.dispatch.observed' THEN 'work was seen'
               WHEN 'run.dispatch.completed' THEN 'work came back'
               WHEN 'run.dispatch.failed' THEN 'work failed'
               WHEN 'run.synthesis.started' THEN 'synthesis began'
               WHEN 'run.synthesis.completed' THEN 'synthesis was done, handoff'
               WHEN 'run.synthesis.failed' THEN 'synthesis failed'
               WHEN 'run.paused' THEN 'paused'
               WHEN 'run.resumed' THEN 'resumed'
               WHEN 'approval.requested' THEN 'approval was asked for'
               WHEN 'approval.granted' THEN 'approval was granted'
               WHEN 'approval.rejected' THEN 'approval was rejected'
               WHEN 'approval.held' THEN 'approval was held back'
               WHEN 'approval.consumed' THEN 'approval was used'
               WHEN 'run.recovery.started' THEN 'recovery began'
               WHEN 'run.recovery.completed' THEN 'recovery was done'
               WHEN 'run.completed' THEN 'ended well'
               WHEN 'run.failed' THEN 'failed'
               WHEN 'run.interrupted' THEN 'was interrupted'
               WHEN 'run.snapshot.checkpointed' THEN 'snapshot was kept'
               ELSE 'unreadable event' END,
           CASE event_type
               WHEN 'run.snapshot.checkpointed'
                   THEN substr(checkpoint_sha256, 1, 12) || ', ' || json_extract(payload, '$.byte_size') || ' bytes'
               ELSE (SELECT group_concat(key || ': ' || coalesce(atom, 'null'), ', ') FROM json_each(payload)) END
    FROM events
    UNION ALL
    SELECT run_id, after_sequence, 1 + recovery_number, strftime('%Y-%m-%d %H:%M:%f', recovered_at),
           'recovered: the failure receipt was kept',
           substr(sha256, 1, 12) || ', ' || byte_size || ' bytes, was ' || coalesce(prior_status, 'without a status')
               || ', owner pid ' || coalesce(owner_pid, '?')
    FROM recoveries)
ORDER BY run_id, sequence, place;

CREATE VIEW run_snapshots AS
-- Which snapshot of a run was the store's last at a given time, and for how long?
-- One event's checkpoint a row, or a receipt; current_until is null for the one that still is. The bytes:
-- `legbook runs at RUN SEQUENCE`, or checkpoints.body and recoveries.receipt by sha256.
SELECT run_id, sequence, kind, sha256, byte_size, current_from,
       lead(current_from) OVER (PARTITION BY run_id ORDER BY sequence, place) AS current_until
FROM (
    SELECT run_id, sequence, 0 AS place, 'checkpoint' AS kind, checkpoint_sha256 AS sha256,
           json_extract(payload, '$.byte_size') AS byte_size,
           strftime('%Y-%m-%d %H:%M:%f', recorded_at) AS current_from
    FROM events
    WHERE event_type = 'run.snapshot.checkpointed'
    UNION ALL
    SELECT run_id, after_sequence, recovery_number, 'receipt', sha256, byte_size,
           strftime('%Y-%m-%d %H:%M:%f', recovered_at)
    FROM recoveries)
ORDER BY run_id, sequence, place;

CREATE VIEW run_recoveries AS
-- What was recovered, when, and from which state?
SELECT recoveries.run_id, datetime(recovered_at) AS recovered, prior_status AS was, owner_pid, after_sequence,
       sha256, byte_size, runs.status AS status_now
FROM recoveries LEFT JOIN runs USING (run_id)
ORDER BY recovery_number;

CREATE VIEW run_failures AS
-- Which runs ended otherwise than well, and what does their last snapshot say of it?
-- The reasons are read out of the snapshot for reading only: a text is cut at U+0000, and a snapshot that holds NaN or
-- Infinity shows none. Without a journal the store holds no snapshot; then run.json knows.
SELECT run_id, status, datetime(finished_at) AS finished,
       json_extract(snapshot, '$.failure_phase') AS phase,
       coalesce(json_extract(snapshot, '$.failure_kind'), json_extract(snapshot, '$.failure.kind')) AS kind,
       json_extract(snapshot, '$.error') AS error
FROM (
    SELECT runs.run_id, runs.status, runs.finished_at, runs.run_number,
           CASE WHEN json_valid(CAST(coalesce(receipt, body) AS TEXT)) THEN CAST(coalesce(receipt, body) AS TEXT) END AS snapshot
    FROM runs
    LEFT JOIN (SELECT run_id, kind, sha256 FROM run_snapshots WHERE current_until IS NULL) AS last USING (run_id)
    LEFT JOIN checkpoints ON last.kind = 'checkpoint' AND checkpoints.sha256 = last.sha256
    LEFT JOIN recoveries ON last.kind = 'receipt' AND recoveries.run_id = runs.run_id
         AND recovery_number = (SELECT max(recovery_number) FROM recoveries AS own WHERE own.run_id = runs.run_id)
    WHERE runs.status NOT IN ('ok', 'dry-run', 'started', 'planning', 'dispatching', 'result-processing', 'synthesizing',
                              'handoff', 'artifact-collection', 'running'))
ORDER BY run_number DESC;

CREATE VIEW journal_growth AS
-- What grows, and how near is each journal to its bounds? The nearest first.
-- snapshot_bytes: the stored snapshots that this run's events name, each once; other runs may share them.
SELECT run_id, events, printf('%.1f %%', 100.0 * events / max_events) AS of_max_events,
       bytes, printf('%.1f %%', 100.0 * bytes / max_bytes) AS of_max_bytes,
       snapshots, snapshot_bytes, receipt_bytes,
       CASE WHEN 4 * events >= 3 * max_events THEN 'near max-journal-events'
            WHEN 4 * bytes >= 3 * max_bytes THEN 'near max-journal-bytes' END AS warning
FROM (
    SELECT run_id, count(*) AS events, max(journal_bytes) AS bytes,
           (SELECT value FROM settings WHERE key = 'max-journal-events') AS max_events,
           (SELECT value FROM settings WHERE key = 'max-journal-bytes') AS max_bytes,
           count(DISTINCT checkpoint_sha256) AS snapshots,
           (SELECT coalesce(sum(byte_size), 0) FROM checkpoints WHERE sha256 IN (
                SELECT checkpoint_sha256 FROM events AS own WHERE own.run_id = events.run_id)) AS snapshot_bytes,
           (SELECT coalesce(sum(byte_size), 0) FROM recoveries
                WHERE recoveries.run_id = events.run_id) AS receipt_bytes
    FROM events GROUP BY run_id)
ORDER BY max(1.0 * events / max_events, 1.0 * bytes / max_bytes) DESC, run_id;

CREATE VIEW orphan_checkpoints AS
-- Which stored snapshots does no event name?
SELECT sha256, byte_size FROM checkpoints
WHERE NOT EXISTS (SELECT 1 FROM events WHERE checkpoint_sha256 = sha256)
ORDER BY byte_size DESC, sha256;

CREATE VIEW event_chain_faults AS
-- Are the chains whole, as far as SQL can see? No row: yes.
-- What it cannot see is a digest that is not the SHA-256 of its bytes: `legbook doctor --full` computes each.
WITH chain AS (
    SELECT events.*,
           lag(sequence, 1, 0) OVER journal AS sequence_before,
           lag(event_digest) OVER journal AS digest_before,
           lag(journal_bytes, 1, 0) OVER journal AS bytes_before
    FROM events WINDOW journal AS (PARTITION BY run_id ORDER BY sequence)
)
SELECT run_id, sequence, event_number, 'the line is not JSON' AS fault FROM chain WHERE NOT json_valid(line)
UNION ALL
SELECT run_id, sequence, event_number, 'a field of the envelope is missing or of another kind' FROM chain
WHERE json_valid(line)
  AND (run_id IS NULL OR sequence IS NULL OR event_digest IS NULL OR event_type IS NULL OR event_id IS NULL
       OR recorded_at IS NULL OR idempotency_key IS NULL OR request_digest IS NULL OR payload IS NULL
       OR schema IS NOT 'brigade.run_event.v1' OR schema_version IS NOT 1)
UNION ALL
SELECT run_id, sequence, event_number, 'the line is of another run or sequence' FROM chain
WHERE json_valid(line)
  AND (run_id IS NOT json_extract(line, '$.run_id') OR sequence IS NOT json_extract(line, '$.sequence'))
UNION ALL
SELECT run_id, sequence, event_number, 'there is no such run' FROM chain
WHERE run_id NOT IN (SELECT run_id FROM runs)
UNION ALL
SELECT run_id, sequence, event_number, 'sequence does not follow ' || sequence_before FROM chain
WHERE sequence <> sequence_before + 1
UNION ALL
SELECT run_id, sequence, event_number, 'previous_digest is not the digest of the event before' FROM chain
WHERE json_valid(line) AND previous_digest IS NOT digest_before
UNION ALL
SELECT run_id, sequence, event_number, 'event_id is not made of its parts' FROM chain
WHERE event_id <> run_id || '-' || printf('%06d', sequence) || '-' || substr(event_digest, 1, 12)
UNION ALL
SELECT run_id, sequence, event_number, 'the event type is not registered' FROM chain
WHERE event_type NOT IN (SELECT event_type FROM event_types)
UNION ALL
SELECT run_id, sequence, event_number, 'the run has this idempotency key before' FROM chain
WHERE EXISTS (SELECT 1 FROM events AS earlier WHERE earlier.run_id = chain.run_id
                  AND earlier.idempotency_key = chain.idempotency_key AND earlier.sequence < chain.sequence)
UNION ALL
SELECT run_id, sequence, event_number, 'journal_bytes does not add up' FROM chain
WHERE journal_bytes <> bytes_before + length(CAST(line AS BLOB)) + 1
UNION ALL
SELECT run_id, sequence, event_number, 'the checkpoint is not stored with that size' FROM chain
WHERE event_type = 'run.snapshot.checkpointed'
  AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE sha256 = checkpoint_sha256
                      AND byte_size = json_extract(payload, '$.byte_size') AND length(body) = byte_size)
UNION ALL
-- A journal ends with a checkpoint that is paired with nothing, or with the event that its last checkpoint is paired with.
SELECT run_id, sequence, event_number, 'the last checkpoint does not cover this event' FROM chain
WHERE sequence = (SELECT max(sequence) FROM events AS own WHERE own.run_id = chain.run_id)
  AND json_valid(line)
  AND NOT EXISTS (SELECT 1 FROM events AS checkpoint
                  WHERE checkpoint.run_id = chain.run_id AND checkpoint.event_type = 'run.snapshot.checkpointed'
                    AND (checkpoint.sequence = chain.sequence
                         OR checkpoint.sequence = chain.sequence - 1 AND checkpoint.paired_event_type = chain.event_type))
UNION ALL
SELECT run_id, NULL, NULL, 'the journal is active and empty' FROM runs
WHERE journaled_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM events WHERE events.run_id = runs.run_id)
ORDER BY 1, 2, 4;
