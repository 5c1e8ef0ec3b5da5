"""A reader and a writer of certificates, made from `docs/spec/certificate-v1.md` and `-v2.md` alone and sharing no code with the project.

A certificate is a `Claim` and a list of steps; a step is a tuple of its name and its fields, in the order of the page. What is read
is written back byte by byte but for the compression, and what a forger makes of the tuples is written as well as it can be: the
checker is to say what is wrong with it.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, replace
from typing import Any

LINE = b"secateur certificate 1\n"
LINE_2 = b"secateur certificate 2\n"
Step = tuple[Any, ...]


@dataclass(frozen=True)
class Column:
    """The limits of one column; the flags of the page, and the floats that they announce."""

    number: int
    flags: int
    least: float | None = None
    greatest: float | None = None
    values: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Domain:
    """The inputs of a claim of version 2."""

    missing: int
    columns: tuple[Column, ...] = ()
    groups: tuple[tuple[int, tuple[int, ...], tuple[tuple[float, ...], ...]], ...] = ()
    """Kind, columns, and the rows of a table."""
    wheres: tuple[tuple[bytes, int, int, float], ...] = ()
    """Digest, sum, side and bound."""


@dataclass(frozen=True)
class Claim:
    original: bytes
    pruned: bytes
    band: float | None
    """`None` for exact arithmetic."""
    scope: int
    """Of version 1; whatever the domain says in version 2."""
    local: int
    domain: Domain | None = None
    """`None` in version 1."""
    cuts: tuple[float, ...] | None = None
    """Score and gap of the first model's cut, then of the second's, where decisions are at a threshold of the caller's."""
    about: int = 0
    """The first byte of version 2: 1 scores, 3 range, 4 class, 5 moves."""
    said: tuple[Any, ...] = ()
    """What is claimed of these: eps; the outputs, each with its limits; the classes and the cut; the columns and the effect."""


@dataclass(frozen=True)
class Certificate:
    claim: Claim
    steps: list[Step]

    def with_claim(self, **fields: Any) -> "Certificate":
        return replace(self, claim=replace(self.claim, **fields))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        if len(found) != count:
            raise ValueError("the stream ends")
        self.at += count
        return found

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                return value

    def float(self) -> float:
        return struct.unpack("<d", self.take(8))[0]

    def ascending(self) -> tuple[int, ...]:
        found: list[int] = []
        for _ in range(self.number()):
            skipped = self.number()
            found.append(skipped if not found else found[-1] + 1 + skipped)
        return tuple(found)

    def big(self) -> int:
        return int.from_bytes(self.take(self.number()), "little")

    def domain(self) -> Domain:
        missing = self.byte()
        columns = []
        for _ in range(self.number()):
            number, flags = self.number(), self.byte()
            least = self.float() if flags & 2 else None
            greatest = self.float() if flags & 4 else None
            values = tuple(self.float() for _ in range(self.number())) if flags & 32 else None
            columns.append(Column(number, flags, least, greatest, values))
        groups = []
        for _ in range(self.number()):
            kind = self.byte()
            own = tuple(self.number() for _ in range(self.number()))
            count = self.number() if kind == 3 else 0
            groups.append((kind, own, tuple(tuple(self.float() for _ in own) for _ in range(count))))
        wheres = tuple((self.take(32), self.number(), self.byte(), self.float()) for _ in range(self.number()))
        return Domain(missing, tuple(columns), tuple(groups), wheres)

    def said(self, about: int) -> tuple[Any, ...]:
        match about:
            case 1:
                return (self.float(),)
            case 3:
                outputs = []
                for _ in range(self.number()):
                    output, flags = self.number(), self.byte()
                    outputs.append((output, *(self.float() if flags & bit else None for bit in (1, 2))))
                return tuple(outputs)
            case 4:
                return self.ascending(), (self.float(), self.float()) if self.byte() else None
            case 6:
                return *self.said(4), self.byte(), *(tuple(self.float() for _ in range(self.number())) for _ in range(3))
            case 5:
                columns, kind = self.ascending(), self.byte()
                if kind == 0:
                    return columns, kind, self.float()
                if kind == 1:
                    return columns, kind, self.float() if self.byte() else None, self.byte()
                return columns, kind, self.number(), self.byte(), self.byte()
        raise ValueError(f"a claim of the kind {about}")

    def step(self) -> Step:
        first = self.byte()
        kind, high = first & 7, first >> 3
        if kind in (1, 2, 3, 4, 6):
            which = self.number() if high == 31 else high
            if kind == 1:
                return "Close", which
            if kind == 2:
                return "Narrow", which, self.number(), self.number(), self.number()
            if kind == 6:
                return "Join", which, self.ascending()
            return "Split", which, self.number(), kind == 3
        if kind == 5 and high == 0:
            return ("Cells",)
        if kind != 0:
            raise ValueError(f"step {first}")
        match high:
            case 0:
                return "Stack", self.ascending(), self.ascending()
            case 1:
                return "System", self.number(), self.number(), self.byte()
            case 2:
                return "Lens", tuple(self.number() for _ in range(self.number()))
            case 3:
                return "Meet", self.ascending()
            case 4:
                return "Point", tuple(self.float() for _ in range(self.number()))
            case 5:
                return "Columns", self.byte(), tuple(self.ascending() for _ in range(self.number()))
            case 6:
                count = self.number()
                return "Cut", tuple((self.number(), self.number(), self.number(), self.big()) for _ in range(count))
            case 7:
                costs = tuple(self.number() for _ in range(self.number())) if self.byte() else None
                return "Cover", costs, self.number()
            case 8:
                return "Branch", self.number()
            case 9:
                return "Dual", self.number(), tuple((self.number(), self.number()) for _ in range(self.number()))
            case 10:
                return "Crossing", self.number(), self.number(), self.float(), self.float()
            case 11:
                return "End", self.number(), self.byte()
            case 12:
                return "ScoreSystem", self.number(), self.byte()
            case 13:
                return "ClassSystem", self.number()
            case 14:
                return "Shown", self.number(), tuple(self.float() for _ in range(self.number()))
        raise ValueError(f"step {first}")


def read(data: bytes) -> Certificate:
    second = data.startswith(LINE_2)
    if not second and not data.startswith(LINE):
        raise ValueError("no certificate")
    reader = _Reader(zlib.decompress(data[len(LINE) :]))
    about = reader.byte() if second else 0
    original, pruned = reader.take(32), reader.take(32) if about < 3 else b""
    if about in (0, 2):
        band = reader.float() if reader.byte() else None
        domain = reader.domain() if second else None
        scope = (1 - domain.missing) if domain is not None else reader.byte()
        local = reader.byte()
        cuts = tuple(reader.float() for _ in range(4)) if about == 2 else None
        claim = Claim(original, pruned, band, scope, local, domain, cuts)
    else:
        said = reader.said(about)
        claim = Claim(original, pruned, None, 0, 0, reader.domain(), None, about, said)
    steps: list[Step] = []
    while not steps or steps[-1][0] != "End":
        steps.append(reader.step())
    if reader.at != len(reader.data):
        raise ValueError("something follows the end")
    return Certificate(claim, steps)


def _number(value: int) -> bytes:
    found = bytearray()
    value = max(0, value)
    while True:
        low, value = value & 127, value >> 7
        found.append(low | (128 if value else 0))
        if not value:
            return bytes(found)


def _list(entries: Any) -> bytes:
    entries = list(entries)
    return _number(len(entries)) + b"".join(entries)


def _ascending(ids: Any) -> bytes:
    # What does not ascend is written as what follows its last one: the encoding cannot say otherwise.
    last = -1
    entries = []
    for value in ids:
        skipped = max(0, value - last - 1)
        entries.append(_number(skipped))
        last = last + 1 + skipped
    return _list(entries)


def _big(value: int) -> bytes:
    return _list(bytes([byte]) for byte in value.to_bytes((value.bit_length() + 7) // 8, "little"))


def _headed(kind: int, which: int) -> bytes:
    if which < 31:
        return bytes([kind | which << 3])
    return bytes([kind | 31 << 3]) + _number(which)


def encode(step: Step) -> bytes:
    name, *fields = step
    match name:
        case "Close":
            return _headed(1, fields[0])
        case "Narrow":
            return _headed(2, fields[0]) + b"".join(map(_number, fields[1:]))
        case "Split":
            return _headed(3 if fields[2] else 4, fields[0]) + _number(fields[1])
        case "Cells":
            return bytes([5])
        case "Join":
            return _headed(6, fields[0]) + _ascending(fields[1])
    kinds = ["Stack", "System", "Lens", "Meet", "Point", "Columns", "Cut", "Cover", "Branch", "Dual", "Crossing", "End"]
    kinds += ["ScoreSystem", "ClassSystem", "Shown"]
    head = bytes([kinds.index(name) << 3])
    match name:
        case "Stack":
            return head + _ascending(fields[0]) + _ascending(fields[1])
        case "System" | "End" | "ScoreSystem":
            return head + b"".join(map(_number, fields[:-1])) + bytes([fields[-1] & 255])
        case "ClassSystem":
            return head + _number(fields[0])
        case "Shown":
            return head + _number(fields[0]) + _list(struct.pack("<d", value) for value in fields[1])
        case "Lens":
            return head + _list(map(_number, fields[0]))
        case "Meet":
            return head + _ascending(fields[0])
        case "Point":
            return head + _list(struct.pack("<d", value) for value in fields[0])
        case "Columns":
            return head + bytes([fields[0]]) + _list(map(_ascending, fields[1]))
        case "Cut":
            terms = (_number(point) + _number(y) + _number(c) + _big(m) for point, y, c, m in fields[0])
            return head + _list(terms)
        case "Cover":
            costs = b"\0" if fields[0] is None else b"\1" + _list(map(_number, fields[0]))
            return head + costs + _number(fields[1])
        case "Branch":
            return head + _number(fields[0])
        case "Dual":
            return head + _number(fields[0]) + _list(_number(cut) + _number(u) for cut, u in fields[1])
        case "Crossing":
            return head + _number(fields[0]) + _number(fields[1]) + struct.pack("<dd", *fields[2:])
    raise ValueError(name)


def _domain(domain: Domain) -> bytes:
    def column(own: Column) -> bytes:
        limits = b"".join(struct.pack("<d", limit) for limit in (own.least, own.greatest) if limit is not None)
        values = b"" if own.values is None else _list(struct.pack("<d", value) for value in own.values)
        return _number(own.number) + bytes([own.flags]) + limits + values

    def group(own: tuple[int, tuple[int, ...], tuple[tuple[float, ...], ...]]) -> bytes:
        kind, columns, rows = own
        table = _list(struct.pack(f"<{len(row)}d", *row) for row in rows) if kind == 3 else b""
        return bytes([kind]) + _list(map(_number, columns)) + table

    wheres = (digest + _number(k) + bytes([side]) + struct.pack("<d", bound) for digest, k, side, bound in domain.wheres)
    return bytes([domain.missing]) + _list(map(column, domain.columns)) + _list(map(group, domain.groups)) + _list(wheres)


def _said(claim: Claim) -> bytes:
    def optional(value: float | None) -> bytes:
        return b"\0" if value is None else b"\1" + struct.pack("<d", value)

    match claim.about:
        case 1:
            return struct.pack("<d", *claim.said)
        case 3:
            outputs = []
            for output, *limits in claim.said:
                flags = sum(bit for bit, limit in zip((1, 2), limits) if limit is not None)
                floats = b"".join(struct.pack("<d", limit) for limit in limits if limit is not None)
                outputs.append(_number(output) + bytes([flags]) + floats)
            return _list(outputs)
        case 4 | 6:
            allowed, cut, *near = claim.said
            decided = _ascending(allowed) + (b"\0" if cut is None else b"\1" + struct.pack("<dd", *cut))
            lists = [_list(struct.pack("<d", value) for value in values) for values in near[1:]]
            return decided + bytes(near[:1]) + b"".join(lists)
    columns, kind, *rest = claim.said
    effect = [struct.pack("<d", rest[0])] if kind == 0 else [optional(rest[0]), bytes(rest[1:])]
    if kind == 2:
        effect = [_number(rest[0]), bytes(rest[1:])]
    return _ascending(columns) + bytes([kind]) + b"".join(effect)


def write(certificate: Certificate, *, count: bool = True) -> bytes:
    """The file. Unless told otherwise, the end has the right number of steps: what is wrong is to be found elsewhere."""
    claim, steps = certificate.claim, list(certificate.steps)
    if count and steps and steps[-1][0] == "End":
        steps[-1] = ("End", len(steps) - 1, steps[-1][2])
    band = b"\0" if claim.band is None else b"\1" + struct.pack("<d", claim.band)
    inputs = bytes([claim.scope]) if claim.domain is None else _domain(claim.domain)
    stream = claim.original + claim.pruned + band + inputs + bytes([claim.local])
    if claim.about:
        stream = bytes([claim.about]) + claim.original + claim.pruned + _said(claim) + inputs
    elif claim.domain is not None:
        # A claim about decisions, by the libraries' own rules or at cuts.
        stream = b"\0" + stream if claim.cuts is None else b"\2" + stream + struct.pack("<4d", *claim.cuts)
    line = LINE if claim.domain is None else LINE_2
    return line + zlib.compress(stream + b"".join(map(encode, steps)), 1)
