"""What all tests need."""

import os
import signal

# Two processes of pytest share two processors. The libraries would start a thread for each processor and let it spin
# while it waits: for the small tables of these tests that takes ten times as long.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Started in the background, a process ignores Ctrl-C, and Python leaves it at that; some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
