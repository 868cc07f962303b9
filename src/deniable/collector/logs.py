"""Log lines with time and level, as text or JSON, and one for each thing that an operator does."""

from __future__ import annotations

import json
import logging
import sys
import time

_audit = logging.getLogger("deniable.audit")


class Text(logging.Formatter):
    """``2026-11-17T14:50:00Z ERROR what happened``, always one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        said = record.getMessage()
        if record.exc_info:
            said = f"{said}\n{self.formatException(record.exc_info)}"
        return f"{_moment(record)} {record.levelname} {_one_line(said)}"


class Json(logging.Formatter):
    """One JSON object a line: time, level, message, and the fields of an audit line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        found = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            found["error"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False)


def _moment(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))


def _one_line(text: str) -> str:
    """Return a text in which whatever could end or change a line is written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def configure(form: str, level: str) -> None:
    """Send all log lines of a level, and of worse ones, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Json() if form == "json" else Text())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    logging.getLogger("asyncio").setLevel(logging.WARNING)


def audit(who: str, what: str, status: int) -> None:
    """Note what somebody did with the rights of an operator; never a secret."""
    fields = {"who": who, "what": what, "status": status}
    _audit.info("%s: %s: %d", who, what, status, extra={"fields": fields})
