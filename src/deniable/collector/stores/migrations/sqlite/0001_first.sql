-- Days are counted from 1970-01-01; no table holds a time of day of any submission.

CREATE TABLE questions (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT NOT NULL UNIQUE,
    document TEXT NOT NULL,
    state TEXT NOT NULL,
    terms TEXT NOT NULL,
    edition INTEGER NOT NULL DEFAULT 0
) STRICT;

-- One row: all days up to sealed_through are sealed; last_run is the day of the last sealing.
CREATE TABLE horizon (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    sealed_through INTEGER NOT NULL,
    last_run INTEGER NOT NULL
) STRICT;

-- Which submissions were counted; rows stay until their day is sealed and folded.
CREATE TABLE arrivals (
    question INTEGER NOT NULL,
    day INTEGER NOT NULL,
    id BLOB NOT NULL,
    fingerprint INTEGER NOT NULL,
    PRIMARY KEY (question, day, id)
) STRICT, WITHOUT ROWID;

-- Reports that are not folded yet, joined by transaction. Numbers are never used twice.
CREATE TABLE waiting (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    question INTEGER NOT NULL,
    day INTEGER NOT NULL,
    source TEXT NOT NULL,
    n INTEGER NOT NULL,
    reports BLOB NOT NULL
) STRICT;

CREATE INDEX waiting_by_day ON waiting (question, day, source);

CREATE TABLE tallies (
    question INTEGER NOT NULL,
    day INTEGER NOT NULL,
    source TEXT NOT NULL,
    n INTEGER NOT NULL,
    version INTEGER NOT NULL,
    fingerprint BLOB,
    tally BLOB NOT NULL,
    PRIMARY KEY (question, day, source)
) STRICT;

CREATE TABLE exclusions (
    question INTEGER NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (question, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    hash BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    expires INTEGER,
    UNIQUE (kind, name)
) STRICT, WITHOUT ROWID;
