"""People who answer again on the command line: a file has no days, so they are asked for."""

import json

import numpy as np
import pytest

from deniable import BasicRAPPOR, Question, Tally

PROTOCOL = BasicRAPPOR(3, 0.5, 0.75, 0.25)
QUESTION = Question("mood", ("good", "fair", "bad"), PROTOCOL)


@pytest.fixture
def moods(shell):
    """Return a command line with the tally of 50 people who answered on each of 4 days."""
    rng = np.random.default_rng(3)
    clients = [QUESTION.client(bytes([i]) * 16) for i in range(50)]
    reports = np.concatenate([
        client.privatize([QUESTION.labels[i % 3]] * 4, rng) for i, client in enumerate(clients)
    ])  # fmt: skip
    shell.write("mood.json", QUESTION.to_json())
    shell.write("tally.bin", QUESTION.tally(reports).to_bytes())
    shell.write("later.bin", QUESTION.tally(reports[::2]).to_bytes())
    return shell


def test_rounds_or_people_are_asked_for(moods):
    """Without them nothing is estimated, and the refusal says what to give."""
    said = moods.fails("estimate", "mood.json", "tally.bin")
    assert "people may answer 'mood' again (BasicRAPPOR)" in said
    assert "--rounds, the number of days with reports" in said
    assert "--people if you know how many there are" in said
    assert "--rounds" in moods.fails("compare", "mood.json", "tally.bin", "later.bin")


def test_rounds_are_those_of_people(moods):
    """200 reports of 4 rounds are judged by the law of 50 people, and every output says so."""
    found = moods("estimate", "mood.json", "tally.bin", "--rounds", 4).text
    assert found.startswith(
        "mood: 3 answers, estimated from 200 reports of 50 people over 4 rounds"
    )
    assert "errors: by the law of 50 people over 4 rounds, who sent 200 reports" in found
    data = json.loads(moods("estimate", "mood.json", "tally.bin", "--rounds", 4, "--json").out)
    expected = QUESTION.estimate(Tally.from_bytes(moods.read("tally.bin")), people=50)
    assert [row["lower"] for row in data["estimates"]] == expected.interval()[0].tolist()
    assert (data["n"], data["provenance"]["reports"]) == (50, 200)


def test_people_stand_for_rounds(moods):
    """Who knows the number of people says it, and everybody once is one round."""
    given = json.loads(moods("estimate", "mood.json", "tally.bin", "--people", 50, "--json").out)
    rounds = json.loads(moods("estimate", "mood.json", "tally.bin", "--rounds", 4, "--json").out)
    assert given["estimates"] == rounds["estimates"]
    assert given["provenance"]["law"] == "50 people"
    once = json.loads(moods("estimate", "mood.json", "tally.bin", "--rounds", 1, "--json").out)
    assert once["n"] == 200
    assert "give one of them" in moods.fails(
        "estimate", "mood.json", "tally.bin", "--people", 50, "--rounds", 4
    )
    assert "people" in moods.fails("estimate", "mood.json", "tally.bin", "--people", 201)


def test_comparisons_take_two_numbers(moods):
    """Each of the two files has rounds of its own."""
    found = moods("compare", "mood.json", "tally.bin", "later.bin", "--rounds", 4, 2, "--json")
    said = json.loads(found.out)["provenance"]
    assert (said["first_law"], said["second_law"]) == (
        "50 people over 4 rounds",
        "50 people over 2 rounds",
    )


def test_other_questions_take_neither(fruit):
    """Reports that are independent have no rounds."""
    fruit.write("some.txt", "kiwi\n" * 10)
    fruit("privatize", "fruit.json", "some.txt", "-o", "some.bin")
    said = fruit.fails("estimate", "fruit.json", "some.bin", "--rounds", 4)
    assert "are independent, so leave them out" in said


def test_show_says_what_answering_for_ever_reveals(moods, fruit):
    """Beside the epsilon of one report stands that of any number of them."""
    text = moods("question", "show", "mood.json").text
    assert "epsilon = 1.02 by one report, 2.2 by answering for ever" in " ".join(text.split())
    text = fruit("question", "show", "fruit.json").text
    assert "by one report, and as much again by each further one" in " ".join(text.split())


def test_a_question_that_is_asked_again_says_what_it_reveals_in_all(fruit):
    """Each person answers so often and no more; devices refuse what exceeds their ceiling."""
    labels = ("question", "create", "q", "--label", "a", "--label", "b", "--epsilon", 2,
              "--every", 7, "--rounds", 8)  # fmt: skip
    assert "refuse" not in fruit(*labels, "--times", 2, "-o", "two.json").err
    shown = " ".join(fruit("question", "show", "two.json").text.split())
    assert "epsilon = 2 by one report, and 4 in all: a person answers 2 times at most" in shown
    assert "further" not in shown
    warned = "warning: devices refuse this question by default: it reveals up to epsilon = 8"
    assert warned in fruit(*labels, "--times", 4, "-o", "four.json").err
    assert warned in fruit("question", "show", "four.json").err
