"""Writes the steps of every accepted certificate, uncompressed, as seeds of the target `certificate`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "soak"))

from certificate import encode, read  # noqa: E402: the reader of the soak, which knows both versions

CERTIFICATES = ROOT / "testdata" / "certificates" / "accept"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(CERTIFICATES.iterdir()):
        steps = read(path.read_bytes()).steps
        (folder / path.name).write_bytes(b"".join(encode(step) for step in steps))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
