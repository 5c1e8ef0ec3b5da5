"""What all tests need."""

import signal

# Started in the background, a process ignores Ctrl-C, and Python leaves it at that; some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
