//! Claims about the inputs of a domain, judged by their definition on every input of it.

use crate::common::{self, Opened};
use fastrand::Rng;
use secateur_certificate::{Digest, Domain};
use secateur_checker::{Scorer, Verdict, domain_not_covered};
use secateur_model::{
    Column, Ensemble, FeatureId, Grid, GridError, Group, GroupKind, Predictor, Side, Where,
};
use secateur_oracle::{Band, Comparison, Options, Verdict as Compared, exact_class};
use secateur_testkit::{
    Shape, domain, ensemble, every_row, inputs_of, leads_by_more_than, mutate, scored_domain,
};

/// Does the claim hold on a row, by its definition?
fn holds(models: [&Ensemble; 2], predictor: &Predictor<'_>, row: &[f64], band: Band) -> bool {
    let winner = exact_class(models[0], row);
    match band {
        Band::Exact => exact_class(models[1], row) == winner,
        _ => {
            let band = models[0].certain_margin().unwrap();
            !leads_by_more_than(models[0], row, winner, band) || predictor.classes(row).unwrap()[0] == winner
        }
    }
}

fn pair(rng: &mut Rng) -> [Ensemble; 2] {
    let mut shape = Shape::random(rng);
    shape.features = rng.u32(2..=4);
    shape.categorical = shape.categorical.min(shape.features);
    let first = ensemble(rng, &shape);
    let mut second = mutate(rng, &first);
    if rng.bool() {
        second = mutate(rng, &second);
    }
    [first, second]
}

/// A larger domain, made by removing a part of this one.
fn larger(rng: &mut Rng, domain: &Domain) -> Domain {
    let mut columns: Vec<_> = domain.columns().map(|(at, column)| (at, column.clone())).collect();
    let mut groups = domain.groups().to_vec();
    let mut missing = domain.missing();
    match rng.usize(0..columns.len() + groups.len() + 1) {
        at if at < columns.len() => columns[at].1 = Column::default(),
        at if at < columns.len() + groups.len() => {
            let gone = groups.remove(at - columns.len());
            // Values that were missing from the group's rows are allowed now.
            columns.extend(gone.columns.iter().map(|&column| (column, Column::default())));
        }
        _ => missing = true,
    }
    Domain::new(missing, columns, groups).unwrap()
}

/// The domain with one field changed, each in turn: wider, narrower or elsewhere.
fn changed(domain: &Domain, width: usize) -> Vec<Domain> {
    let columns: Vec<_> = domain.columns().map(|(at, column)| (at, column.clone())).collect();
    let groups = domain.groups().to_vec();
    let mut all = vec![Domain::new(!domain.missing(), columns.clone(), groups.clone())];
    for at in 0..columns.len() {
        let mut column = |change: &dyn Fn(&mut Column)| {
            let mut copy = columns.clone();
            change(&mut copy[at].1);
            all.push(Domain::new(domain.missing(), copy, groups.clone()));
        };
        column(&|own| own.missing = !own.missing);
        column(&|own| own.min = own.min.map(|min| min - 1.5));
        column(&|own| own.max = own.max.map(|max| max + 1.5));
        column(&|own| (own.min, own.max) = (None, None));
        column(&|own| own.whole = !own.whole);
        column(&|own| own.f32_only = !own.f32_only);
        column(&|own| own.values.iter_mut().for_each(|values| values.extend([-1.0, 0.5, 2.0])));
        column(&|own| own.values = None);
        for other in 0..width {
            let mut copy = columns.clone();
            copy[at].0 = FeatureId::new(other);
            all.push(Domain::new(domain.missing(), copy, groups.clone()));
        }
    }
    for at in 0..groups.len() {
        let mut group = |change: &dyn Fn(&mut Group)| {
            let mut copy = groups.clone();
            change(&mut copy[at]);
            all.push(Domain::new(domain.missing(), columns.clone(), copy));
        };
        group(&|own| own.columns.reverse());
        group(&|own| {
            own.columns.pop();
        });
        for kind in [GroupKind::Ordered, GroupKind::OneHot { none: true }, GroupKind::OneHot { none: false }]
        {
            group(&|own| own.kind = kind.clone());
        }
        group(&|own| {
            if let GroupKind::Table(rows) = &mut own.kind {
                rows.push(vec![0.5; own.columns.len()]);
                rows.push(vec![1.0; own.columns.len()]);
            }
        });
        group(&|own| {
            if let GroupKind::Table(rows) = &mut own.kind {
                rows.pop();
            }
        });
    }
    all.into_iter().flatten().filter(|other| other != domain).collect()
}

/// Asks for a proof of a claim whose truth is known. Returns whether the claim was refuted, and the
/// certificate. A counterexample has to lie in the domain, and so has the one that was moved nearer
/// to other inputs of the domain. `None` if the last bits, in an order of addition that is not
/// fixed, decide.
fn known_truth(
    comparison: &Comparison<'_>,
    drawn: &Domain,
    rows: &[Vec<f64>],
    true_there: bool,
    seed: u64,
) -> Option<(bool, Option<Vec<u8>>)> {
    let (compared, certificate) = comparison.certify(&Options::unlimited(), Vec::new()).unwrap();
    let certificate = certificate.map(|certificate| certificate.finish(true).unwrap());
    match &compared.verdict {
        Compared::Identical => {
            assert!(true_there, "seed {seed}: a false claim was proved: {drawn:?}");
            Some((false, certificate))
        }
        Compared::Different(example) => {
            assert!(!true_there, "seed {seed}: a true claim was refuted: {drawn:?}");
            assert!(drawn.contains(&example.row), "seed {seed}: {:?} is outside", example.row);
            let data: Vec<f64> = rows.iter().take(8).flatten().copied().collect();
            if let Some((near, ..)) = comparison.nearest(example, &data) {
                assert!(drawn.contains(&near.row), "seed {seed}: {:?} is outside", near.row);
            }
            Some((true, certificate))
        }
        Compared::Undecided(_) => None,
    }
}

#[test]
fn every_field_of_a_domain_matters() {
    let (mut certificates, mut accepted, mut refused, mut lies) = (0, 0, 0, 0);
    for seed in 10_000..20_000u64 {
        let mut rng = Rng::with_seed(seed);
        let [first, second] = pair(&mut rng);
        let drawn = domain(&mut rng, &first);
        let narrow = first.within(&drawn).unwrap();
        if !Grid::new(&[&narrow, &second]).is_ok_and(|grid| grid.log10_cells() <= 2.0) || first == second {
            continue;
        }
        let whole = Grid::new(&[&first, &second]).unwrap();
        // If the models differ nowhere, no domain is too large.
        if every_row(&whole).all(|row| exact_class(&first, &row) == exact_class(&second, &row)) {
            continue;
        }
        let Some(bytes) = common::certified(&narrow, &second, Band::Exact) else { continue };
        let opened = Opened::read(&bytes).unwrap();
        certificates += 1;
        for other in changed(&opened.claim.domain, first.features().len()) {
            let Some(rows) = inputs_of(&other, &[&first, &second], 4_000) else { continue };
            let holds = rows.iter().all(|row| exact_class(&first, row) == exact_class(&second, row));
            let mut mutant = opened.clone();
            mutant.claim.domain = other;
            let valid = mutant.refusal(&first, &second).is_none();
            assert!(holds || !valid, "seed {seed}: a false claim passes: {:?}", mutant.claim.domain);
            accepted += u32::from(valid);
            refused += u32::from(!valid);
            lies += u32::from(!holds);
        }
        if certificates == 300 {
            break;
        }
    }
    println!("{certificates} certificates: {accepted} changes accepted, {refused} refused, {lies} false");
    assert!(certificates > 150 && accepted > 100 && lies > 150, "a weak test");
}

#[test]
fn a_domain_is_proved_and_checked_for_its_inputs_alone() {
    let (mut proved, mut refuted, mut only_there, mut widened) = (0, 0, 0, 0);
    for seed in 0..1600u64 {
        let mut rng = Rng::with_seed(seed);
        let [first, second] = pair(&mut rng);
        let drawn = domain(&mut rng, &first);
        let band = if rng.bool() { Band::Exact } else { Band::Auto };
        let narrow = first.within(&drawn).unwrap();
        match Grid::new(&[&narrow, &second]) {
            Ok(grid) if grid.log10_cells() <= 2.5 => {}
            Ok(_) | Err(GridError::Domain(_)) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        }
        let Ok(comparison) = Comparison::new(&narrow, &second, band) else { continue };
        let claimed = comparison.domain();
        let Some(rows) = inputs_of(&claimed, &[&first, &second], 4_000) else { continue };
        let predictor = Predictor::new(&second);
        let wrong = |row: &Vec<f64>| !holds([&first, &second], &predictor, row, band);
        let true_there = !rows.iter().any(wrong);
        let true_everywhere = !every_row(&Grid::new(&[&first, &second]).unwrap()).any(|row| wrong(&row));
        only_there += u32::from(true_there && !true_everywhere);
        let Some((found, certificate)) = known_truth(&comparison, &drawn, &rows, true_there, seed) else {
            continue;
        };
        refuted += u32::from(found);
        let Some(bytes) = certificate else { continue };
        assert_eq!(
            bytes.starts_with(b"secateur certificate 2\n"),
            claimed.columns().next().is_some() || !claimed.groups().is_empty()
        );
        let mut opened = Opened::read(&bytes).unwrap();
        assert_eq!(opened.claim.domain, claimed, "seed {seed}");
        // The inputs that the caller's models are set up for do not matter.
        for models in [[&first, &second], [&*narrow, &second]] {
            let verdict = opened.verdict(models[0], models[1]);
            assert!(matches!(verdict, Verdict::Valid(_)), "seed {seed}: {verdict:?}");
        }
        proved += 1;
        // The proof for a smaller domain does not prove the claim for a larger one in which it
        // fails.
        for _ in 0..3 {
            let wide = larger(&mut rng, &claimed);
            assert_eq!(
                domain_not_covered(&wide, false, &claimed, &first),
                None,
                "seed {seed}: {wide:?} {claimed:?}"
            );
            let Some(rows) = inputs_of(&wide, &[&first, &second], 20_000) else { continue };
            let true_there = !rows.iter().any(wrong);
            opened.claim.domain = wide;
            let refused = opened.refusal(&first, &second).is_some();
            assert!(refused || true_there, "seed {seed}: taken for a claim about {:?}", opened.claim.domain);
            widened += u32::from(refused && !true_there);
        }
        opened.claim.domain = Domain::everything();
        let refused = opened.refusal(&first, &second).is_some();
        assert!(refused || true_everywhere, "seed {seed}: taken for a claim about every input");
    }
    println!(
        "{proved} proved, {refuted} refuted, {only_there} hold in the domain only, {widened} widened and refused"
    );
    assert!(proved > 300 && refuted > 200 && only_there > 100 && widened > 100, "a weak test");
}

#[test]
fn a_claim_covers_what_its_domain_holds() {
    let (mut covered, mut outside) = (0, 0);
    for seed in 0..3000u64 {
        let mut rng = Rng::with_seed(seed);
        let [first, _] = pair(&mut rng);
        let fits = |domain: Domain| {
            if first.accepts_missing() { domain } else { domain.without_missing_values() }
        };
        let asked = fits(domain(&mut rng, &first));
        let claimed = match rng.u32(0..3) {
            0 => fits(domain(&mut rng, &first)),
            1 => larger(&mut rng, &asked),
            _ => {
                let once = larger(&mut rng, &asked);
                larger(&mut rng, &once)
            }
        };
        let Some(rows) = inputs_of(&asked, &[&first], 20_000) else { continue };
        let inside = rows.iter().all(|row| claimed.contains(row));
        match domain_not_covered(&claimed, false, &asked, &first) {
            None => {
                assert!(inside, "seed {seed}: {claimed:?} does not hold {asked:?}");
                covered += 1;
            }
            Some(why) => {
                assert!(why.len() > 10, "{why}");
                outside += u32::from(!inside);
            }
        }
        assert_eq!(
            domain_not_covered(&asked, false, &asked, &first),
            None,
            "seed {seed}: {asked:?} holds itself"
        );
    }
    println!("{covered} cover, {outside} do not");
    assert!(covered > 500 && outside > 200, "a weak test");
}

/// Claims about inputs on which other models have certain scores, judged on every such input. The
/// checker must notice another model, another bound, another score and another side.
#[test]
fn scores_of_other_models_are_proved_and_checked_for_their_inputs_alone() {
    let digest = |model: &Ensemble| Digest::of(model).0;
    let (mut proved, mut refuted, mut only_there, mut lies) = (0, 0, 0, 0);
    for seed in 0..2600u64 {
        let mut rng = Rng::with_seed(seed);
        let [first, second] = pair(&mut rng);
        let drawn = scored_domain(&mut rng, &first, &digest);
        let band = if rng.bool() { Band::Exact } else { Band::Auto };
        let narrow = first.within(&drawn).unwrap();
        match Grid::new(&[&narrow, &second]) {
            Ok(grid) if grid.log10_cells() <= 2.8 => {}
            Ok(_) | Err(GridError::Domain(_)) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        }
        let Ok(comparison) = Comparison::new(&narrow, &second, band) else { continue };
        let claimed = comparison.domain();
        let Some(rows) = inputs_of(&claimed, &[&first, &second], 6_000) else { continue };
        let predictor = Predictor::new(&second);
        let wrong = |row: &Vec<f64>| !holds([&first, &second], &predictor, row, band);
        let true_there = !rows.iter().any(wrong);
        // The same domain without conditions on scores, to count how often they matter.
        let product = inputs_of(&claimed.without_wheres(), &[&first, &second], 6_000);
        let true_without = product.is_some_and(|rows| !rows.iter().any(wrong));
        only_there += u32::from(true_there && !true_without && !rows.is_empty());
        let Some((found, certificate)) = known_truth(&comparison, &drawn, &rows, true_there, seed) else {
            continue;
        };
        refuted += u32::from(found);
        let Some(bytes) = certificate else { continue };
        let opened = Opened::read(&bytes).unwrap();
        assert_eq!(opened.claim.domain, claimed, "seed {seed}");
        let scorers = Scorer::of(&claimed);
        let verdict = opened.verdict_with(&first, &second, &scorers);
        assert!(matches!(verdict, Verdict::Valid(_)), "seed {seed}: {verdict:?}");
        // Without these models, or with others instead, the claim cannot be checked.
        for others in [&[][..], &scorers[1..], &[Scorer { model: &first, name: "another" }]] {
            let verdict = opened.verdict_with(&first, &second, others);
            let Verdict::Invalid { reason, step: None } = verdict else { panic!("seed {seed}: {verdict:?}") };
            assert_eq!(reason.code(), "claim.where");
        }
        proved += 1;
        let wheres = claimed.wheres();
        for at in 0..wheres.len() {
            let own = &wheres[at];
            let side = if own.side() == Side::AtLeast { Side::AtMost } else { Side::AtLeast };
            let (less, more) = (own.bound() - 0.25, own.bound() + 0.25);
            let changes = [
                None,
                Some((own.output(), own.side(), less)),
                Some((own.output(), own.side(), more)),
                Some((own.output(), own.side(), own.bound().next_down())),
                Some((own.output(), own.side(), own.bound().next_up())),
                Some((own.output(), side, own.bound())),
                Some((own.output() ^ 1, own.side(), own.bound())),
            ];
            for change in changes {
                let mut changed = wheres.to_vec();
                match change {
                    None => drop(changed.remove(at)),
                    Some((output, side, bound)) => {
                        let bare = Where::of_digest(own.digest(), output, side, bound).unwrap();
                        changed[at] = bare.with_model(own.model().unwrap().clone(), "").unwrap_or(bare);
                    }
                }
                let other = claimed.without_wheres().with_wheres(changed);
                let mut mutant = opened.clone();
                mutant.claim.domain = other.clone();
                let refused = !matches!(mutant.verdict_with(&first, &second, &scorers), Verdict::Valid(_));
                if other.wheres().iter().any(|own| own.model().is_none()) {
                    assert!(refused, "seed {seed}: a claim about nothing was accepted");
                    continue;
                }
                let Some(rows) = inputs_of(&other, &[&first, &second], 12_000) else { continue };
                let lie = rows.iter().any(wrong);
                assert!(refused || !lie, "seed {seed}: a false claim passes: {other:?}");
                lies += u32::from(lie);
                if !lie && refused {
                    continue;
                }
                let inside = rows.iter().all(|row| claimed.contains(row));
                let covered = domain_not_covered(&claimed, false, &other, &first).is_none();
                assert!(inside || !covered, "seed {seed}: {claimed:?} does not hold {other:?}");
            }
        }
    }
    println!("{proved} proved, {refuted} refuted, {only_there} hold there only, {lies} false claims refused");
    assert!(proved > 1_000 && refuted > 200 && only_there > 30 && lies > 200, "a weak test");
}
