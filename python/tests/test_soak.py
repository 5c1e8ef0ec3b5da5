"""A share of `make soak`: always the same models and the same forged certificates, so that what fails fails again."""

from __future__ import annotations

import importlib.util
import math
import pathlib
import sys
import warnings
from collections import Counter

import pytest
from share import share

SOAK = pathlib.Path(__file__).parents[2] / "soak"
sys.path.insert(0, str(SOAK))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import certificate as codec
    from changes import CHANGES
    from families import FAMILIES, draw
    from forge import forge
    from judge import Tally, judge, leads
    from seen import Seen

import secateur  # noqa: E402

# `bench/cluster`, which other tests import from, has a module of the same name.
_specification = importlib.util.spec_from_file_location("soak_run", SOAK / "run.py")
assert _specification is not None and _specification.loader is not None
_run = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(_run)
EDGES, edge = _run.EDGES, _run.edge

pytestmark = pytest.mark.filterwarnings("ignore")
# Models of each family: about two minutes for all of the whole.
EACH = share(30)
# All of them: with fewer, some kinds of change would never be made.
FORGED = 6_000
# Cases of each family of the edges.
EDGE_CASES = share(20)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_cell_is_decided_as_before(family):
    total = Tally()
    for seed in range(EACH):
        total.add(judge(family, seed))
    assert not total.wrong, "\n".join(total.wrong)
    assert total.refused <= -(-EACH // 3), total.reasons
    # A share without meaning would be one where nothing was looked at.
    assert total.every_cell >= EACH // 2
    assert total.certificates >= EACH // 2 and total.verified["identical"] > 0


@pytest.mark.parametrize("family", EDGES)
def test_the_edges(family):
    total = Seen()
    for seed in range(EDGE_CASES):
        total.add(edge(family, seed))
    assert not total.wrong, "\n".join(total.wrong)
    # A family without meaning would be one where nothing was compared.
    assert total.cases == EDGE_CASES and (total.rows > 0 or total.refused == EDGE_CASES)


def test_a_wrong_answer_would_be_seen():
    """A model that is called pruned and is not the same: the judge says so."""
    from cells import every_cell
    from judge import Pair
    import numpy as np

    seen = 0
    for family in FAMILIES:
        drawn = draw(family, 0)
        model = secateur.Model.parse(drawn.data)
        try:
            other = model.edit([(tree, -1.0) for tree in range(model.tree_count)])
        except secateur.EditingError:
            continue
        rows, _ = every_cell([model, other], 2_000, np.random.default_rng(0), drawn.infinities)
        pair = Pair(drawn, [drawn.data, bytes(other.to_bytes())], rows)
        outside = pair.outside(0, 1e-6, missing=True)
        seen += outside.size > 0
        assert (leads(model, rows[outside]) > 1e-6).all()
    assert seen >= len(FAMILIES) // 2


def test_no_forged_certificate_is_accepted():
    forged = forge(0, FORGED, math.inf)
    assert not forged.wrong, "\n".join(forged.wrong)
    assert forged.count >= FORGED and forged.differing > FORGED // 10
    verdicts = sum(forged.by_kind.values(), Counter())
    assert verdicts["invalid"] > verdicts["malformed"], "a forger that the reader sees through tests the reader alone"
    missing = set(CHANGES) - set(forged.by_kind)
    assert not missing, f"changes that were never made: {missing}"


def test_the_codec_writes_what_it_reads():
    """Every accepted certificate in the corpus, byte for byte but for the compression."""
    import zlib

    count = 0
    for path in sorted((SOAK.parent / "testdata" / "certificates" / "accept").iterdir()):
        data = path.read_bytes()
        certificate = codec.read(data)
        again = codec.write(certificate, count=False)
        assert again[: len(codec.LINE)] == data[: len(codec.LINE)], path.name
        assert zlib.decompress(again[len(codec.LINE) :]) == zlib.decompress(data[len(codec.LINE) :]), path.name
        count += 1
    assert count > 5
