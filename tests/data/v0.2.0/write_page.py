"""Write what version 0.2.0 gave to pages: its client, and the tags that the dashboard handed out.

Runs with deniable 0.2.0 only (``python write_page.py DIRECTORY``), once.
"""

import json
import sys
from base64 import b64encode
from hashlib import sha384
from pathlib import Path
from types import SimpleNamespace

import deniable
from deniable.collector.pages.assets import CLIENT, assets
from deniable.collector.pages.snippet import make
from deniable.collector.settings import Settings

QUESTIONS = {
    "choice": deniable.Question(
        'Which "browser" do you use?', ("Chrome", "Firefox", "Safari & co", "other"),
        deniable.AffineSelection(1.0, 4), "other",
    ),
    "text": deniable.Question("Which error did you see?", None, deniable.OpenLH(2.0)),
    "ceiling": deniable.Question("Above the ceiling", ("yes", "no"), deniable.DE(6.0, 2)),
}  # fmt: skip


def main(directory: Path) -> None:
    """Write the client with its hash, and for each question its document and its tag."""
    assert deniable.__version__ == "0.2.0"
    client = assets()[CLIENT].data
    (directory / CLIENT).write_bytes(client)
    hash = "sha384-" + b64encode(sha384(client).digest()).decode()
    (directory / f"{CLIENT}.integrity").write_text(hash + "\n")
    parts = SimpleNamespace(settings=Settings(url="https://collector.example"))
    for name, question in QUESTIONS.items():
        snippet = make(SimpleNamespace(parts=parts), question)
        assert hash in snippet.html
        (directory / f"tag-{name}.html").write_text(snippet.html)
    texts = {name: json.loads(question.to_json()) for name, question in QUESTIONS.items()}
    (directory / "tag-questions.json").write_text(json.dumps(texts, indent=1) + "\n")


main(Path(sys.argv[1]))
