"""How much of a long test is run: `make test` runs a share of all seeds and cases, always the first ones, and `make test-all` runs all.

`SECATEUR_TEST_SHARE` says it in percent. The tests in Rust read the same variable (`crates/test/testkit/src/share.rs`)."""

import os

# What is run of long tests where nobody says otherwise.
STANDARD = 25
PERCENT = int(os.environ.get("SECATEUR_TEST_SHARE", STANDARD))
assert 1 <= PERCENT <= 100, "SECATEUR_TEST_SHARE is a percentage from 1 to 100"


def share(whole: int) -> int:
    """So many of this number of seeds, cases or rows; also what such a test must have seen at least."""
    return -(-whole * PERCENT // 100)
