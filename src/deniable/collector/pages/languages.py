"""What respondents read, in their language: a file of sentences for each, in ``sentences``.

A language is a JSON file that has a sentence for each key of the English one. The page takes the
one that its address names, else the first that the browser asks for and that there is.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from deniable.collector.requests import Call

FIRST = "en"
PROBLEM = "problem_"
"""What the keys of sentences about problems begin with."""


@dataclass(frozen=True)
class Words:
    """The sentences of one language."""

    language: str
    sentences: Mapping[str, str]

    def __getitem__(self, key: str) -> str:
        return self.sentences[key]

    @property
    def document(self) -> str:
        """All that a script may need."""
        needed = {k: said for k, said in self.sentences.items() if not k.startswith(PROBLEM)}
        return json.dumps(needed, ensure_ascii=False)


@cache
def languages() -> dict[str, Words]:
    """Return all languages by their code."""
    folder = files(__package__) / "sentences"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".json"))
    found = ((name.removesuffix(".json"), (folder / name).read_bytes()) for name in names)
    return {code: Words(code, json.loads(data)) for code, data in found}


def words_for(call: Call, chosen: str = "") -> Words:
    """Return the sentences for whoever makes a request."""
    return words_by(call.request.headers.get("accept-language", ""), chosen)


def words_by(accepted: str, chosen: str = "") -> Words:
    """Return the sentences of the language that was chosen, or that a header asks for."""
    wanted = [part.partition(";")[0].strip()[:2].lower() for part in accepted[:200].split(",")]
    return next(
        (languages()[code] for code in (chosen, *wanted) if code in languages()), languages()[FIRST]
    )
