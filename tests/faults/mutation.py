"""Mutated submissions: requests that are almost right, sent as raw bytes."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from urllib.parse import urlsplit

_PATIENCE = 0.5
"""Seconds to wait for an answer to what may be half a request."""

HEADERS = [
    b"Content-Length: 99",
    b"Content-Length: -1",
    b"Transfer-Encoding: chunked",
    b"Expect: 100-continue",
    b"Authorization: Bearer x",
    b"Origin: null",
    b"Upgrade: websocket\r\nConnection: upgrade",
    b"Cookie: \xff\x00=;",
]


def mutate(request: bytes, chance: random.Random) -> bytes:
    """Change a request in one of the ways that programs and people do."""
    data = bytearray(request)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(data) + 1)
        kind = chance.randrange(6)
        if kind == 0 and place < len(data):
            data[place] = chance.randrange(256)
        elif kind == 1:
            data[place:place] = chance.randbytes(chance.randint(1, 9))
        elif kind == 2:
            del data[place : place + chance.randint(1, 9)]
        elif kind == 3:
            data[place:place] = data[chance.randrange(len(data) + 1) :][:40]
        elif kind == 4:
            data = data[:place]
        else:
            header = chance.choice(HEADERS)
            end = data.find(b"\r\n") + 2
            data[end:end] = header + b"\r\n"
        if not data:
            data = bytearray(request)
    return bytes(data)


async def bombard(address: str, request: bytes, count: int, seed: int) -> Counter[str]:
    """Send mutated requests, each on a connection of its own; return how often each status came."""
    chance, found = random.Random(seed), Counter[str]()
    parts, gate = urlsplit(address), asyncio.Semaphore(128)

    async def one(data: bytes) -> None:
        async with gate:
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            try:
                writer.write(data)
                said = await asyncio.wait_for(reader.read(65536), _PATIENCE)
                found[said[9:12].decode("ascii", "replace") if said else "closed"] += 1
            except TimeoutError:
                found["silent"] += 1  # the collector waits for the rest
            except OSError:
                found["closed"] += 1
            finally:
                writer.close()

    for start in range(0, count, 500):
        size = min(500, count - start)
        await asyncio.gather(*(one(mutate(request, chance)) for _ in range(size)))
    return found
