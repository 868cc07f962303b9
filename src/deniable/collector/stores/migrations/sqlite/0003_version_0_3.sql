-- Everything that version 0.3 adds to the schema of 0.2.0. It changes until 0.3.0 is released.

-- Days up to forgotten_through may have lost ids, so that none of them can be opened again. Of an
-- earlier version it is only known which sealed days have tallies, unless those are gone as well.
ALTER TABLE horizon ADD COLUMN forgotten_through INTEGER NOT NULL DEFAULT 0;

UPDATE horizon SET forgotten_through = coalesce(
    (SELECT max(day) FROM tallies WHERE day <= sealed_through AND source NOT LIKE 'upload:%'),
    (SELECT horizon.sealed_through FROM sqlite_sequence WHERE name = 'waiting' AND seq > 0),
    0
);

-- Reports that are not folded yet have a checksum of the whole row; those of 0.2.0 have none. There
-- is no index: the table is short, and a damaged index would hide rows.
CREATE TABLE waiting_with_checksum (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    question INTEGER NOT NULL,
    day INTEGER NOT NULL,
    source TEXT NOT NULL,
    segment INTEGER NOT NULL DEFAULT 0,
    n INTEGER NOT NULL,
    checksum INTEGER,
    reports BLOB NOT NULL
) STRICT;

INSERT INTO waiting_with_checksum (no, question, day, source, n, reports)
    SELECT no, question, day, source, n, reports FROM waiting;

DROP TABLE waiting;

ALTER TABLE waiting_with_checksum RENAME TO waiting;

-- Waiting reports and tallies have the public group that devices named, a cell of the question's
-- segments.
CREATE TABLE tallies_by_segment (
    question INTEGER NOT NULL,
    day INTEGER NOT NULL,
    source TEXT NOT NULL,
    segment INTEGER NOT NULL DEFAULT 0,
    n INTEGER NOT NULL,
    version INTEGER NOT NULL,
    fingerprint BLOB,
    tally BLOB NOT NULL,
    PRIMARY KEY (question, day, source, segment)
) STRICT;

INSERT INTO tallies_by_segment (question, day, source, n, version, fingerprint, tally)
    SELECT question, day, source, n, version, fingerprint, tally FROM tallies;

DROP TABLE tallies;

ALTER TABLE tallies_by_segment RENAME TO tallies;

-- How many reports there are is read from here, without the tallies.
CREATE INDEX tallies_counted ON tallies (question, day, source, segment, n);

-- Sums of all tallies of a source and segment in a month that is sealed, so that a year need not be
-- added up day by day. Each can be made anew.
CREATE TABLE months (
    question INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    source TEXT NOT NULL,
    segment INTEGER NOT NULL,
    n INTEGER NOT NULL,
    tally BLOB NOT NULL,
    PRIMARY KEY (question, first, source, segment)
) STRICT;

-- The sums of all segments, published at one moment with their total.
ALTER TABLE published ADD COLUMN cells BLOB NOT NULL DEFAULT x'';

-- Rows that could not be read, and why; what could not be told of them is NULL.
CREATE TABLE set_aside (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    origin TEXT NOT NULL,
    question INTEGER,
    day INTEGER,
    source TEXT,
    segment INTEGER,
    n INTEGER,
    reason TEXT NOT NULL,
    content BLOB NOT NULL
) STRICT;

-- On how many days the reports of a published sum came; 0: not known.
ALTER TABLE published ADD COLUMN days INTEGER NOT NULL DEFAULT 0;

-- How often a sum that is searched for texts was shown, in whatever state; 0 of all others.
ALTER TABLE published ADD COLUMN looks INTEGER NOT NULL DEFAULT 0;

-- One row that is written to see whether writing works.
CREATE TABLE heartbeat (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    beats INTEGER NOT NULL
) STRICT;

INSERT INTO heartbeat VALUES (1, 0);

-- Sources that are left out of every count on single days.
CREATE TABLE exclusions_by_day (
    question INTEGER NOT NULL,
    source TEXT NOT NULL,
    day INTEGER NOT NULL,
    PRIMARY KEY (question, source, day)
) STRICT, WITHOUT ROWID;

-- The last day on which a key was used.
ALTER TABLE keys ADD COLUMN last_used INTEGER;
