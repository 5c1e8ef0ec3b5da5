"""Runs a test binary for cargo, and ends it when nothing has happened for too long.

    export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="python3 tests/limit.py"
    cargo test

The harness of Rust tests has no limits: one test that hangs, hangs everything. It says which test has
finished, and which has been running for more than a minute. When it has said nothing for
SECATEUR_TEST_LIMIT seconds (300), the binary is killed, and the tests that did not finish are named.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time

LIMIT = float(os.environ.get("SECATEUR_TEST_LIMIT", "300"))


def main() -> int:
    # A group of its own: what the tests have started ends with them.
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, start_new_session=True)
    stop = {"by": None}

    def end(number: int, _: object) -> None:
        stop["by"] = number
        os.killpg(process.pid, signal.SIGKILL)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    slow: set[str] = set()
    out = sys.stdout.buffer
    last = time.monotonic()
    rest = b""
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not waiting.select(timeout=max(0.0, last + LIMIT - time.monotonic())):
                if time.monotonic() - last < LIMIT:
                    continue
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                names = ", ".join(sorted(slow)) or "no test has been running for a minute; a test's thread may have waited at its end"
                print(f"\nkilled: nothing has happened for {LIMIT:.0f} s in {sys.argv[1]}\nstill running: {names}", flush=True)
                return 101
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                break
            last = time.monotonic()
            out.write(part)
            out.flush()
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace")
                if found := re.match(r"test (\S+) has been running for over", text):
                    slow.add(found.group(1))
                elif found := re.match(r"test (\S+) \.\.\. ", text):
                    slow.discard(found.group(1))
    code = process.wait()
    if stop["by"] is not None:
        return 128 + stop["by"]
    if code < 0:
        print(f"\n{sys.argv[1]} was ended by signal {-code}", flush=True)
        return 101
    return code


if __name__ == "__main__":
    sys.exit(main())
