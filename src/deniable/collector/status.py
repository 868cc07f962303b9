"""How the collector is (health, readiness, counters, metrics), and who is logged in."""

import asyncio
import os
import platform
import sys
from collections.abc import Callable
from math import nan
from pathlib import Path
from time import process_time, time

from starlette.responses import Response

from deniable.collector.access import SESSION, listed, revoke
from deniable.collector.metrics import Metric, exposition
from deniable.collector.problems import NotFound, NotReady, Stopping
from deniable.collector.requests import Call, Services, answer
from deniable.collector.stores.records import Measures, StoreError, today
from deniable.version import __version__

_DAY = 86400
_PATIENCE = 2.0
_STARTED = time()
_UNKNOWN = Measures(0, None, 0, 0, nan)
_PROCESS = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


async def healthz(call: Call) -> Response:
    return answer({"status": "ok"})


async def readyz(call: Call) -> Response:
    """Say whether submissions are stored: the last write tells, or one that is made now."""
    health = call.services.health
    if health.leaving and health.broken is None:
        raise Stopping("the collector is shutting down", reason="the collector is shutting down")
    trouble = await health.check(call.services.writer.probe)
    if trouble is not None:
        said = f"Reports cannot be stored now: {trouble.reason}."
        raise NotReady("reports cannot be stored now", page=said, reason=trouble.reason,
                       kind=trouble.kind)  # fmt: skip
    return answer({"status": "ok", "alarm": call.services.housekeeping.alarm})


async def counters(call: Call) -> Response:
    return answer(call.services.counters.document())


async def metrics(call: Call) -> Response:
    """Return all figures for Prometheus; those of a store that does not answer are NaN."""
    services, store = call.services, await _store(call.services)
    found = [*services.counters.metrics(), *_service(services), *store, *_process(services)]
    return Response(exposition(found), media_type="text/plain; version=0.0.4; charset=utf-8")


async def sessions(call: Call) -> Response:
    found = await call.services.readers.run(lambda store: store.keys(SESSION))
    return answer({"sessions": listed(found, call.holder)})


async def end_session(call: Call) -> Response:
    name = call.request.path_params["session"]
    if await call.services.writer.run(lambda store: revoke(store, SESSION, name)) is None:
        raise NotFound("no session has this name")
    call.services.access.forget()
    return Response(status_code=204)


def _service(services: Services) -> list[Metric]:
    writer, health, crowd = services.writer, services.health, services.crowd
    keeping = services.housekeeping
    return [
        ("deniable_ready", "Whether submissions are stored, as /readyz says.",
         health.trouble is None and not health.leaving),
        ("deniable_store_errors_total{kind}", "Errors of the store by kind.", health.errors),
        ("deniable_commit_seconds", "Time that a group of submissions took to be stored.",
         writer.commits),
        ("deniable_submissions_waiting", "Submissions that wait to be written.", writer.waiting),
        ("deniable_submissions_waiting_oldest_seconds",
         "For how long the oldest of them has waited.", writer.age),
        ("deniable_housekeeping_last_success_timestamp_seconds",
         "When folding, sealing and sweeping last succeeded; 0 if not yet.", keeping.last_success),
        ("deniable_housekeeping_failures_total", "Turns of housekeeping that failed.",
         keeping.failures),
        ("deniable_clock_alarm", "Whether days are not sealed because the clock moved.",
         keeping.alarm is not None),
        ("deniable_connections", "Connections that are open.", crowd.count),
        ("deniable_connections_dropped_total{reason}",
         "Connections that were cut: too late, in the way, or too many of an address.",
         crowd.dropped),
        ("deniable_held_bytes", "Bytes in memory because of senders.", services.held.taken),
        ("deniable_worker_restarts_total", "How often the worker process ended early.",
         services.worker.restarts),
    ]  # fmt: skip


async def _store(services: Services) -> list[Metric]:
    known = 1.0
    try:
        async with asyncio.timeout(_PATIENCE):
            found = await services.readers.run(lambda store: store.measure())
    except (StoreError, TimeoutError, OSError):
        found, known = _UNKNOWN, nan
    days = 0 if found.oldest is None else max(0, today() - found.oldest)
    return [
        ("deniable_reports_waiting", "Reports that are in no tally yet.", found.waiting * known),
        ("deniable_reports_waiting_oldest_seconds",
         "How long ago the first day was that has such reports, in whole days.",
         days * _DAY * known),
        ("deniable_sealed_through_timestamp_seconds", "When the last sealed day began.",
         found.sealed_through * _DAY * known),
        ("deniable_rows_set_aside", "Rows of the store that could not be read.",
         found.set_aside * known),
        ("deniable_store_bytes", "Size of the store.", found.size),
        ("deniable_store_log_bytes", "Size of SQLite's write-ahead log.", found.log_size),
        ("deniable_store_free_bytes", "Free space on the disk of the store.", found.free),
    ]  # fmt: skip


def _process(services: Services) -> list[Metric]:
    worker = services.worker.pid
    python = ".".join(map(str, sys.version_info[:3]))
    labels = f'version="{__version__}",python="{python}",system="{platform.system()}"'
    return [
        (f"deniable_build_info{{{labels}}}", "The release that runs.", 1),
        ("deniable_worker_resident_memory_bytes", "Memory of the worker process.",
         _resident(worker) if worker else 0),
        ("process_resident_memory_bytes", "Memory of the collector itself.",
         _resident(os.getpid())),
        ("process_cpu_seconds_total", "Processor time of the collector itself.", process_time()),
        ("process_open_fds", "Files and connections that are open.",
         _read(lambda: len(list((_PROCESS / "self" / "fd").iterdir())))),
        ("process_max_fds", "How many may be open.",
         _read(lambda: os.sysconf("SC_OPEN_MAX"))),
        ("process_start_time_seconds", "When the collector started.", _STARTED),
    ]  # fmt: skip


def _resident(pid: int) -> float:
    return _read(lambda: int((_PROCESS / str(pid) / "statm").read_text().split()[1]) * _PAGE)


def _read(figure: Callable[[], float]) -> float:
    """Return a figure of the system, or NaN where the system has none."""
    try:
        return float(figure())
    except (AttributeError, OSError, ValueError):
        return nan
