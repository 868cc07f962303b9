"""Whether reports that JavaScript drew follow the law of their protocol, as Python reads them."""

import json
from pathlib import Path

from deniable.policy import BROWSERS
from deniable.protocol import Protocol
from deniable.protocols import discover

ROOT = Path(__file__).parent.parent.parent
COUNT = 100_000


def specifications():
    """Return the smallest specification of each protocol, hash family and kind of field."""
    found = {}
    for name in sorted(set(BROWSERS) & set(discover())):
        path = ROOT / "vectors" / f"{name}.json"
        vectors = json.loads(path.read_text(encoding="utf-8"))["vectors"]
        for specification in (vector["protocol"] for vector in vectors):
            parts = [name, specification.get("family", "")]
            if specification.get("field", {}).get("degree", 1) > 1:
                parts.append("extension")
            found.setdefault(" ".join(filter(None, parts)), specification)
    return found


def follows(specification, draw):
    """Tell whether reports support the true value and another one as often as they should.

    ``draw(value, count)`` returns the bytes of so many reports. Both shares are within four
    standard errors, which fails by chance once in 8,000 times; so reports are drawn a second time
    before the verdict is no, and that is wrong once in 60 million times.
    """
    protocol = Protocol.from_specification(specification)
    d = specification.get("domain_size", 1 << 64)
    value, other = d // 2, d - 1

    def close():
        reports = protocol.parse(draw(value, COUNT), COUNT)
        pairs = ((value, protocol.parameters.p), (other, protocol.parameters.q))
        return all(
            abs(protocol.supports(reports, v).mean() - share)
            <= 4 * (share * (1 - share) / COUNT) ** 0.5
            for v, share in pairs
        )

    return close() or close()
