//! Changes every field of accepted certificates, one at a time. The tests assert that changes which
//! must be refused are refused; the other kinds of change are listed with the reason why accepting
//! them is harmless.

use std::collections::BTreeMap;

use crate::common::{self, Opened, certified, certified_with, joined_pair, searched_pair};
use secateur_certificate::{BandClaim, Claim, Digest, Domain, Slack, Step};
use secateur_model::{Ensemble, Grid};
use secateur_oracle::{Band, Options, exact_class};
use secateur_testkit::{every_row, leads_by_more_than};

/// Kinds of change after which a proof may still be a proof. In each case the checker applies its
/// rules to the changed content, so a certificate that is accepted proves the claim that it now
/// makes:
/// - `band up`: a larger band is a weaker claim; fewer inputs are left in the systems;
/// - `band down`, `slack`: a stronger or another claim whose systems the same bounds happen to
///   close;
/// - `scope narrowed`: a weaker claim, about fewer cells; steps that name a missing cell no longer
///   fit;
/// - `scope widened`: a stronger claim, accepted if missing values take the same sides as others,
///   or if the bounds of the same steps hold for them too;
/// - `stack dropped`, `tree out of stack`: stacks only make bounds tighter; without them trees
///   stand alone;
/// - `lens`, `multiplier`, `lens dropped`, `lens doubled`: another combination of rows that closes
///   the box too;
/// - `narrow`, `narrow dropped`: less is cut off, or something else, and the boxes still close;
/// - `join row`, `fixed`: the box holds no solution of the other rows either, and any axes may be
///   fixed;
/// - `cell`, `axis`, `first side`: another split whose two sides the following steps close as well;
/// - `swapped`: neighbours that say the same, or sides that the same lens closes;
/// - `announced`: rounding by input is announced and not used.
const HARMLESS: &[&str] = &[
    "announced",
    "axis",
    "band down",
    "band up",
    "cell",
    "first side",
    "fixed",
    "join row",
    "lens",
    "lens doubled",
    "lens dropped",
    "multiplier",
    "narrow",
    "narrow dropped",
    "scope narrowed",
    "scope widened",
    "slack",
    "stack dropped",
    "swapped",
    "tree out of stack",
];

/// All changed certificates, each with its kind.
fn mutants(opened: &Opened) -> Vec<(&'static str, Opened)> {
    let mut all = Vec::new();
    let mut claim = |kind, change: &dyn Fn(&mut Opened)| {
        let mut copy = opened.clone();
        change(&mut copy);
        all.push((kind, copy));
    };
    for byte in [0, 13, 31] {
        claim("digest", &|copy| copy.claim.original.0[byte] ^= 1);
        claim("digest", &|copy| copy.claim.pruned.0[byte] ^= 0x80);
    }
    claim("announced", &|copy| copy.set_local(!copy.is_local()));
    match opened.claim.domain.is_everything() {
        true => claim("scope narrowed", &|copy| copy.claim.domain = Domain::no_missing()),
        false => claim("scope widened", &|copy| copy.claim.domain = Domain::everything()),
    }
    claim("band up", &|copy| {
        copy.set_band(BandClaim::Score(opened.band().score() * 2.0 + 1.0));
    });
    claim("band down", &|copy| copy.set_band(BandClaim::Score(opened.band().score() / 2.0)));
    claim("band down", &|copy| copy.set_band(BandClaim::Exact));
    for band in [f64::NAN, f64::INFINITY, -1.0] {
        claim("band no number", &|copy| copy.set_band(BandClaim::Score(band)));
    }
    for (at, step) in opened.steps.iter().enumerate() {
        let mut other = |kind, step: Step| {
            let mut copy = opened.clone();
            copy.steps[at] = step;
            all.push((kind, copy));
        };
        let up_down = |value: u32| [value.wrapping_add(1), value.wrapping_sub(1), u32::MAX];
        let (dropped, doubled) = match step {
            Step::Stack { original, pruned } => {
                for drop in 0..original.len() {
                    let mut rest = original.clone();
                    rest.remove(drop);
                    other("tree out of stack", Step::Stack { original: rest, pruned: pruned.clone() });
                }
                let mut more = original.clone();
                more.push(original.last().map_or(0, |last| last + 1000));
                other("tree unknown", Step::Stack { original: more, pruned: pruned.clone() });
                other("stack empty", Step::Stack { original: Vec::new(), pruned: Vec::new() });
                ("stack dropped", "stack doubled")
            }
            Step::System { winner, other: class, slack } => {
                for winner in up_down(*winner) {
                    other("class pair", Step::System { winner, other: *class, slack: *slack });
                }
                for class in up_down(*class) {
                    other("class pair", Step::System { winner: *winner, other: class, slack: *slack });
                }
                other("class pair", Step::System { winner: *class, other: *winner, slack: *slack });
                let flipped = if *slack == Slack::Global { Slack::Local } else { Slack::Global };
                other("slack", Step::System { winner: *winner, other: *class, slack: flipped });
                ("system dropped", "system doubled")
            }
            Step::Lens { multipliers } => {
                for row in 0..multipliers.len() {
                    for value in [0, multipliers[row].wrapping_add(1), u64::MAX] {
                        let mut changed = multipliers.clone();
                        changed[row] = value;
                        other("multiplier", Step::Lens { multipliers: changed });
                    }
                }
                other("rows", Step::Lens { multipliers: multipliers[1..].to_vec() });
                ("lens dropped", "lens doubled")
            }
            Step::Narrow { axis, low, high, lens } => {
                for axis in up_down(*axis) {
                    other("axis", Step::Narrow { axis, low: *low, high: *high, lens: *lens });
                }
                for low in up_down(*low) {
                    other("narrow", Step::Narrow { axis: *axis, low, high: *high, lens: *lens });
                }
                for high in up_down(*high) {
                    other("narrow", Step::Narrow { axis: *axis, low: *low, high, lens: *lens });
                }
                for lens in up_down(*lens) {
                    other("lens", Step::Narrow { axis: *axis, low: *low, high: *high, lens });
                }
                other("narrow empty", Step::Narrow { axis: *axis, low: *high, high: *low, lens: *lens });
                ("narrow dropped", "narrow doubled")
            }
            Step::Close { lens } => {
                up_down(*lens).into_iter().for_each(|lens| other("lens", Step::Close { lens }));
                ("box dropped", "box doubled")
            }
            Step::Split { axis, cell, low_first } => {
                for axis in up_down(*axis) {
                    other("axis", Step::Split { axis, cell: *cell, low_first: *low_first });
                }
                for cell in up_down(*cell) {
                    other("cell", Step::Split { axis: *axis, cell, low_first: *low_first });
                }
                other("first side", Step::Split { axis: *axis, cell: *cell, low_first: !low_first });
                ("split dropped", "split doubled")
            }
            Step::Cells => ("box dropped", "box doubled"),
            Step::Join { row, fixed } => {
                for row in up_down(*row) {
                    other("join row", Step::Join { row, fixed: fixed.clone() });
                }
                other("join of no row", Step::Join { row: 1 << 20, fixed: fixed.clone() });
                let mut more = fixed.clone();
                more.push(1000);
                other("join axis", Step::Join { row: *row, fixed: more });
                for drop in 0..fixed.len() {
                    let mut rest = fixed.clone();
                    rest.remove(drop);
                    other("fixed", Step::Join { row: *row, fixed: rest });
                }
                let next = fixed.last().map_or(0, |last| last + 1);
                other("fixed", Step::Join { row: *row, fixed: [&fixed[..], &[next]].concat() });
                other("box without bound", Step::Close { lens: 0 });
                ("box dropped", "box doubled")
            }
            Step::Meet { first } => {
                let mut more = first.clone();
                more.push(1000);
                other("meet axis", Step::Meet { first: more });
                ("meet dropped", "meet doubled")
            }
            _ => unreachable!("no other step is in these certificates"),
        };
        let mut copy = opened.clone();
        copy.steps.remove(at);
        all.push((dropped, copy));
        let mut copy = opened.clone();
        copy.steps.insert(at, step.clone());
        all.push((doubled, copy));
        if at + 1 < opened.steps.len() && opened.steps[at] != opened.steps[at + 1] {
            let mut copy = opened.clone();
            copy.steps.swap(at, at + 1);
            all.push(("swapped", copy));
        }
    }
    // Whole sections are left out or reordered.
    let starts: Vec<usize> =
        (0..opened.steps.len()).filter(|&at| matches!(opened.steps[at], Step::System { .. })).collect();
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(opened.steps.len());
        let mut copy = opened.clone();
        copy.steps.drain(start..end);
        all.push(("section missing", copy));
        if let Some(&next) = starts.get(index + 1) {
            let after = starts.get(index + 2).copied().unwrap_or(opened.steps.len());
            let mut copy = opened.clone();
            copy.steps[start..after].rotate_left(next - start);
            all.push(("sections reordered", copy));
        }
    }
    all
}

/// Is this claim, with another band or scope, true by its definition?
fn claim_is_true(first: &Ensemble, second: &Ensemble, claim: &Claim) -> bool {
    let [first, second] = [first.within(&claim.domain).unwrap(), second.within(&claim.domain).unwrap()];
    let grid = Grid::new(&[&first, &second]).unwrap();
    let predictor = secateur_model::Predictor::new(&second);
    every_row(&grid).all(|row| {
        let winner = exact_class(&first, &row);
        match claim.band().unwrap() {
            BandClaim::Exact => exact_class(&second, &row) == winner,
            BandClaim::Score(band) => {
                !leads_by_more_than(&first, &row, winner, band)
                    || predictor.classes(&row).unwrap()[0] == winner
            }
        }
    })
}

#[test]
fn every_change_is_refused_or_known_to_be_harmless() {
    // For each kind the number of accepted and of refused changes.
    let mut tally: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let (mut certificates, mut splits, mut cells, mut meets, mut joins) = (0, 0, 0, 0, 0);
    for seed in 0..1200u64 {
        let (first, second) = match seed % 16 {
            0 => common::stump_pair(seed),
            1..5 => joined_pair(seed),
            _ => searched_pair(seed),
        };
        if Grid::new(&[&first, &second]).unwrap().log10_cells() > 2.7 {
            continue;
        }
        let band = if seed % 2 == 0 { Band::Auto } else { Band::Exact };
        let scope = if seed % 3 == 0 { Domain::no_missing() } else { Domain::everything() };
        // Half of the cases have no joins, because joins leave few boxes to split.
        let small_boxes = seed % 16 < 8;
        let options =
            Options { small_boxes, shortcuts: !small_boxes || seed % 16 == 0, ..Options::unlimited() };
        let Some(bytes) = certified_with(&first.within(&scope).unwrap(), &second, band, &options) else {
            continue;
        };
        let opened = Opened::read(&bytes).unwrap();
        assert_eq!(opened.write(), bytes, "reading and writing a certificate changes it");
        let has = |wanted: fn(&Step) -> bool| opened.steps.iter().any(wanted);
        let (split, cell) = (has(|s| matches!(s, Step::Split { .. })), has(|s| *s == Step::Cells));
        let meet = has(|s| matches!(s, Step::Meet { .. }));
        let join = has(|s| matches!(s, Step::Join { .. }));
        let enough = certificates > 6
            && !(split && splits < 6)
            && !(cell && cells < 6)
            && !(meet && meets < 4)
            && !(join && joins < 8);
        if enough || opened.steps.len() > 120 {
            continue;
        }
        certificates += 1;
        splits += u32::from(split);
        cells += u32::from(cell);
        meets += u32::from(meet);
        joins += u32::from(join);
        for (kind, mutant) in mutants(&opened) {
            let slot = tally.entry(kind).or_default();
            match mutant.refusal(&first, &second) {
                Some(_) => slot.1 += 1,
                None => {
                    slot.0 += 1;
                    assert!(HARMLESS.contains(&kind), "seed {seed}: {kind} was accepted");
                    assert!(claim_is_true(&first, &second, &mutant.claim), "seed {seed}: {kind}: false");
                }
            }
        }
    }
    println!(
        "{certificates} certificates, {splits} with splits, {cells} with cells, {meets} with meets, {joins} with joins"
    );
    tally.iter().for_each(|(kind, (accepted, refused))| println!("{kind:20} {accepted:5} {refused:5}"));
    assert!(splits >= 6 && cells >= 6 && meets >= 4 && joins >= 8, "{splits} {cells} {meets} {joins}");
    for kind in HARMLESS {
        assert!(tally.contains_key(kind), "{kind} never happened");
    }
}

#[test]
fn a_proof_of_something_else_never_proves_a_false_claim() {
    // Takes the proofs of a true claim and claims that they are about a pair that differs.
    let (mut tried, mut exact) = (0, 0);
    for seed in 0..900u64 {
        let (first, other) = searched_pair(seed);
        if Grid::new(&[&first, &other]).unwrap().log10_cells() > 3.0 {
            continue;
        }
        let band = if seed % 2 == 0 { Band::Auto } else { Band::Exact };
        let Some(bytes) = certified(&first, &first, band) else { continue };
        let opened = Opened::read(&bytes).unwrap().about(&first, &other);
        if claim_is_true(&first, &other, &opened.claim) {
            continue;
        }
        tried += 1;
        exact += u32::from(band == Band::Exact);
        assert_eq!(opened.claim.pruned, Digest::of(&other));
        assert!(opened.refusal(&first, &other).is_some(), "seed {seed}: a false claim was accepted");
    }
    println!("{tried} false claims, {exact} of exact arithmetic");
    assert!(tried > 150 && exact > 70, "{tried} {exact}: a weak test");
}

#[test]
fn a_certificate_that_is_cut_short_anywhere_is_no_certificate() {
    let mut tried = 0;
    for seed in 0..40 {
        let (first, second) = searched_pair(seed);
        let Some(bytes) = certified(&first, &second, Band::Auto) else { continue };
        for length in 0..bytes.len() {
            let error = Opened::read(&bytes[..length]).expect_err("a part was read as a whole");
            assert_eq!(error.code(), "malformed.truncated", "seed {seed}: {length} of {} bytes", bytes.len());
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(Opened::read(&longer).unwrap_err().code(), "malformed.trailing");
        tried += 1;
    }
    assert!(tried > 5, "{tried}");
}

#[test]
fn a_flipped_bit_is_seen_or_changes_nothing() {
    let (first, second) = common::stump_pair(16);
    let bytes = certified(&first, &second, Band::Auto).unwrap();
    let opened = Opened::read(&bytes).unwrap();
    let mut unseen = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            // Some bits in the last byte of compressed data may have no meaning.
            let Ok(read) = Opened::read(&flipped) else { continue };
            assert_eq!((&read.claim, &read.steps), (&opened.claim, &opened.steps), "byte {at}, bit {bit}");
            unseen += 1;
        }
    }
    assert!(unseen < 8, "{unseen}");
}
