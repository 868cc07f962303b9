"""How the collector is: health, readiness, counters, metrics, and its own description."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from deniable.collector.operations import Call, answer
from deniable.collector.problems import Stopping

_PATIENCE = 3.0


async def healthz(call: Call) -> Response:
    """Say that the process answers."""
    call.query()
    return answer({"status": "ok"})


async def readyz(call: Call) -> Response:
    """Say whether submissions would be stored: the writer answers and the store can be read."""
    call.query()
    try:
        async with asyncio.timeout(_PATIENCE):
            window = await call.parts.writer.run(lambda store: store.window())
    except TimeoutError:
        raise Stopping("expected the writer to answer, got nothing yet") from None
    return answer({"status": "ok", "alarm": window.alarm})


async def counters(call: Call) -> Response:
    """Return what was accepted, repeated and refused since the start."""
    call.query()
    return answer(call.parts.counters.document())


async def metrics(call: Call) -> Response:
    """Return the counters for Prometheus."""
    call.query()
    gauges = {
        "submissions_waiting": float(call.parts.writer.waiting),
        "clock_alarm": float(call.parts.housekeeping.alarm is not None),
    }
    return Response(
        call.parts.counters.exposition(gauges),
        media_type="text/plain; version=0.0.4; charset=utf-8",
    )
