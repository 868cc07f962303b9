-- Everything that version 0.3 adds to the schema of 0.2.0. It changes until 0.3.0 is released.

-- Days up to forgotten_through may have lost ids, so that none of them can be opened again. Of an
-- earlier version it is only known which sealed days have tallies, unless those are gone as well.
ALTER TABLE horizon ADD COLUMN forgotten_through integer NOT NULL DEFAULT 0;

UPDATE horizon SET forgotten_through = coalesce(
    (SELECT max(day) FROM tallies WHERE day <= sealed_through AND source NOT LIKE 'upload:%'),
    (SELECT horizon.sealed_through FROM waiting_no_seq WHERE is_called),
    0
);

-- Reports that are not folded yet have a checksum of the whole row; those of 0.2.0 have none.
ALTER TABLE waiting ADD COLUMN checksum bigint;

-- The public group that devices named with their reports, a cell of the question's segments.
ALTER TABLE waiting ADD COLUMN segment integer NOT NULL DEFAULT 0;
ALTER TABLE tallies ADD COLUMN segment integer NOT NULL DEFAULT 0;
ALTER TABLE tallies DROP CONSTRAINT tallies_pkey;
ALTER TABLE tallies ADD PRIMARY KEY (question, day, source, segment) INCLUDE (n);

-- Sums of all tallies of a source and segment in a month that is sealed, so that a year need not be
-- added up day by day. Each can be made anew.
CREATE TABLE months (
    question integer NOT NULL,
    first integer NOT NULL,
    last integer NOT NULL,
    source text NOT NULL,
    segment integer NOT NULL,
    n bigint NOT NULL,
    tally bytea NOT NULL,
    PRIMARY KEY (question, first, source, segment)
);

-- The sums of all segments, published at one moment with their total.
ALTER TABLE published ADD COLUMN cells bytea NOT NULL DEFAULT '';

-- Rows that could not be read, and why; what could not be told of them is NULL.
CREATE TABLE set_aside (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    origin text NOT NULL,
    question integer,
    day integer,
    source text,
    segment integer,
    n bigint,
    reason text NOT NULL,
    content bytea NOT NULL
);

-- On how many days the reports of a published sum came; 0: not known.
ALTER TABLE published ADD COLUMN days integer NOT NULL DEFAULT 0;

-- How often a sum that is searched for texts was shown, in whatever state; 0 of all others.
ALTER TABLE published ADD COLUMN looks integer NOT NULL DEFAULT 0;

-- One row that is written to see whether writing works.
CREATE TABLE heartbeat (
    one integer PRIMARY KEY CHECK (one = 1),
    beats bigint NOT NULL
);

INSERT INTO heartbeat VALUES (1, 0);

-- Sources that are left out of every count on single days.
CREATE TABLE exclusions_by_day (
    question integer NOT NULL,
    source text NOT NULL,
    day integer NOT NULL,
    PRIMARY KEY (question, source, day)
);

-- The last day on which a key was used.
ALTER TABLE keys ADD COLUMN last_used integer;
