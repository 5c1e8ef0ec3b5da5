//! Accepts or refuses a certificate that two models decide alike, or that their scores are near.
//!
//! # What is proved
//! A (the original) and B (the pruned model) are additive tree ensembles over the same columns. An input is a
//! row of values that both libraries accept: every float of their input type, missing values and infinities
//! where both take them. Where one library reads f64 and the other f32, its numbers are those that an f32 holds:
//! both read these exactly, and of others they see different numbers ([`Proved::accepted`]). A claim may leave more
//! inputs out, and says so (its domain). The *lead* of class y
//! over class c is the exact difference that A's (B's) decision rule looks at, on the stored numbers, nothing
//! rounded. A valid certificate with band b proves:
//!
//! > For every input where A's lead of some class y over every other class exceeds b, the library loading B
//! > decides y, and so does the library loading A.
//!
//! With band `exact` it proves: for every input the exact sums of A and of B, with ties by each rule, give the same
//! class. A valid certificate of a claim about scores, with a limit eps, proves:
//!
//! > For every input and every output, the scores of the library loading A and of the library loading B, before any link
//! > function and averaged where a library averages, are at most eps apart.
//!
//! Bounds on smaller models, where there are any, are defined in [`ColumnBound`] and the rules `cut`,
//! `cover` and `crossing`.
//!
//! People send category labels, not codes: where both models have labels for a column, an input holds a label, and each
//! model sees the code that its own list gives it (`model::LabelMatch`, redone here from the two models alone). Where only
//! one of them has labels, an input holds a code. [`Proved::labels`] tells which.
//!
//! # Why
//! 1. b is at least A's certain margin (`model::band`), so where A's lead exceeds b, A's library decides y.
//! 2. B's library decides y if B's lead of y over every c exceeds B's rounding. So if it does not decide y, then
//!    for some c the *system* of (y, c) is solved: A leads with y over every other class by more than b, and B's
//!    lead of y over c is within its rounding (`system.rs`).
//! 3. The checker builds these systems itself from the two models, one for each ordered pair of classes, and the
//!    certificate has to prove every one of them empty, in order. Nothing in a certificate describes a system.
//! 4. All trees are constant on the cells of the models' common grid (`model::Grid`), so a system is about
//!    finitely many cells. The boxes of the proof cover all of them: it starts with the whole space, a split
//!    replaces a box by its two sides, narrowing cuts off parts that are closed, and the checker itself
//!    remembers what is still open (`proof.rs`).
//! 5. A box is closed by exact integer arithmetic on upper bounds (rules `close` and `narrow`), cell by cell
//!    (`cells`), from two halves where it is small (`join`), or the whole space at once (`meet`); each rule's file
//!    has its argument.
//!
//! For scores 1 to 3 are: a library's score is within its model's rounding of the exact one (`model::band`), so if two
//! scores are more than eps apart, the exact ones are by more than eps without both roundings: a system of one row
//! for each output and each sign (`scores.rs`).
//!
//! # Threads
//! [`check`] has one: steps come as one compressed stream, and where a part ends is known only when its steps have been
//! followed. [`check_with_threads`] has several: each follows the whole certificate, leaves parts of it to the others,
//! and all of them have to accept (`shares.rs`).
//!
//! # What is trusted
//! `secateur-model` (what a model computes, its rounding, the grid), `secateur-formats` (what a file means),
//! `secateur-certificate` (the reader), and this crate. Nothing of the search.

mod bounds;
pub mod command;
mod covers;
mod inputs;
mod joint;
mod layout;
mod lens;
mod packing;
mod pair;
mod proof;
mod reason;
mod rules;
mod scores;
mod shares;
pub mod source;
mod state;
mod system;
mod verdict;

use std::borrow::Cow;
use std::io::Read;

use secateur_certificate::{Claim, Digest, ReadError, Reader, Slack, Step};
use secateur_model::{Domain, Ensemble, FeatureId, LabelMatch, Where};

use bounds::Bounds;
use layout::Layout;
pub use packing::{
    Difference, Packed, PackingProved, PackingReason, PackingVerdict, QuantisedProved, check_packing,
    same_model,
};
use pair::{Claimed, Pair, Question};
use proof::{Progress, Proof};
pub use reason::{ModelRole, Reason};
use shares::Share;
pub use shares::check_with_threads;
pub use verdict::{ColumnBound, Limits, MatchedLabels, Proved, Verdict};

/// Asked now and then during a check; true ends it.
pub(crate) type Stop<'a> = &'a dyn Fn() -> bool;

/// Steps between two questions whether to stop; rules whose single steps take long ask by themselves.
const POLL: u64 = 16;

/// Checks a certificate for these two models. The pruned model's columns are in the order of the original's
/// (see [`aligned`]). An error says that this is no certificate at all.
pub fn check(
    original: &Ensemble,
    pruned: &Ensemble,
    certificate: impl Read,
    limits: &Limits,
) -> Result<Verdict, ReadError> {
    check_until(original, pruned, certificate, limits, &|| false)
}

/// As [`check`], and `stop` is asked now and then: when it says true, the check ends with
/// [`Verdict::Incomplete`] and [`Reason::Stopped`], whatever has been checked by then.
pub fn check_until(
    original: &Ensemble,
    pruned: &Ensemble,
    certificate: impl Read,
    limits: &Limits,
    stop: &dyn Fn() -> bool,
) -> Result<Verdict, ReadError> {
    check_where(original, pruned, &[], certificate, limits, stop)
}

/// A model whose scores the domain of a claim may ask for, with its columns in the order of the original's (see
/// [`aligned`]), and what it is called in messages.
#[derive(Clone, Copy, Debug)]
pub struct Scorer<'a> {
    /// The model.
    pub model: &'a Ensemble,
    /// Its name, such as that of its file.
    pub name: &'a str,
}

impl<'a> Scorer<'a> {
    /// The models of a domain, those that are known.
    pub fn of(domain: &'a Domain) -> Vec<Self> {
        let known = |own: &'a Where| Some(Self { model: own.model()?, name: own.name()? });
        domain.wheres().iter().filter_map(known).collect()
    }
}

/// As [`check_until`], for claims about inputs on which other models have certain scores: a certificate names these by
/// their digests, and each of them has to be among `scorers`.
pub fn check_where(
    original: &Ensemble,
    pruned: &Ensemble,
    scorers: &[Scorer<'_>],
    certificate: impl Read,
    limits: &Limits,
    stop: &dyn Fn() -> bool,
) -> Result<Verdict, ReadError> {
    check_share(original, pruned, scorers, certificate, limits, stop, Share::WHOLE)
}

/// Checks what one of several threads has to.
fn check_share(
    original: &Ensemble,
    pruned: &Ensemble,
    scorers: &[Scorer<'_>],
    certificate: impl Read,
    limits: &Limits,
    stop: &dyn Fn() -> bool,
    share: Share<'_>,
) -> Result<Verdict, ReadError> {
    let mut reader = Reader::new(certificate)?;
    let domain = match with_scorers(&reader.claim().domain, scorers) {
        Ok(domain) => domain,
        Err(reason) => return Ok(Verdict::Invalid { reason, step: None }),
    };
    // What is looked at is what the claim is about, whatever inputs the caller has in mind.
    let answer = match looked_at(original, pruned, &domain, reader.claim()) {
        Err(reason) => Err((reason, None)),
        Ok([original, pruned]) => match matched(&original, &pruned, reader.claim()) {
            Ok(labels) => match Pair::new(&original, labels.models(), reader.claim()) {
                Ok(pair) => {
                    let told = MatchedLabels::of(&labels, &original);
                    follow(&pair, &mut reader, *limits, stop, share)?.map(|proved| {
                        let claim = Claim { domain, ..proved.claim };
                        Proved { labels: told, claim, ..proved }
                    })
                }
                Err(reason) => Err((reason, None)),
            },
            Err(reason) => Err((reason, None)),
        },
    };
    Ok(match answer {
        Ok(proved) => Verdict::Valid(proved),
        Err((reason, step)) if reason.is_incomplete() => Verdict::Incomplete { reason, step },
        Err((reason, step)) => Verdict::Invalid { reason, step },
    })
}

/// The domain of a claim with the models whose scores it asks for, which it names by their digests.
fn with_scorers(domain: &Domain, scorers: &[Scorer<'_>]) -> Result<Domain, Reason> {
    let mut wheres = Vec::with_capacity(domain.wheres().len());
    for own in domain.wheres() {
        let digest = Digest(own.digest());
        let found = scorers.iter().find(|scorer| Digest::of(scorer.model) == digest);
        let scorer = found.ok_or_else(|| Reason::ClaimWhere { digest: Box::new(digest) })?;
        let known = own.with_model(scorer.model.clone(), scorer.name);
        wheres.push(known.map_err(|error| Reason::ClaimDomain { error })?);
    }
    Ok(domain.without_wheres().with_wheres(wheres))
}

/// Both models as the claim looks at them: for its inputs, and at its cuts where it has any.
fn looked_at<'a>(
    original: &'a Ensemble,
    pruned: &'a Ensemble,
    domain: &Domain,
    claim: &Claim,
) -> Result<[Cow<'a, Ensemble>; 2], Reason> {
    let narrowed = narrowed(original, pruned, domain)?;
    let at_cut = |model: Cow<'a, Ensemble>, index: usize| match claim.cuts() {
        Some(cuts) => {
            let refused = || Reason::ClaimCut { model: ModelRole::of(index), cut: cuts[index].score };
            model.cut_at(cuts[index]).map(Cow::Owned).ok_or_else(refused)
        }
        // Whatever cut the caller has in mind, this claim is about the libraries' own rules.
        None if model.cut().is_some() => Ok(Cow::Owned(model.at_library_decision().into_owned())),
        None => Ok(model),
    };
    let [original, pruned] = narrowed;
    Ok([at_cut(original, 0)?, at_cut(pruned, 1)?])
}

/// Both models for the inputs of the claim, which count columns as the original does.
fn narrowed<'a>(
    original: &'a Ensemble,
    pruned: &'a Ensemble,
    domain: &Domain,
) -> Result<[Cow<'a, Ensemble>; 2], Reason> {
    let refused = |error| Reason::ClaimDomain { error };
    // Other columns are another reason, which comes later.
    if original.features().len() != pruned.features().len() {
        return Ok([original.for_every_input(), pruned.for_every_input()]);
    }
    Ok([original.within(domain).map_err(refused)?, pruned.within(domain).map_err(refused)?])
}

/// The models as they are compared: digests are those of the models as they were read, and then one category code
/// has to stand for one label in both.
fn matched<'a>(
    original: &'a Ensemble,
    pruned: &'a Ensemble,
    claim: &Claim,
) -> Result<LabelMatch<'a>, Reason> {
    let (claimed, found) = (claim.original, Digest::of(original));
    if found != claimed {
        return Err(Reason::DigestOriginal { claimed: claimed.into(), found: found.into() });
    }
    let (claimed, found) = (claim.pruned, Digest::of(pruned));
    if found != claimed {
        return Err(Reason::DigestPruned { claimed: claimed.into(), found: found.into() });
    }
    // Digests are of the models alone. What other steps make of an input is another input.
    if original.features().steps() != pruned.features().steps() {
        return Err(Reason::ClaimSteps);
    }
    LabelMatch::new(original, pruned).map_err(|error| Reason::ClaimLabels { error })
}

impl MatchedLabels {
    fn of(labels: &LabelMatch<'_>, original: &Ensemble) -> Self {
        let name = |feature: FeatureId| original.features().name(feature).into_owned();
        Self {
            by_label: labels.by_label().map(name).collect(),
            by_code: labels.by_code().map(name).collect(),
            unplaced: labels.unplaced_by_code(),
        }
    }
}

/// The pruned model with its columns in the order of the original's, where both name their columns and the
/// names are the same; `None` where columns are matched by position.
pub fn aligned(original: &Ensemble, pruned: &Ensemble) -> Option<Ensemble> {
    let named = original.features().has_names() && pruned.features().has_names();
    if named { pruned.with_column_order(original.features()) } else { None }
}

type Answer = Result<Proved, (Reason, Option<u64>)>;

fn follow(
    pair: &Pair<'_>,
    reader: &mut Reader<impl Read>,
    limits: Limits,
    stop: Stop<'_>,
    share: Share<'_>,
) -> Result<Answer, ReadError> {
    if stop() {
        return Ok(Err((Reason::Stopped, None)));
    }
    let mut layout = match Layout::new(pair, limits) {
        Ok(layout) => layout,
        Err(reason) => return Ok(Err((reason, None))),
    };
    // Stacks come first: the layout is complete when another step comes.
    let mut at = reader.steps();
    let mut next = reader.next_step()?;
    while let Some(Step::Stack { original, pruned }) = &next {
        if stop() {
            return Ok(Err((Reason::Stopped, Some(at))));
        }
        if let Err(reason) = layout.stack([original, pruned]) {
            return Ok(Err((reason, Some(at))));
        }
        at = reader.steps();
        next = reader.next_step()?;
    }
    if let Err(reason) = layout.place_the_rest(stop) {
        return Ok(Err((reason, Some(at))));
    }
    let mut run = Run {
        pair,
        layout: &layout,
        limits,
        stop,
        share,
        proof: None,
        systems: 0,
        bounds: Bounds::new(pair, limits),
    };
    while let Some(step) = next {
        if at.is_multiple_of(POLL) && stop() {
            return Ok(Err((Reason::Stopped, Some(at))));
        }
        match run.step(step, at) {
            Err(reason) => return Ok(Err((reason, Some(at)))),
            Ok(false) => {}
            Ok(true) => {
                let (columns, cost, thresholds) = run.bounds.proved();
                let (claim, systems) = (reader.claim().clone(), run.systems);
                let labels = MatchedLabels::default();
                let accepted = *layout.grid.accepted();
                return Ok(Ok(Proved {
                    claim,
                    accepted,
                    labels,
                    systems,
                    steps: at,
                    columns,
                    cost,
                    thresholds,
                }));
            }
        }
        at = reader.steps();
        next = reader.next_step()?;
    }
    Ok(Err((run.end_reason(true), Some(at))))
}

/// Where a check has come to.
struct Run<'a> {
    pair: &'a Pair<'a>,
    layout: &'a Layout<'a>,
    limits: Limits,
    stop: Stop<'a>,
    share: Share<'a>,
    proof: Option<Proof<'a>>,
    /// How many systems have been proved.
    systems: u64,
    bounds: Bounds<'a>,
}

impl Run<'_> {
    /// Checks one step; is it the end?
    fn step(&mut self, step: Step, at: u64) -> Result<bool, Reason> {
        if let Some(proof) = &mut self.proof {
            if let Step::End { complete, .. } = step {
                return Err(self.end_reason(complete));
            }
            if proof.step(&step, at)? == Progress::Proved {
                self.systems += 1;
                self.proof = None;
            }
            return Ok(false);
        }
        match step {
            Step::System { winner, other, slack } if self.is_about_decisions() && !self.bounds.is_open() => {
                let expected = match self.pair.question(self.systems) {
                    Some(Question::Classes { winner, other }) => Some((winner, other)),
                    _ => None,
                };
                let Some((y, c)) = expected.filter(|(y, c)| (y.0, c.0) == (winner, other)) else {
                    let expected = expected.map(|(winner, other)| (winner.0, other.0));
                    return Err(Reason::SystemPair { winner, other, expected });
                };
                self.begin(Question::Classes { winner: y, other: c }, slack)
            }
            Step::ScoreSystem { output, below } if !self.is_about_decisions() => {
                let asked = Question::Output { output: output as usize, below };
                let expected = self.pair.question(self.systems);
                if expected != Some(asked) {
                    let expected = match expected {
                        Some(Question::Output { output, below }) => Some((output, below)),
                        _ => None,
                    };
                    return Err(Reason::SystemOutput { output, below, expected });
                }
                self.begin(asked, Slack::Global)
            }
            Step::End { complete, .. } => {
                // A model decides as it does itself: no system has to be shown empty, but none may be begun in vain.
                let shown =
                    self.systems == self.pair.systems() || self.systems == 0 && self.pair.is_one_model();
                if complete && !self.bounds.is_open() && shown {
                    return Ok(true);
                }
                Err(self.end_reason(complete))
            }
            step if self.is_about_decisions() => self.bounds.step(step).map(|()| false),
            // Bounds on smaller models are about decisions.
            step => Err(Reason::OrderUnexpected {
                found: step.kind(),
                place: "between the proofs of two systems of a claim about scores",
            }),
        }
    }

    fn is_about_decisions(&self) -> bool {
        matches!(self.pair.claimed, Claimed::Decisions(_))
    }

    /// Begins the proof of a system.
    fn begin(&mut self, question: Question, slack: Slack) -> Result<bool, Reason> {
        self.proof =
            Some(Proof::new(self.pair, self.layout, question, slack, self.limits, (self.stop, self.share))?);
        Ok(false)
    }

    /// Why an end, which says itself whether the certificate is complete, is no end of a proof.
    fn end_reason(&self, complete: bool) -> Reason {
        let (proved, systems) = (self.systems, self.pair.systems());
        if complete {
            Reason::EndMissing { proved, systems, cover_open: self.bounds.is_open() }
        } else {
            Reason::Declared { proved, systems }
        }
    }
}
