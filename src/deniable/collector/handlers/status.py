"""How the collector is: health, readiness, counters, metrics, and its own description."""

from __future__ import annotations

from starlette.responses import Response

from deniable.collector import vitals
from deniable.collector.metrics import exposition
from deniable.collector.operations import Call, answer
from deniable.collector.problems import NotReady, Stopping


async def healthz(call: Call) -> Response:
    """Say that the process answers."""
    call.query()
    return answer({"status": "ok"})


async def readyz(call: Call) -> Response:
    """Say whether submissions are stored: the last write tells, or one that is made now."""
    call.query()
    health = call.parts.health
    if health.leaving and health.broken is None:
        raise Stopping("expected a collector that stays", reason="the collector is about to end")
    trouble = await health.check(call.parts.writer)
    if trouble is not None:
        raise NotReady("expected a store that works", reason=trouble.reason, kind=trouble.kind)
    return answer({"status": "ok", "alarm": call.parts.housekeeping.alarm})


async def counters(call: Call) -> Response:
    """Return what was accepted, repeated and refused since the start."""
    call.query()
    return answer(call.parts.counters.document())


async def metrics(call: Call) -> Response:
    """Return the counters for Prometheus; a store that does not answer leaves its own out."""
    call.query()
    families = await vitals.read(call.parts)
    return Response(exposition(families), media_type="text/plain; version=0.0.4; charset=utf-8")
