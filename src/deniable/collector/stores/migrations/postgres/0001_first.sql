-- Days are counted from 1970-01-01; no table holds a time of day of any submission.

CREATE TABLE questions (
    no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    document text NOT NULL,
    state text NOT NULL,
    terms text NOT NULL,
    edition integer NOT NULL DEFAULT 0
);

-- The clock that counts is the database's, the same for all collectors.
CREATE FUNCTION today() RETURNS integer LANGUAGE sql VOLATILE AS
    $$ SELECT floor(extract(epoch FROM clock_timestamp()) / 86400)::integer $$;

-- One row: all days up to sealed_through are sealed; last_run is the day of the last sealing.
CREATE TABLE horizon (
    one integer PRIMARY KEY CHECK (one = 1),
    sealed_through integer NOT NULL,
    last_run integer NOT NULL
);

-- Which submissions were counted; rows stay until their day is sealed and folded.
CREATE TABLE arrivals (
    question integer NOT NULL,
    day integer NOT NULL,
    id bytea NOT NULL,
    fingerprint bigint NOT NULL,
    PRIMARY KEY (question, day, id)
);

-- Reports that are not folded yet, joined by transaction. Numbers are never used twice.
CREATE TABLE waiting (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    question integer NOT NULL,
    day integer NOT NULL,
    source text NOT NULL,
    n bigint NOT NULL,
    reports bytea NOT NULL
);

CREATE INDEX waiting_by_day ON waiting (question, day, source);

CREATE TABLE tallies (
    question integer NOT NULL,
    day integer NOT NULL,
    source text NOT NULL,
    n bigint NOT NULL,
    version integer NOT NULL,
    fingerprint bytea,
    tally bytea NOT NULL,
    PRIMARY KEY (question, day, source)
);

CREATE TABLE exclusions (
    question integer NOT NULL,
    source text NOT NULL,
    PRIMARY KEY (question, source)
);

CREATE TABLE keys (
    hash bytea PRIMARY KEY,
    kind text NOT NULL,
    role text NOT NULL,
    name text NOT NULL,
    expires bigint,
    UNIQUE (kind, name)
);
