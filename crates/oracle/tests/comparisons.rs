//! Whole comparisons of random model pairs against brute force: the exact claim, and the libraries' own
//! decisions.

use fastrand::Rng;
use secateur_model::{Ensemble, Grid, Order, Predictor};
use secateur_oracle::{Band, CompareError, Comparison, Options, Undecided, Verdict, exact_class};
use secateur_testkit::{Shape, ensemble, every_row, mutate};

const CASES: u64 = 2500;

fn pair(rng: &mut Rng) -> (Ensemble, Ensemble) {
    loop {
        let shape = Shape::random(rng);
        let first = ensemble(rng, &shape);
        let mut second = mutate(rng, &first);
        for _ in 0..rng.u32(0..3) {
            second = mutate(rng, &second);
        }
        if Grid::new(&[&first, &second]).unwrap().log10_cells() < 4.0 {
            return (first, second);
        }
    }
}

#[test]
fn the_exact_claim_is_decided_as_by_brute_force() {
    let (mut same, mut different) = (0, 0);
    for seed in 0..CASES {
        let mut rng = Rng::with_seed(seed);
        let (first, second) = pair(&mut rng);
        let comparison = Comparison::new(&first, &second, Band::Exact).unwrap();
        let expected = every_row(comparison.atlas().grid())
            .any(|row| exact_class(&first, &row) != exact_class(&second, &row));
        match comparison.run(&Options::unlimited()).verdict {
            Verdict::Identical => {
                assert!(!expected, "seed {seed}: called identical");
                same += 1;
            }
            Verdict::Different(example) => {
                let classes = [exact_class(&first, &example.row), exact_class(&second, &example.row)];
                assert_eq!(example.classes, classes, "seed {seed}");
                assert_ne!(classes[0], classes[1], "seed {seed}: {:?} is no counterexample", example.row);
                different += 1;
            }
            Verdict::Undecided(why) => panic!("seed {seed}: {why:?}"),
        }
    }
    assert!(same > 300 && different > 300, "{same} {different}: a one-sided test");
}

#[test]
fn the_claim_about_libraries_is_decided_as_by_brute_force() {
    let (mut same, mut different, mut open) = (0, 0, 0);
    for seed in 0..CASES {
        let mut rng = Rng::with_seed(seed);
        let (first, second) = pair(&mut rng);
        let comparison = match Comparison::new(&first, &second, Band::Auto) {
            Ok(comparison) => comparison,
            Err(CompareError::NoCertainMargin) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let (ours, theirs) = (Predictor::new(&first), Predictor::new(&second));
        // Inputs in the claim: A's exact winner leads by more than the band.
        let wide = Comparison::new(&first, &first, Band::Score(comparison.band())).unwrap();
        let in_claim = |row: &[f64]| leads(&first, row, wide.band());
        let expected = every_row(comparison.atlas().grid())
            .any(|row| in_claim(&row) && ours.classes(&row).unwrap() != theirs.classes(&row).unwrap());
        match comparison.run(&Options::unlimited()).verdict {
            Verdict::Identical => {
                assert!(!expected, "seed {seed}: called identical");
                same += 1;
            }
            Verdict::Different(example) => {
                assert!(in_claim(&example.row), "seed {seed}: outside the claim");
                assert!(example.in_libraries, "seed {seed}");
                let classes =
                    [ours.classes(&example.row).unwrap()[0], theirs.classes(&example.row).unwrap()[0]];
                assert_eq!(example.classes, classes, "seed {seed}");
                assert_ne!(classes[0], classes[1], "seed {seed}: no counterexample");
                different += 1;
            }
            Verdict::Undecided(Undecided::OrderOfAddition(_)) => {
                assert_eq!(second.accumulation().order, Order::Any, "seed {seed}");
                assert!(!expected, "seed {seed}: a counterexample was missed");
                open += 1;
            }
            Verdict::Undecided(why) => panic!("seed {seed}: {why:?}"),
        }
    }
    assert!(same > 300 && different > 300, "{same} {different} {open}: a one-sided test");
}

/// Does the exact winner lead every other class by more than the band?
fn leads(model: &Ensemble, row: &[f64], band: f64) -> bool {
    use secateur_model::{Decision, Exact};
    let read: Vec<f64> = row.iter().map(|&v| model.domain().read(v).unwrap()).collect();
    let sums = model.exact_sums(model.leaves(&read));
    let number = |value: f64| Exact::from_f64(value).unwrap();
    let divisor = number(model.accumulation().average.map_or(1.0, |average| average.divisor));
    let needed = &number(band) * &divisor;
    match *model.decision() {
        Decision::Threshold { group, threshold, .. } => {
            (&sums[group.index()] - &(&number(threshold) * &divisor)).abs() > needed
        }
        _ => {
            let winner = exact_class(model, row).index();
            (0..sums.len()).all(|other| other == winner || &sums[winner] - &sums[other] > needed)
        }
    }
}
