-- Sums as readers were last shown them, so that all collectors show the same until enough is new.
CREATE TABLE published (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    question integer NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    n bigint NOT NULL,
    edition integer NOT NULL,
    tally bytea NOT NULL,
    UNIQUE (question, first, last)
);
