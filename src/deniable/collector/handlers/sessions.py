"""Who is logged in, and ending that."""

from __future__ import annotations

from starlette.responses import Response

from deniable.collector import access
from deniable.collector.access import SESSION
from deniable.collector.days import write_day
from deniable.collector.operations import Call, answer
from deniable.collector.problems import NotFound

_DAY = 86400


async def index(call: Call) -> Response:
    """List the sessions: name, role, and the days of the end and of the last use."""
    call.query()
    found = await call.parts.readers.run(lambda store: store.keys(SESSION))
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


async def end(call: Call) -> Response:
    """End a session."""
    call.query()
    name = call.request.path_params["session"]
    if await call.parts.writer.run(lambda store: access.revoke(store, SESSION, name)) is None:
        raise NotFound("expected the name of a session, got none such")
    call.parts.access.forget()
    return Response(status_code=204)
