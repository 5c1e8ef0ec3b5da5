//! The rows of every problem hold in a cell exactly where the definition of the claim says so.
//!
//! The test draws random pairs of small models and random claims, and visits every cell of their
//! grid. The judge is a second implementation, written from `docs/spec/certificate-v1.md` and
//! `-v2.md`: it evaluates the two models on an input of the cell in exact fractions, and knows
//! nothing of grids, units, numbered sums or rows. Moreover, every input of the domain, listed
//! without a grid, must agree with some cell in all exact sums. Points, terms of cuts and crossings
//! of lower bounds are judged in the same way.

use std::collections::BTreeSet;

use fastrand::Rng;
use num_bigint::BigInt;
use secateur_certificate::{
    BandClaim, Claim, CutTerm, Digest, Effect, Intercept, OutputRange, Slack, Statement,
};
use secateur_kernel::{Forest, Int, Node, Row};
use secateur_lower::{Lowered, LoweredBounds, Question, Scorer, Subject};
use secateur_model::{
    ClassId, Cut, Decision, Domain, Ensemble, EnsembleBuilder, Exact, FeatureId, GroupId, NumberType, Output,
    twin_rows,
};
use secateur_testkit::{Shape, domain, ensemble, inputs_of, mutate, scored_domain};

/// An exact fraction, as a multiple of `2^-SCALE`: enough for products of any two floats.
const SCALE: i64 = 2200;

fn units(value: &Exact) -> BigInt {
    let shift = value.exponent() + SCALE;
    assert!(shift >= 0, "no product of two floats is finer");
    value.mantissa() << shift as u64
}

fn float(value: f64) -> BigInt {
    units(&Exact::finite(value))
}

/// The exact sums of a model on an input: intercepts, plus weight times leaf of every tree.
fn sums(model: &Ensemble, input: &[f64]) -> Vec<BigInt> {
    let mut sums: Vec<BigInt> = model.intercepts().iter().map(|&value| float(value)).collect();
    for (tree, leaf) in model.trees().iter().zip(leaves(model, input)) {
        let weight = Exact::finite(tree.weight());
        for (at, &value) in tree.leaf(leaf).iter().enumerate() {
            sums[first_sum(tree.output()) + at] += units(&(&weight * &Exact::finite(value)));
        }
    }
    sums
}

fn leaves(model: &Ensemble, input: &[f64]) -> Vec<secateur_model::LeafId> {
    let read = |(column, &value): (usize, &f64)| model.read(FeatureId::new(column), value).unwrap();
    let read: Vec<f64> = input.iter().enumerate().map(read).collect();
    model.leaves(&read).collect()
}

fn first_sum(output: Output) -> usize {
    match output {
        Output::Group(group) => group.index(),
        Output::All => 0,
    }
}

/// The lead of class y over class c, before division, and whether y wins where it is zero.
fn lead(model: &Ensemble, sums: &[BigInt], y: usize, c: usize) -> (BigInt, bool) {
    match *model.decision() {
        Decision::Threshold { group, threshold, strict } => {
            let divisor = Exact::finite(model.accumulation().divisor());
            let above = &sums[group.index()] - units(&(&Exact::finite(threshold) * &divisor));
            if y == 1 { (above, !strict) } else { (-above, strict) }
        }
        _ => (&sums[y] - &sums[c], y < c),
    }
}

/// A number of scores, brought to the scale of leads.
fn in_leads(model: &Ensemble, value: f64) -> BigInt {
    units(&(&Exact::finite(value) * &Exact::finite(model.accumulation().divisor())))
}

/// How far rounding by input may move the lead of y over c on this input.
fn local_rounding(model: &Ensemble, input: &[f64], [y, c]: [usize; 2]) -> BigInt {
    let local = model.local_rounding().unwrap();
    let compared = match *model.decision() {
        Decision::Threshold { group, .. } => vec![group.index()],
        _ => vec![y, c],
    };
    let fixed = compared.iter().map(|&sum| Exact::finite(local.fixed[sum]));
    let fixed = fixed.fold(Exact::finite(local.gap), |total, own| &total + &own);
    let mut rounding = units(&(&fixed * &Exact::finite(model.accumulation().divisor())));
    for (index, (tree, leaf)) in model.trees().iter().zip(leaves(model, input)).enumerate() {
        for (at, &value) in tree.leaf(leaf).iter().enumerate() {
            if compared.contains(&(first_sum(tree.output()) + at)) {
                let value = (&Exact::finite(tree.weight()) * &Exact::finite(value)).abs();
                let part = units(&value) * local.steps[index] * local.factor;
                assert!(
                    (&part % (BigInt::from(1) << local.factor_bits)) == BigInt::ZERO,
                    "finer than the scale"
                );
                rounding += part >> local.factor_bits;
            }
        }
    }
    rounding
}

/// Does this input satisfy the system of this question, by the definition of the claim?
fn satisfied(
    models: [&Ensemble; 2],
    pairs: &[usize],
    claim: &Claim,
    question: Question,
    slack: Slack,
    inputs: [&[f64]; 2],
) -> bool {
    let [a, b] = [0, 1].map(|at: usize| sums(models[at], inputs[at]));
    let in_domain = inputs.iter().all(|input| {
        models[0].domain().wheres().iter().all(|own| {
            let model = own.model().unwrap();
            let sum = &sums(model, input)[own.output() as usize] * own.sign();
            sum >= units(own.needed().unwrap())
        })
    });
    let two = !claim.is_about_one_model();
    let scaled = |sum: &BigInt, model: &Ensemble, value: f64, rounding: f64| {
        // The sum less the value and plus the rounding, both as scores.
        let value = &Exact::finite(value) - &Exact::finite(rounding);
        sum - units(&(&value * &Exact::finite(model.accumulation().divisor())))
    };
    let rounding = |output: usize| models[0].score_rounding().unwrap().scores[output];
    match (&claim.statement, question) {
        (Statement::Range { outputs }, Question::Output { output, below }) => {
            let limits = outputs.iter().find(|own| own.output as usize == output).unwrap();
            let exceeds = match below {
                false => scaled(&a[output], models[0], limits.at_most.unwrap(), rounding(output)),
                true => scaled(&-&a[output], models[0], -limits.at_least.unwrap(), rounding(output)),
            };
            exceeds > BigInt::ZERO && in_domain
        }
        (Statement::Class { .. }, Question::Class { class }) => {
            let slack = in_leads(models[0], models[0].certain_margin().unwrap());
            let others = (0..models[0].classes().len()).filter(|&other| other != class.index());
            let may_win = |other: usize| lead(models[0], &a, class.index(), other).0 >= -&slack;
            others.into_iter().all(may_win) && in_domain
        }
        (
            Statement::Moves { effect: Effect::Rises { falls, .. }, .. },
            Question::Output { output, below },
        ) => {
            assert_eq!(below, !falls);
            if *falls { b[output] > a[output] } else { b[output] < a[output] }
        }
        (
            &Statement::Decisions { band, .. }
            | &Statement::Moves { effect: Effect::Decides { band, .. }, .. },
            Question::Classes { winner, other },
        ) => {
            let (y, c) = (winner.index(), other.index());
            let a_leads = (0..models[0].classes().len()).filter(|&class| class != y).all(|class| {
                let (lead, wins_ties) = lead(models[0], &a, y, class);
                match band {
                    BandClaim::Exact => lead > BigInt::ZERO || lead == BigInt::ZERO && wins_ties,
                    BandClaim::Score(band) => lead > in_leads(models[0], band),
                }
            });
            let (lead, wins_ties) = lead(models[1], &b, pairs[y], pairs[c]);
            let b_fails = match (band, slack) {
                (BandClaim::Exact, _) => lead < BigInt::ZERO || lead == BigInt::ZERO && !wins_ties,
                (BandClaim::Score(_), Slack::Global) => {
                    lead <= in_leads(models[1], models[1].certain_margin().unwrap())
                }
                (BandClaim::Score(_), Slack::Local) => {
                    lead <= local_rounding(models[1], inputs[1], [pairs[y], pairs[c]])
                }
            };
            a_leads && b_fails && in_domain
        }
        (
            &Statement::Scores { within } | &Statement::Moves { effect: Effect::Apart { within }, .. },
            Question::Output { output, below },
        ) => {
            // `S_B / d_B - S_A / d_A > within - r_A - r_B`, times both divisors, or with A and B
            // exchanged.
            let divisors = models.map(|model| Exact::finite(model.accumulation().divisor()));
            let own = |sum: &BigInt, divisor: &Exact| {
                let divisor = divisor.to_f64() as i64;
                sum * divisor
            };
            let apart = own(&b[output], &divisors[0]) - own(&a[output], &divisors[1]);
            let apart = if below { -apart } else { apart };
            let same = two && claim.original == claim.pruned && !models[0].scores_vary();
            let rounding = models.map(|model| Exact::finite(model.score_rounding().unwrap().scores[output]));
            let free = if same { Exact::zero() } else { &rounding[0] + &rounding[1] };
            let limit = &Exact::finite(within) - &free;
            apart > units(&(&limit * &(&divisors[0] * &divisors[1]))) && in_domain
        }
        _ => unreachable!("questions are those of the claim"),
    }
}

fn wide(value: &Int) -> BigInt {
    let bytes: Vec<u8> = value.to_words().iter().flat_map(|word| word.to_le_bytes()).collect();
    BigInt::from_signed_bytes_le(&bytes)
}

/// Do all rows hold in a cell?
fn hold(forest: &Forest, rows: &[Row], cell: &[u32]) -> bool {
    let mut sums = vec![BigInt::ZERO; forest.sums() as usize];
    for tree in forest.trees() {
        let mut at = 0;
        loop {
            match &tree.nodes[at as usize] {
                Node::Split { axis, cells, yes, no } => {
                    let own = cell[*axis as usize];
                    at = if cells.iter().any(|&(from, to)| (from..to).contains(&own)) { *yes } else { *no };
                }
                Node::Leaf(added) => {
                    added.iter().for_each(|(sum, value)| sums[*sum as usize] += wide(value));
                    break;
                }
            }
        }
    }
    rows.iter().all(|row| {
        let combined: BigInt = row.terms.iter().map(|&(sum, factor)| &sums[sum as usize] * factor).sum();
        combined >= wide(&row.bound)
    })
}

/// All cells of a grid with these numbers of cells.
fn every_cell(sizes: &[u32]) -> Vec<Vec<u32>> {
    sizes.iter().fold(vec![Vec::new()], |cells, &size| {
        cells.iter().flat_map(|cell| (0..size).map(move |next| [&cell[..], &[next]].concat())).collect()
    })
}

fn digest(model: &Ensemble) -> [u8; 32] {
    Digest::of(model).0
}

/// A random claim about two models.
fn claim(rng: &mut Rng, a: &Ensemble, b: &Ensemble) -> Claim {
    let domain = match rng.u32(0..5) {
        0 => domain(rng, a),
        1 => scored_domain(rng, a, &digest),
        2 => Domain::no_missing(),
        _ => Domain::everything(),
    };
    let statement = if !a.decision().is_classifier() || rng.u32(0..3) == 0 {
        Statement::Scores { within: *rng.choice(&[0.0, 1e-7, 0.1, 1.0, 3.0]).unwrap() }
    } else {
        let band = match a.certain_margin() {
            Some(margin) if rng.bool() => BandClaim::Score(margin * *rng.choice(&[1.0, 1.0, 4.0]).unwrap()),
            Some(_) if rng.bool() => BandClaim::Score(*rng.choice(&[0.25, 0.5, 1.0]).unwrap()),
            _ => BandClaim::Exact,
        };
        let threshold = matches!(a.decision(), Decision::Threshold { .. });
        let cut = |rng: &mut Rng| Cut { score: f64::from(rng.i32(-4..=4)) * 0.25, gap: 1e-9 };
        let cuts = (threshold && band == BandClaim::Exact && rng.bool()).then(|| [cut(rng), cut(rng)]);
        Statement::Decisions { band, local_rounding: band != BandClaim::Exact && rng.bool(), cuts }
    };
    Claim { original: Digest::of(a), pruned: Digest::of(b), statement, domain }
}

#[test]
fn rows_hold_exactly_where_the_definition_says_so() {
    let (mut problems, mut held, mut failed, mut inputs) = (0, 0, 0, 0);
    // Claims about exact sums, with a band, with rounding by input, at cuts, about scores, with a
    // domain, with scores of others.
    let mut kinds = [0; 7];
    for seed in 0..1000 {
        let mut rng = Rng::with_seed(seed);
        let mut shape = Shape::any(&mut rng);
        if rng.u32(0..6) == 0 {
            shape.classes = 2;
            shape.decision = Decision::Threshold { group: GroupId(0), threshold: 0.5, strict: rng.bool() };
        }
        let a = ensemble(&mut rng, &shape);
        let b = match rng.u32(0..4) {
            0 => a.clone(),
            1 => ensemble(&mut rng, &shape),
            _ => mutate(&mut rng, &a),
        };
        let claim = claim(&mut rng, &a, &b);
        let scorers = Scorer::of(&claim.domain);
        let Ok(subject) = Subject::new(&a, &b, &scorers, &claim) else { continue };
        let Ok(matched) = subject.matched(&claim) else { continue };
        let Ok(pair) = matched.pair(&claim) else { continue };
        let Ok(Some(lowered)) = Lowered::new(&pair, &|| false) else { continue };
        let cells = every_cell(lowered.forest().axes());
        if cells.len() > 400 {
            continue;
        }
        let (local, decisions) = match claim.statement {
            Statement::Decisions { band, local_rounding, cuts } => {
                kinds[usize::from(band != BandClaim::Exact)] += 1;
                kinds[2] += usize::from(local_rounding);
                kinds[3] += usize::from(cuts.is_some());
                (local_rounding, true)
            }
            Statement::Scores { .. } => {
                kinds[4] += 1;
                (false, false)
            }
            ref other => unreachable!("no such claim is drawn: {other:?}"),
        };
        kinds[5] += usize::from(claim.domain.columns().next().is_some() || !claim.domain.groups().is_empty());
        kinds[6] += usize::from(!claim.domain.wheres().is_empty());
        let classes = decisions.then(|| secateur_lower::match_classes(&a, &b).unwrap());
        let pairs: Vec<usize> = classes.into_iter().flatten().map(|class| class.index()).collect();
        let models = pair.models();
        let slacks: &[Slack] = if local { &[Slack::Global, Slack::Local] } else { &[Slack::Global] };
        let witnesses: Vec<Vec<f64>> = cells.iter().map(|cell| lowered.input(cell)).collect();
        for question in (0..pair.systems()).map(|index| pair.question(index).unwrap()) {
            for &slack in slacks {
                let rows = lowered.rows(question, slack).unwrap();
                problems += 1;
                for (cell, input) in cells.iter().zip(&witnesses) {
                    let expected = satisfied(models, &pairs, &claim, question, slack, [input, input]);
                    let found = hold(lowered.forest(), &rows, cell);
                    assert_eq!(found, expected, "seed {seed}: {question:?} {slack:?} at {input:?}");
                    *if found { &mut held } else { &mut failed } += 1;
                }
            }
        }
        // Every input of the domain is in a cell: all sums of both models are those of some cell.
        let all_sums = |input: &Vec<f64>| models.map(|model| sums(model, input));
        let known: BTreeSet<_> = witnesses.iter().map(all_sums).collect();
        for input in inputs_of(&claim.domain, &[&a, &b], 3000).into_iter().flatten() {
            inputs += 1;
            assert!(known.contains(&all_sums(&input)), "seed {seed}: no cell for {input:?}");
        }
    }
    println!("{problems} problems, {held} cells held, {failed} did not, {inputs} inputs, {kinds:?}");
    assert!(problems > 5_000 && held > 10_000 && failed > 100_000 && inputs > 10_000, "a weak test");
    assert!(kinds.iter().all(|&count| count > 15), "{kinds:?}: a weak test");
}

/// A random claim about one model.
fn claim_about_one(rng: &mut Rng, a: &Ensemble) -> Claim {
    let outputs = a.group_count() as u32;
    let limit = |rng: &mut Rng| f64::from(rng.i32(-6..=6)) * 0.5 + *rng.choice(&[0.0, 1e-7]).unwrap();
    let mut columns: Vec<FeatureId> = (0..a.features().len()).map(FeatureId::new).collect();
    columns.retain(|_| rng.bool());
    if columns.is_empty() {
        columns.push(FeatureId(0));
    }
    let statement = match rng.u32(0..5) {
        0 => {
            let one =
                |output: u32| OutputRange { output, at_least: Some(limit(rng)), at_most: Some(limit(rng)) };
            Statement::Range { outputs: (0..outputs).map(one).collect() }
        }
        1 => {
            let mut allowed: Vec<ClassId> = a.classes().ids().collect();
            // A model without classes has none to leave out; its claim is refused.
            if !allowed.is_empty() {
                allowed.remove(rng.usize(0..allowed.len()));
            }
            Statement::Class { allowed, cut: None, near: None }
        }
        2 => {
            let effect = Effect::Rises { output: rng.u32(0..outputs), falls: rng.bool(), bits: false };
            Statement::Moves { columns: vec![FeatureId(rng.u32(0..a.features().len() as u32))], effect }
        }
        3 => {
            let band = match a.certain_margin() {
                Some(margin) if rng.bool() => BandClaim::Score(margin),
                _ => BandClaim::Exact,
            };
            let local_rounding = band != BandClaim::Exact && rng.bool();
            Statement::Moves { columns, effect: Effect::Decides { band, local_rounding } }
        }
        _ => Statement::Moves { columns, effect: Effect::Apart { within: limit(rng).abs() } },
    };
    let own = Digest::of(a);
    Claim { statement, original: own, pruned: own, ..claim(rng, a, a) }
}

/// The same for claims about one model. Two inputs that differ in the moved columns are judged by the
/// model itself on each of them, which knows nothing of twins; and every such pair of inputs of the
/// domain is in some cell.
#[test]
fn rows_about_one_model_hold_exactly_where_the_definition_says_so() {
    let (mut problems, mut held, mut failed, mut inputs) = (0, 0, 0, 0);
    // Ranges, classes, rising scores, moves that keep decisions, and moves that change scores; with a
    // domain, and with scores of others.
    let mut kinds = [0; 7];
    for seed in 0..2000 {
        let mut rng = Rng::with_seed(seed);
        let mut shape = Shape::any(&mut rng);
        shape.features = shape.features.min(3);
        shape.categorical = shape.categorical.min(shape.features);
        let a = ensemble(&mut rng, &shape);
        if matches!(a.decision(), Decision::Scores(_)) && a.classes().ids().count() == 0 && rng.bool() {
            continue;
        }
        let claim = claim_about_one(&mut rng, &a);
        let scorers = Scorer::of(&claim.domain);
        let Ok(subject) = Subject::new(&a, &a, &scorers, &claim) else { continue };
        let Ok(matched) = subject.matched(&claim) else { continue };
        let Ok(pair) = matched.pair(&claim) else { continue };
        let Ok(Some(lowered)) = Lowered::new(&pair, &|| false) else { continue };
        let cells = every_cell(lowered.forest().axes());
        if cells.len() > 600 {
            continue;
        }
        let (moved, free, local): (&[FeatureId], bool, bool) = match &claim.statement {
            Statement::Range { .. } => (&[], false, false),
            Statement::Class { .. } => (&[], false, false),
            Statement::Moves { columns, effect } => (
                columns,
                !matches!(effect, Effect::Rises { .. }),
                matches!(effect, Effect::Decides { local_rounding: true, .. }),
            ),
            other => unreachable!("no such claim is drawn: {other:?}"),
        };
        kinds[match &claim.statement {
            Statement::Range { .. } => 0,
            Statement::Class { .. } => 1,
            Statement::Moves { effect: Effect::Rises { .. }, .. } => 2,
            Statement::Moves { effect: Effect::Decides { .. }, .. } => 3,
            _ => 4,
        }] += 1;
        kinds[5] += usize::from(claim.domain.columns().next().is_some() || !claim.domain.groups().is_empty());
        kinds[6] += usize::from(!claim.domain.wheres().is_empty());
        let base = a.within(&claim.domain).unwrap();
        let models = [&*base, &*base];
        let identity: Vec<usize> = (0..a.classes().len()).collect();
        let slacks: &[Slack] = if local { &[Slack::Global, Slack::Local] } else { &[Slack::Global] };
        let rows_of = |input: &[f64]| match moved.is_empty() {
            true => [input.to_vec(), input.to_vec()],
            false => twin_rows(input, moved),
        };
        let witnesses: Vec<[Vec<f64>; 2]> = cells.iter().map(|cell| rows_of(&lowered.input(cell))).collect();
        for question in (0..pair.systems()).map(|index| pair.question(index).unwrap()) {
            for &slack in slacks {
                let rows = lowered.rows(question, slack).unwrap();
                problems += 1;
                for (cell, [first, second]) in cells.iter().zip(&witnesses) {
                    let expected = satisfied(models, &identity, &claim, question, slack, [first, second]);
                    let found = hold(lowered.forest(), &rows, cell);
                    assert_eq!(
                        found, expected,
                        "seed {seed}: {question:?} {slack:?} at {first:?} {second:?}"
                    );
                    *if found { &mut held } else { &mut failed } += 1;
                }
            }
        }
        let all_sums = |[first, second]: [&Vec<f64>; 2]| [first, second].map(|row| sums(&a, row));
        let known: BTreeSet<_> = witnesses.iter().map(|[first, second]| all_sums([first, second])).collect();
        let of_domain: Vec<Vec<f64>> = inputs_of(&claim.domain, &[&a], 150).unwrap_or_default();
        for first in of_domain.iter().filter(|_| moved.is_empty() || free) {
            for second in &of_domain {
                let same = |at: usize| first[at].to_bits() == second[at].to_bits();
                let mut others = (0..first.len()).filter(|&at| !moved.contains(&FeatureId::new(at)));
                if others.all(same) {
                    inputs += 1;
                    let found = known.contains(&all_sums([first, second]));
                    assert!(found, "seed {seed}: no cell for {first:?} and {second:?}");
                }
            }
        }
    }
    println!("{problems} problems, {held} cells held, {failed} did not, {inputs} inputs, {kinds:?}");
    assert!(problems > 1_000 && held > 10_000 && failed > 10_000 && inputs > 10_000, "a weak test");
    assert!(kinds.iter().all(|&count| count > 15), "{kinds:?}: a weak test");
}

/// Is this row an input of the claim: accepted by all models, in the domain, and of f32 numbers
/// where the models read different number types?
fn is_input(models: [&Ensemble; 2], domain: &Domain, row: &[f64]) -> bool {
    let all: Vec<&Ensemble> = models.into_iter().chain(domain.scorers()).collect();
    let mixed = all.iter().any(|model| model.intake().number != all[0].intake().number);
    let single = |&value: &f64| value.is_nan() || NumberType::F32.round(value) == value;
    row.len() == models[0].features().len()
        && all.iter().all(|model| model.for_every_input().accepts(row))
        && domain.contains(row)
        && (!mixed || row.iter().all(single))
}

/// The class by which the original leads over every other by more than the band, on an input.
fn winner(original: &Ensemble, band: BandClaim, row: &[f64]) -> Option<usize> {
    let sums = sums(original, row);
    let needed = match band {
        BandClaim::Exact => BigInt::ZERO,
        BandClaim::Score(band) => in_leads(original, band),
    };
    let classes = 0..original.classes().len();
    let leads = |y: usize| classes.clone().all(|c| c == y || lead(original, &sums, y, c).0 > needed);
    classes.clone().find(|&class| leads(class))
}

/// The lead of y over c of a sum of trees, without constants.
fn lead_of_trees(original: &Ensemble, trees: &[u32], row: &[f64], [y, c]: [usize; 2]) -> BigInt {
    let mut sums = vec![BigInt::ZERO; original.intercepts().len()];
    let reached: Vec<_> = leaves(original, row);
    for &tree in trees {
        let own = &original.trees()[tree as usize];
        for (at, &value) in own.leaf(reached[tree as usize]).iter().enumerate() {
            sums[first_sum(own.output()) + at] +=
                units(&(&Exact::finite(own.weight()) * &Exact::finite(value)));
        }
    }
    signs(original, [y, c]).iter().zip(&sums).map(|(sign, sum)| sum * sign).sum()
}

/// The sign of each sum in the lead of y over c.
fn signs(original: &Ensemble, [y, c]: [usize; 2]) -> Vec<i32> {
    let mut signs = vec![0; original.intercepts().len()];
    match *original.decision() {
        Decision::Threshold { group, .. } => signs[group.index()] = if y == 1 { 1 } else { -1 },
        _ => (signs[y], signs[c]) = (1, -1),
    }
    signs
}

/// Numbers of a certificate's bounds have a unit of their own for each kind; it has to be the same
/// power of two in all terms.
#[derive(Default)]
struct Unit(Option<u64>);

impl Unit {
    fn assert_same(&mut self, found: &Int, expected: &BigInt, what: &str) {
        let found = wide(found);
        assert_eq!(found.sign(), expected.sign(), "{what}");
        if let (Some(own), Some(whole)) = (found.trailing_zeros(), expected.trailing_zeros()) {
            let unit = *self.0.get_or_insert_with(|| whole.checked_sub(own).expect("a finer unit"));
            assert_eq!(&(found << unit), expected, "{what}");
        }
    }
}

/// The same trees, and no intercepts.
fn without_intercepts(model: &Ensemble) -> Ensemble {
    let mut builder = EnsembleBuilder::new(
        model.features().clone(),
        *model.intake(),
        model.classes().clone(),
        vec![0.0; model.intercepts().len()],
        *model.accumulation(),
        *model.decision(),
    )
    .unwrap();
    for tree in model.trees() {
        builder.finished_tree(tree.clone()).unwrap();
    }
    builder.build()
}

/// A row of the domain, or one with other values in a column, or with too many or few of them.
fn some_row(rng: &mut Rng, known: &[Vec<f64>], width: usize) -> Vec<f64> {
    let mut row = rng.choice(known).cloned().unwrap_or_else(|| vec![0.0; width]);
    let value = |rng: &mut Rng, value: f64| {
        let others = [value.next_up(), value.next_down(), f64::from(value as f32), f64::NAN, 0.1, 1.0, 1e300];
        *rng.choice(&[&others[..], &[f64::INFINITY, f64::NEG_INFINITY, -0.0]].concat()).unwrap()
    };
    for _ in 0..rng.usize(0..3) {
        let at = rng.usize(0..width);
        row[at] = value(rng, row[at]);
    }
    match rng.u32(0..30) {
        0 => row.push(0.0),
        1 => drop(row.pop()),
        _ => {}
    }
    row
}

#[test]
fn bounds_say_exactly_what_their_definition_says() {
    let (mut points, mut outside, mut accepted, mut refused) = (0, 0, 0, 0);
    let (mut crossings, mut none, mut intercepts, mut mixed) = (0, 0, [0; 4], 0);
    for seed in 0..600 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        let mut a = ensemble(&mut rng, &shape);
        if rng.u32(0..4) == 0 {
            a = without_intercepts(&a);
        }
        let mut other = shape.clone();
        for part in [&mut other.intake.missing, &mut other.intake.infinities] {
            *part ^= rng.u32(0..4) == 0;
        }
        if rng.u32(0..3) == 0 {
            other.intake.number =
                if shape.intake.number == NumberType::F32 { NumberType::F64 } else { NumberType::F32 };
        }
        let b = ensemble(&mut rng, &other);
        let mut claim = claim(&mut rng, &a, &b);
        let band = match claim.band() {
            Some(band) => band,
            None => BandClaim::Exact,
        };
        claim.statement = Statement::Decisions { band, local_rounding: false, cuts: claim.cuts() };
        let scorers = Scorer::of(&claim.domain);
        let Ok(subject) = Subject::new(&a, &b, &scorers, &claim) else { continue };
        let Ok(matched) = subject.matched(&claim) else { continue };
        let Ok(pair) = matched.pair(&claim) else { continue };
        if !matches!(Lowered::new(&pair, &|| false), Ok(Some(_))) {
            continue;
        }
        let models = pair.models();
        let width = a.features().len();
        let known = inputs_of(&claim.domain, &[&a, &b], 2000).unwrap_or_default();
        let mut bounds = LoweredBounds::new(&pair);
        let mut rows = Vec::new();
        for _ in 0..20 {
            let row = some_row(&mut rng, &known, width);
            let expected = is_input(models, &claim.domain, &row);
            let found = bounds.add_point(&row, usize::MAX);
            assert_eq!(found.is_ok(), expected, "seed {seed}: {row:?}: {found:?}");
            *if expected { &mut points } else { &mut outside } += 1;
            if expected {
                rows.push(row);
            }
        }
        mixed += usize::from(models[0].intake().number != models[1].intake().number);

        // Columns: every tree in one, some without any.
        let start = models[0].intercepts().iter().any(|&value| value != 0.0);
        let kind = if start { rng.usize(1..4) } else { rng.usize(0..4) };
        let intercept = [Intercept::None, Intercept::Scaled, Intercept::Free, Intercept::Counted][kind];
        intercepts[kind] += 1;
        let count = rng.usize(1..=4);
        let mut columns = vec![Vec::new(); count];
        (0..a.trees().len() as u32).for_each(|tree| columns[rng.usize(0..count)].push(tree));
        assert!(!start || bounds.set_columns(Intercept::None, columns.clone()).is_err());
        bounds.set_columns(intercept, columns.clone()).unwrap();
        let family = bounds.family().unwrap();
        let balanced = if kind >= 2 { a.intercepts().len() } else { 0 };
        assert_eq!((family.columns, family.at_most), (count, 1 + usize::from(kind == 1)));
        assert_eq!((family.balanced, family.counted), (balanced, kind == 3));

        let mut in_columns = Unit::default();
        let mut in_constants = [Unit::default(), Unit::default()];
        let classes = models[0].classes().len();
        for (point, row) in rows.iter().enumerate() {
            let leads = winner(models[0], band, row);
            for y in 0..=classes {
                for c in 0..=classes {
                    let multiplier = rng.u32(0..4).into();
                    let expected = leads == Some(y) && y != c && c < classes && multiplier != 0u32.into();
                    let [winner, other] = [y, c].map(|class| class as u32);
                    let term = CutTerm { point: point as u32, winner, other, multiplier };
                    let found = bounds.term(&term);
                    assert_eq!(found.is_ok(), expected, "seed {seed}: {term:?}: {found:?}");
                    let Ok(Some(found)) = found else {
                        refused += 1;
                        continue;
                    };
                    accepted += 1;
                    let what = format!("seed {seed}: {term:?} with {intercept:?} at {row:?}");
                    assert_eq!(wide(&found.multiplier), term.multiplier.into());
                    assert_eq!(found.columns.len(), count);
                    for (number, trees) in found.columns.iter().zip(&columns) {
                        in_columns.assert_same(number, &lead_of_trees(models[0], trees, row, [y, c]), &what);
                    }
                    // The lead where all sums are zero is its constant.
                    let zeros = vec![BigInt::ZERO; a.intercepts().len()];
                    let constant = lead(models[0], &zeros, y, c).0;
                    let signs = signs(models[0], [y, c]);
                    let starts = models[0].intercepts().iter().zip(&signs);
                    let start: BigInt = starts.map(|(&value, sign)| float(value) * sign).sum();
                    assert_eq!(found.at_most.len(), family.at_most);
                    let expected = [constant, start];
                    for ((unit, number), expected) in
                        in_constants.iter_mut().zip(&found.at_most).zip(&expected)
                    {
                        unit.assert_same(number, expected, &what);
                    }
                    let found: Vec<BigInt> = found.balanced.iter().map(wide).collect();
                    let expected = if balanced > 0 { signs } else { Vec::new() };
                    assert_eq!(found, expected.into_iter().map(BigInt::from).collect::<Vec<_>>(), "{what}");
                }
            }
            // Positions are in the order of the values.
            let mut positions: Vec<(f64, u64)> = Vec::new();
            for _ in 0..12 {
                let at = rng.usize(0..=width);
                let [low, high] =
                    [0, 1].map(|_| some_row(&mut rng, &rows, width).get(at).copied().unwrap_or(0.5));
                let found = bounds.crossing(point as u32, at as u32, low, high);
                let read = [low, high].map(|value| models[0].intake().read(value));
                let ascend = matches!(read, [Some(low), Some(high)] if low < high);
                let numeric = at < width && models[0].features().categories(FeatureId::new(at)).is_none();
                let with = |value: f64| {
                    let mut row = row.clone();
                    row[at] = value;
                    is_input(models, &claim.domain, &row).then(|| winner(models[0], band, &row))?
                };
                let differ =
                    || matches!([low, high].map(with), [Some(first), Some(second)] if first != second);
                let expected = numeric && ascend && differ();
                assert_eq!(
                    found.is_ok(),
                    expected,
                    "seed {seed}: {row:?}, {at}: {low:?} {high:?}: {found:?}"
                );
                *if expected { &mut crossings } else { &mut none } += 1;
                if let Ok(found) = found {
                    assert_eq!((found.column as usize, found.values.map(Some)), (at, read));
                    positions.extend([(found.values[0], found.low), (found.values[1], found.high)]);
                }
            }
            for (value, position) in &positions {
                for (other, place) in &positions {
                    assert_eq!(value.partial_cmp(other), Some(position.cmp(place)), "{value:?} {other:?}");
                }
            }
        }
    }
    println!(
        "{points} points, {outside} refused; {accepted} terms, {refused} refused; {crossings} crossings, {none} refused; \
         {intercepts:?} families, {mixed} pairs of two number types"
    );
    assert!(points > 1000 && outside > 1000 && accepted > 1000 && refused > 10_000, "a weak test");
    assert!(crossings > 200 && none > 1000 && mixed > 20, "a weak test");
    assert!(intercepts.iter().all(|&count| count > 10), "a weak test");
}
