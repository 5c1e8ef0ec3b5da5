//! Claims about decisions at cuts that the caller chooses: they are proved, refuted and checked as
//! they are defined, and are never taken for a claim about the libraries' own decisions or about
//! another cut.

use crate::common::{Opened, stump_pair};
use fastrand::Rng;
use secateur_certificate::Statement;
use secateur_checker::Verdict;
use secateur_model::{ClassId, Cut, Decision, Ensemble, Grid, GroupId, Predictor};
use secateur_oracle::Verdict as Compared;
use secateur_oracle::{Band, Comparison, Options};
use secateur_testkit::{Shape, ensemble, every_row, leads_by_more_than, mutate};

/// Two models that compare one score with a threshold.
fn pair(rng: &mut Rng, seed: u64) -> (Ensemble, Ensemble) {
    if seed.is_multiple_of(2) {
        return stump_pair(seed);
    }
    let mut shape = Shape::random(rng);
    shape.decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: rng.bool() };
    shape.classes = 2;
    let first = ensemble(rng, &shape);
    let second = if rng.u32(0..3) == 0 { first.clone() } else { mutate(rng, &first) };
    (first, second)
}

/// Is the claim true on every cell, by its definition? If the first model's exact score is farther
/// from its cut than the band, then the score that the second model's library computes has to be on
/// the same side of its own cut, and farther from it than the gap.
fn is_true(models: [&Ensemble; 2], cuts: [Cut; 2], band: f64) -> bool {
    let [first, second] = [models[0].cut_at(cuts[0]).unwrap(), models[1].cut_at(cuts[1]).unwrap()];
    let predictor = Predictor::new(&second);
    let grid = Grid::new(&[&first, &second]).unwrap();
    every_row(&grid).all(|row| {
        let above = leads_by_more_than(&first, &row, ClassId(1), band);
        let below = leads_by_more_than(&first, &row, ClassId(0), band);
        let score = predictor.decided_scores(&row).unwrap()[0];
        // Without a gap the cut itself belongs to class 1.
        let at_cut = cuts[1].gap == 0.0 && score == cuts[1].score;
        (!above || at_cut || score - cuts[1].score > cuts[1].gap)
            && (!below || cuts[1].score - score > cuts[1].gap)
    })
}

#[test]
fn a_cut_is_proved_and_checked_by_its_definition() {
    let (mut proved, mut refuted, mut open, mut moved, mut moved_accepted) = (0, 0, 0, 0, 0);
    for seed in 0..500u64 {
        let mut rng = Rng::with_seed(seed);
        let (first, second) = pair(&mut rng, seed);
        if Grid::new(&[&first, &second]).unwrap().log10_cells() > 3.0 {
            continue;
        }
        let score = (rng.f64() - 0.5) * 2.0;
        let gap = if rng.bool() { 0.0 } else { rng.f64() * 0.05 };
        let other = if rng.bool() { score } else { score + (rng.f64() - 0.5) * 0.01 };
        let cuts = [Cut { score, gap }, Cut { score: other, gap }];
        let [ours, theirs] = [first.cut_at(cuts[0]).unwrap(), second.cut_at(cuts[1]).unwrap()];
        let Ok(comparison) = Comparison::new(&ours, &theirs, Band::Auto) else { continue };
        let band = comparison.band();
        assert!(band >= gap, "decisions within the gap are nobody's");
        let (compared, certificate) = comparison.certify(&Options::unlimited(), Vec::new()).unwrap();
        let truth = is_true([&first, &second], cuts, band);
        match &compared.verdict {
            Compared::Identical => assert!(truth, "seed {seed}: a false claim was proved"),
            Compared::Different(_) => {
                assert!(!truth, "seed {seed}: a true claim was refuted");
                refuted += 1;
            }
            Compared::Undecided(_) => open += 1,
        }
        let Some(certificate) = certificate else { continue };
        proved += 1;
        let mut opened = Opened::read(&certificate.finish(true).unwrap()).unwrap();
        assert_eq!((opened.claim.version(), opened.claim.cuts()), (2, Some(cuts)));
        // The claim names the cuts itself, so the cuts that the caller's models have do not matter.
        for models in [[&first, &second], [&ours, &theirs]] {
            let verdict = opened.verdict(models[0], models[1]);
            let Verdict::Valid(valid) = verdict else { panic!("seed {seed}: {verdict:?}") };
            assert_eq!(valid.claim.cuts(), Some(cuts));
        }
        // The same proof for other cuts, and for the libraries' own rules, is refused unless that
        // claim is true too.
        let Statement::Decisions { local_rounding, band: claimed, .. } = opened.claim.statement else {
            unreachable!("a claim about decisions")
        };
        let own = opened.claim.statement;
        let shift = (rng.f64() - 0.5) * 2.0;
        let other = cuts.map(|cut| Cut { score: cut.score + shift, gap: cut.gap });
        let wider = cuts.map(|cut| Cut { gap: cut.gap * 4.0 + 0.01, ..cut });
        for changed in [other, wider] {
            opened.claim.statement =
                Statement::Decisions { band: claimed, local_rounding, cuts: Some(changed) };
            moved += 1;
            if opened.refusal(&first, &second).is_none() {
                moved_accepted += 1;
                assert!(is_true([&first, &second], changed, band), "seed {seed}: a false claim was accepted");
            }
        }
        opened.claim.statement = Statement::Decisions { band: claimed, local_rounding, cuts: None };
        if opened.refusal(&ours, &theirs).is_none() {
            let threshold = |model: &Ensemble| match *model.library_decision() {
                Decision::Threshold { threshold, .. } => threshold,
                _ => unreachable!("made with a threshold"),
            };
            let library = [&first, &second].map(|model| Cut { score: threshold(model), gap: 0.0 });
            // An exact lead of zero may be a tie, which the library decides by its own rule.
            let strictly = is_true([&first, &second], library, band);
            assert!(strictly || band == 0.0, "seed {seed}: a false claim was accepted");
        }
        opened.claim.statement = own;
        for wrong in [f64::NAN, f64::INFINITY, -0.0] {
            for at in 0..2 {
                let mut changed = cuts;
                changed[at].score = wrong;
                opened.claim.statement =
                    Statement::Decisions { band: claimed, local_rounding, cuts: Some(changed) };
                let (reason, step) = opened.refusal(&first, &second).expect("no cut");
                assert_eq!((reason.code(), step), ("claim.cut", None));
                changed = cuts;
                changed[at].gap = if wrong == 0.0 { -1.0 } else { wrong };
                opened.claim.statement =
                    Statement::Decisions { band: claimed, local_rounding, cuts: Some(changed) };
                assert_eq!(opened.refusal(&first, &second).unwrap().0.code(), "claim.cut");
            }
        }
    }
    println!("{proved} proved, {refuted} refuted, {open} open; {moved_accepted} of {moved} others hold too");
    assert!(proved > 50 && refuted > 50 && moved - moved_accepted > 50, "a weak test");
}

#[test]
fn models_of_several_scores_have_no_cut() {
    let mut rng = Rng::with_seed(5);
    let mut shape = Shape::random(&mut rng);
    shape.decision = Decision::Argmax;
    shape.classes = 3;
    let model = ensemble(&mut rng, &shape);
    assert!(model.cut_at(Cut { score: 0.0, gap: 0.0 }).is_none());
}

#[test]
fn a_cut_is_no_part_of_a_digest_and_can_be_taken_back() {
    let (first, _) = stump_pair(2);
    let cut = first.cut_at(Cut { score: 0.25, gap: 0.0 }).unwrap();
    assert_ne!(cut, first);
    assert_eq!(secateur_certificate::Digest::of(&cut), secateur_certificate::Digest::of(&first));
    assert_eq!(*cut.at_library_decision(), first);
    assert!(Comparison::new(&first, &cut, Band::Auto).is_err(), "one is looked at otherwise than the other");
}

/// A certificate that consists of its claim and its end only.
fn without_systems(claim: &secateur_certificate::Claim) -> Opened {
    let bytes = secateur_certificate::Writer::new(Vec::new(), claim).unwrap().finish(true).unwrap();
    Opened::read(&bytes).unwrap()
}

#[test]
fn a_model_decides_as_it_does_itself_and_no_other_does() {
    let mut looked_at = 0;
    for seed in 0..20 {
        let (first, second) = pair(&mut Rng::with_seed(seed), seed);
        if first == second {
            continue;
        }
        looked_at += 1;
        for band in [Band::Auto, Band::Exact] {
            let own = Comparison::new(&first, &first, band).unwrap().claim();
            assert!(without_systems(&own).refusal(&first, &first).is_none(), "seed {seed}");
            // The check tells the models apart by their digests.
            let claim = Comparison::new(&first, &second, band).unwrap().claim();
            let (reason, _) = without_systems(&claim).refusal(&first, &second).expect("not shown");
            assert_eq!(reason.code(), "end.missing");
            assert_eq!(without_systems(&own).refusal(&first, &second).unwrap().0.code(), "digest.pruned");
        }
        // With two different cuts, one model counts as two.
        let [low, high] = [0.1, 0.2].map(|score| first.cut_at(Cut { score, gap: 0.0 }).unwrap());
        let claim = Comparison::new(&low, &low, Band::Auto).unwrap().claim();
        assert!(without_systems(&claim).refusal(&first, &first).is_none());
        let claim = Comparison::new(&low, &high, Band::Auto).unwrap().claim();
        assert_eq!(without_systems(&claim).refusal(&first, &first).unwrap().0.code(), "end.missing");
        // A band below the model's rounding is refused, as always.
        let mut narrow = without_systems(&Comparison::new(&first, &first, Band::Auto).unwrap().claim());
        narrow.set_band(secateur_certificate::BandClaim::Score(-1.0));
        assert_eq!(narrow.refusal(&first, &first).unwrap().0.code(), "claim.band");
    }
    assert!(looked_at > 8);
}

#[test]
fn scores_of_one_model_are_shown_to_be_near_as_those_of_two_are() {
    let (first, _) = stump_pair(2);
    let mut claim = Comparison::new(&first, &first, Band::Auto).unwrap().claim();
    claim.statement = Statement::Scores { within: 1.0 };
    assert_eq!(without_systems(&claim).refusal(&first, &first).unwrap().0.code(), "end.missing");
}
