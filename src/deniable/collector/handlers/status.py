"""How the collector is (health, readiness, counters, metrics), and who is logged in."""

from __future__ import annotations

from starlette.responses import Response

from deniable.collector import access, vitals
from deniable.collector.access import SESSION
from deniable.collector.metrics import exposition
from deniable.collector.problems import NotFound, NotReady, Stopping
from deniable.collector.requests import Call, answer
from deniable.collector.stores.records import write_day


async def healthz(call: Call) -> Response:
    """Say that the process answers."""
    call.query()
    return answer({"status": "ok"})


async def readyz(call: Call) -> Response:
    """Say whether submissions are stored: the last write tells, or one that is made now."""
    call.query()
    health = call.services.health
    if health.leaving and health.broken is None:
        raise Stopping("the collector is shutting down", reason="the collector is shutting down")
    trouble = await health.check(call.services.writer.probe)
    if trouble is not None:
        raise NotReady("reports cannot be stored now", reason=trouble.reason, kind=trouble.kind)
    return answer({"status": "ok", "alarm": call.services.housekeeping.alarm})


async def counters(call: Call) -> Response:
    """Return what was accepted, repeated and refused since the start."""
    call.query()
    return answer(call.services.counters.document())


async def metrics(call: Call) -> Response:
    """Return the counters for Prometheus; a store that does not answer leaves its own out."""
    call.query()
    families = await vitals.read(call.services)
    return Response(exposition(families), media_type="text/plain; version=0.0.4; charset=utf-8")


_DAY = 86400


async def sessions(call: Call) -> Response:
    """List the sessions: name, role, and the days of the end and of the last use."""
    call.query()
    found = await call.services.readers.run(lambda store: store.keys(SESSION))
    return answer({
        "sessions": [
            {
                "name": key.name,
                "role": key.role,
                "until": None if key.expires is None else write_day(key.expires // _DAY),
                "last_used": None if key.last_used is None else write_day(key.last_used),
                "yours": call.holder is not None
                and (call.holder.kind, call.holder.name) == (SESSION, key.name),
            }
            for key in found
            if not access.expired(key)
        ]
    })  # fmt: skip


async def end_session(call: Call) -> Response:
    """End a session."""
    call.query()
    name = call.request.path_params["session"]
    if await call.services.writer.run(lambda store: access.revoke(store, SESSION, name)) is None:
        raise NotFound("no session has this name")
    call.services.access.forget()
    return Response(status_code=204)
