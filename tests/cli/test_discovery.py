"""Texts that nobody listed, on the command line: plan, code, question, discover."""

import json
import random
import re

import pytest

from deniable import Code, Question

WORDS = ("banana", "kiwi", "fig", "plum", "papaya")
SETTINGS = "Discovery:bucket_bits=6:piece_bits=8"


@pytest.fixture
def words(shell):
    """Return a command line with a list of words."""
    shell.write("words.txt", "".join(f"{word}\n" for word in WORDS))
    return shell


def test_texts_are_discovered_and_asked_again(words) -> None:
    """A tally gives its texts as a table or as data, and the closed question that follows."""
    words.write("answers.txt", "".join(f"{word}\n" for word in WORDS for _ in range(8000)))
    words("question", "create", "words", "--discover", "--epsilon", 4, "--protocol", SETTINGS,
          "-o", "words.json")  # fmt: skip
    words("privatize", "words.json", "answers.txt", "-o", "reports.bin")
    words("tally", "words.json", "reports.bin", "-o", "tally.bin")
    shown = words("discover", "words.json", "tally.bin").text
    assert "sure texts" in shown
    assert all(word in shown for word in WORDS)
    found = words("discover", "words.json", "tally.bin", "--json", "--follow-up", 2,
                  "--follow-up-file", "closed.json")  # fmt: skip
    rows = json.loads(found.text)["discoveries"]
    # Seeded, salt and devices alike: alpha allows a false text in one of twenty runs.
    assert {row["label"] for row in rows if row["sure"]} == set(WORDS)
    assert set(WORDS) < set(Question.from_json(words.read("closed.json")).labels)
    words.write("few.txt", "kiwi\n" * 200)
    words("privatize", "words.json", "few.txt", "-o", "few.bin")
    said = words.fails("discover", "words.json", "few.bin", "--follow-up", 2, "--follow-up-file",
                       "none.json")  # fmt: skip
    assert "no text is sure" in said
    named = words("estimate", "words.json", "tally.bin", "--candidates", "words.txt", "--json")
    assert len(json.loads(named.text)["estimates"]) == len(WORDS)


def test_code_is_learned_and_planned_with(words) -> None:
    """A code learned from public examples makes a question, and a plan says what will be found."""
    words("code", "learn", "words.txt", "-o", "code.json")
    assert Code.from_json(words.read("code.json")).alphabet
    planned = words("plan", "--discover", "--examples", "words.txt", "--users", 1_000_000,
                    "--epsilon", 2, "--code", "code.json").text  # fmt: skip
    assert "1,000,000 people" in " ".join(planned.split())
    told = words("plan", "--discover", "--examples", "words.txt", "--share", 0.01, "--epsilon", 2,
                 "--json")  # fmt: skip
    assert json.loads(told.text)["reachable"]
    words("question", "create", "w", "--discover", "--code", "code.json", "--epsilon", 2, "-o",
          "made.json")  # fmt: skip
    assert Question.from_json(words.read("made.json")).version == 2
    assert "Discovery at epsilon = 2" in words("question", "show", "made.json").text


@pytest.mark.parametrize(
    "content",
    ["kiwi\nfig\n", "kiwi\r\nfig\r\n", "\ufeffkiwi\nfig", "kiwi\n\n\nfig\n\n", "kiwi\nfig\nkiwi\n"],
)
def test_examples_are_read_as_they_come(shell, content: str) -> None:
    """Line ends, a byte order mark, empty lines and repetitions make no other code."""
    shell.write("texts.txt", content.encode())
    shell("code", "learn", "texts.txt", "-o", "code.json")
    assert Code.from_json(shell.read("code.json")) == Code.learn(["kiwi", "fig"])


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "no examples"), (b"\n\n", "no examples"), (b"k\xff", "UTF-8")]
)
def test_what_holds_no_examples_is_refused(shell, content: bytes, said: str) -> None:
    """Nothing is learned from an empty file, nor from one that is no text."""
    shell.write("texts.txt", content)
    assert said in shell.fails("code", "learn", "texts.txt", "-o", "code.json")


def signatures(count: int) -> list[str]:
    """Return texts of about 50 bits by their own code, which the usual settings would cut."""
    rng = random.Random(3)
    return [
        "TypeError: app.main." + "".join(rng.choices("abcdefghijklmnop", k=12))
        for _ in range(count)
    ]


def test_question_has_the_settings_of_the_plan(shell) -> None:
    """The command that a plan prints makes a question of as many pieces, and says what is cut."""
    listed = signatures(100)
    long = "TypeError: app.main." + "z" * 40
    shell.write("examples.txt", "".join(f"{text}\n" for text in [*listed, long, *listed]))
    shell.write("known.txt", "".join(f"{text}\n" for text in [*listed, *listed]))
    shell("code", "learn", "known.txt", "-o", "code.json")
    line = ("plan", "--discover", "--examples", "examples.txt", "--code", "code.json", "--users",
            1_000_000, "--epsilon", 4)  # fmt: skip
    planned = json.loads(shell(*line, "--json").text)
    assert planned["payload"] == 6
    assert planned["too_long"][0] == long
    told = shell(*line).text
    assert planned["create"] in told
    assert f"{long[:20]}…{long[-19:]}" in " ".join(told.split())
    words = planned["create"].replace("NAME", "made").split()[1:]
    made = shell(*words)
    assert f"{long[:20]}…{long[-19:]}" in " ".join(made.err.split())
    assert Question.from_json(shell.read("made.json")).protocol.payload == 6
    shell("question", "create", "usual", "--discover", "--epsilon", 4, "-o", "usual.json")
    assert Question.from_json(shell.read("usual.json")).protocol.payload == 5


def test_code_that_was_learned_and_does_not_fit_names_the_longest(shell) -> None:
    """Who has learned a code is not told to learn one, but which texts to shorten."""
    rng = random.Random(4)
    texts = ["".join(rng.choices("abcdefghijklmnop", k=20 + i % 3)) for i in range(60)]
    shell.write("examples.txt", "".join(f"{text}\n" for text in texts))
    shell("code", "learn", "examples.txt", "--phrases", 0, "-o", "code.json")
    for line in (
        ("plan", "--users", 10_000),
        ("question", "create", "made", "-o", "made.json"),
    ):
        refused = shell.attempt(*line, "--discover", "--examples", "examples.txt", "--code",
                                "code.json", "--epsilon", 4)  # fmt: skip
        assert refused.code != 0
        assert "shorten the texts" in " ".join(refused.err.split())
        assert "of your own" not in refused.err
        assert any(text in "".join(refused.err.split()) for text in texts)


def test_advice_for_long_texts_ends_and_works(shell) -> None:
    """What was done is not advised again, and texts that are cut as advised fit."""
    rng = random.Random(4)
    texts = ["".join(rng.choices("ABCDefghijklmnop", k=20 + i % 3)) for i in range(400)]

    def advice(*options: str) -> str:
        shell.write("learned.txt", "".join(f"{text}\n" for text in texts[:200]))
        shell.write("tried.txt", "".join(f"{text}\n" for text in texts[200:]))
        shell("code", "learn", "learned.txt", *options, "-o", "code.json", "--force")
        tried = shell.attempt("plan", "--discover", "--examples", "tried.txt", "--code",
                              "code.json", "--epsilon", 4, "--users", 10**6)  # fmt: skip
        return " ".join((tried.err + tried.text).split())

    assert "with --fold-case" in advice("--phrases", "0")
    done = advice("--fold-case", "--phrases", "512")
    assert "--fold-case" not in done
    assert "of this kind; or cut them" in done
    size = int(re.search(r"first (\d+) characters", done)[1])
    assert size >= 8
    texts = [text[:size] for text in texts]
    assert "1,000,000 people" in advice("--fold-case", "--phrases", "512")


def test_question_without_examples_says_that_nothing_was_checked(shell) -> None:
    """Whether texts fit is known only from examples, and who gives none is told."""
    made = shell("question", "create", "w", "--discover", "--epsilon", 4, "-o", "made.json")
    assert "nobody has checked" in made.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("question create w --open --code english --epsilon 1", "--discover"),
        ("question create w --discover --code klingon --epsilon 1", "code learn"),
        ("question create w --discover --code words.txt --epsilon 1", "words.txt"),
        ("question create w --open --examples words.txt --epsilon 1", "--discover"),
        (
            "question create w --discover --examples words.txt --protocol Discovery --epsilon 1",
            "--protocol",
        ),
        ("plan --discover --users 100 --epsilon 1", "--examples"),
        ("plan --users 100 --epsilon 1", "--domain-size"),
        ("discover words.json tally.bin --level 0.9", "at 95 %"),
        ("plan --discover --examples words.txt --users 9 --epsilon 1 --arms 2", "nothing else"),
        ("discover a.json b.bin --follow-up 1", "words.txt"),
    ],
)
def test_what_does_not_go_together_is_refused(words, line: str, said: str) -> None:
    """Options of discovery without discovery, and a code that is none, get a clear error."""
    outcome = words.attempt(*line.split())
    assert outcome.code != 0
    assert said in outcome.err or line.startswith("discover")
