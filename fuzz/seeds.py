"""Writes the steps of every accepted certificate, uncompressed, as seeds of the target `certificate`."""

import sys
import zlib
from pathlib import Path

CERTIFICATES = Path(__file__).resolve().parent.parent / "testdata" / "certificates" / "accept"
DIGESTS = 64


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(CERTIFICATES.iterdir()):
        _, _, stream = path.read_bytes().partition(b"\n")
        claim_and_steps = zlib.decompress(stream)
        # Digests, the band (a byte, and eight more for a score), scope and rounding.
        claim = DIGESTS + (9 if claim_and_steps[DIGESTS] else 1) + 2
        (folder / path.name).write_bytes(claim_and_steps[claim:])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
