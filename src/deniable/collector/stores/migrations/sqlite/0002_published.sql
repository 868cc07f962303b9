-- Sums as readers were last shown them, so that all collectors show the same until enough is new.
CREATE TABLE published (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    question INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    n INTEGER NOT NULL,
    edition INTEGER NOT NULL,
    tally BLOB NOT NULL,
    UNIQUE (question, first, last)
) STRICT;
