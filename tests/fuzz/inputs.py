"""What the fuzz tests throw, and how they count it.

A short form runs with all tests. `make fuzz COUNT=1000` tries that many inputs in every test.
"""

import faulthandler
import json
import math
import os
import random
import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TRIED: Counter[str] = Counter()
"""How many inputs each test has tried."""
PATIENCE = 120
"""Seconds after which an input counts as one that hangs, also on a busy machine."""

ROOM = 2**31
"""Bytes that an input may take beyond what the process had before."""


def fuzz(count: int, **inputs: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """Runs a test on `count` inputs, or on as many as `RANDPOS_FUZZ` says."""

    def decorate(test: Callable[..., None]) -> Any:
        wanted = int(os.environ.get("RANDPOS_FUZZ", count))
        checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
        chosen = settings(max_examples=wanted, suppress_health_check=checks)
        return chosen(given(**inputs)(test))

    return decorate


@contextmanager
def tried(name: str) -> Iterator[None]:
    """Counts an input, and lets none take forever, nor all of the memory."""

    def stop(*_: object) -> None:
        raise AssertionError(f"{name} has been working on one input for {PATIENCE} s")

    TRIED[name] += 1
    before = signal.signal(signal.SIGALRM, stop)
    usual = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, usual[1]))
    signal.alarm(PATIENCE)
    # A library that waits where no signal is heard: then the tests end at once.
    faulthandler.dump_traceback_later(2 * PATIENCE, exit=True, file=2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, usual)
        signal.signal(signal.SIGALRM, before)


def check_sentence(text: str) -> None:
    """Asserts a line that ends, that a terminal only shows, and that a person would read."""
    assert text.endswith((".", "?"))
    assert text.isprintable()
    assert len(text) < 2000


NASTY = [
    "",
    "<script>document.title='run'</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><!--",
    "${x} {{x}} %s {0}",
    "../../../outside/canary",
    "/outside/canary",
    "hostile:Task",
    ":",
    "..:x",
    "a\0b:c",
    "\x1b]0;title\x07\x1b[2J",
    "line\nline\r\nline\u2028line\x85",
    "[bold]x[/bold][/]",
    "\ud800",
    "\u202e\u200b\ufeff",
    "__proto__",
    "é" * 300,
    "long" * 5000,
    "**",
    "step-[!",
    "--help",
    "NaN",
    "1e999",
]
"""Texts with a meaning somewhere: HTML, shells, terminals, paths, formats, globs."""
NUMBERS = [0, -1, 1, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63, 2**64, -(2**63), 10**30, 10**400]

texts = st.one_of(st.sampled_from(NASTY), st.text(st.characters(), max_size=20))
numbers = st.one_of(
    st.sampled_from(NUMBERS),
    st.integers(-5, 70_000),
    st.integers(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0]),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, texts)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=8,
)
"""Any JSON."""


@st.composite
def altered(draw: st.DrawFn, data: Any) -> Any:
    """Plain data in which up to three places hold something else, or are gone, or are new."""
    data = json.loads(json.dumps(data))
    for _ in range(draw(st.integers(1, 3))):
        inner, path = data, []
        while isinstance(inner, dict | list) and inner and (not path or draw(st.booleans())):
            keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            path.append((inner, draw(st.sampled_from(keys))))
            inner = path[-1][0][path[-1][1]]
        if not path:
            return draw(values)
        where, key = path[-1]
        kind = draw(st.sampled_from(["leaf", "value", "remove", "add"]))
        if kind == "remove":
            del where[key]
        elif kind == "add" and isinstance(where, dict):
            where[draw(texts)] = draw(values)
        else:
            where[key] = draw(leaves if kind == "leaf" else values)
    return data


DEEP = [b"[" * 100_000, b'{"a":' * 5000 + b"1" + b"}" * 5000, b"[" * 900 + b"]" * 900]


def json_bytes(data: Any) -> bytes:
    """Writes data as JSON; lone surrogates as such."""
    return json.dumps(data, ensure_ascii=False).encode(errors="surrogatepass")


@dataclass(frozen=True)
class Damage:
    """Cuts bytes, or flips, overwrites, pads or replaces some of them."""

    kind: str
    seed: int

    def __call__(self, content: bytes) -> bytes:
        """Returns the damaged bytes."""
        draws = random.Random(self.seed)
        place = draws.randrange(len(content) + 1)
        if self.kind == "cut":
            return content[:place]
        if self.kind == "flip" and content:
            harmed = bytearray(content)
            for _ in range(draws.choice([1, 1, 2, 20])):
                harmed[draws.randrange(len(harmed))] ^= 1 << draws.randrange(8)
            return bytes(harmed)
        if self.kind == "overwrite":
            some = draws.randbytes(draws.randrange(1, 20))
            return content[:place] + some + content[place + len(some) :]
        if self.kind == "insert":
            return content[:place] + draws.randbytes(draws.randrange(1, 9)) + content[place:]
        if self.kind == "zeros":
            return content[:place] + bytes(len(content) - place)
        return draws.choice(DEEP) if self.kind == "deep" else draws.randbytes(place % 200)


KINDS = ["cut", "flip", "overwrite", "insert", "zeros", "deep", "random"]
damages = st.builds(Damage, st.sampled_from(KINDS), st.integers(0, 2**32 - 1))


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """Bytes that were damaged."""
    return damages.map(lambda damage: damage(content))
