//! From two models and a claim to problems about whole numbers, which the kernel decides.
//!
//! # What is claimed
//! A (the original) and B (the pruned model) are additive tree ensembles over the same columns. An
//! input is a row of values that both libraries accept: every float of their input type, and
//! missing values and infinities where both accept them. If one library reads f64 and the other
//! f32, only numbers that an f32 holds count: both libraries read these exactly, whereas other
//! numbers reach them as different values. A claim may leave out more inputs, and then says so (its
//! domain). The *lead* of class y over class c is the exact difference that A's (B's) decision rule
//! compares, computed from the stored numbers without any rounding. A claim with band b says:
//!
//! > For every input where A's lead of some class y over every other class exceeds b, the library
//! > loading B decides y, and so does the library loading A.
//!
//! With band `exact` it says that for every input the exact sums of A and of B give the same class,
//! with ties broken by each model's own rule. A claim about scores, with a limit eps, says:
//!
//! > For every input and every output, the scores of the library loading A and of the library
//! > loading B, before any link function and averaged where a library averages, are at most eps
//! > apart.
//!
//! People send category labels, not codes. If both models have labels for a column, an input holds
//! a label, and each model sees the code that its own list gives to this label
//! (`model::LabelMatch`, computed again here from the two models alone). If only one of them has
//! labels, an input holds a code. [`Matched::told`] says which case applies to each column.
//!
//! # Why the problems suffice
//! 1. b is at least A's certain margin (`model::band`), so where A's lead exceeds b, A's library
//!    decides y.
//! 2. B's library decides y if B's lead of y over every c exceeds B's rounding. So if it does not
//!    decide y, then for some c the *system* of (y, c) is satisfied: A leads with y over every
//!    other class by more than b, and B's lead of y over c is within its rounding (`rows.rs`).
//! 3. There is one system for each ordered pair of classes. It is built here from the two models;
//!    nothing in a certificate describes a system.
//! 4. Every tree is constant on each cell of the models' common grid (`model::Grid`), so a system
//!    is a question about finitely many cells (`forest.rs`); `inputs.rs` checks that every input of
//!    the claim lies in one of them.
//! 5. A cell that satisfies a system is excused if the claim holds in it nevertheless, by the
//!    libraries' own arithmetic on one of its inputs ([`Lowered::excused`]).
//!
//! For claims about scores, points 1 to 3 become: a library's score is within its model's rounding
//! of the exact score (`model::band`). So if two scores are more than eps apart, the exact scores
//! are apart by more than eps minus both roundings. This gives a system of one row for each output
//! and each sign (`scores.rs`).
//!
//! Lower bounds on smaller models are lowered in `bounds.rs`.
//!
//! # Where to read
//! `pair` (the two models and the claim) first, then `rows` and `forest` (a system as whole
//! numbers), `scores` (the same for claims about scores), `inputs` (does the grid hold every input
//! of the claim?), `bounds` (lower bounds on smaller models) and `refused` (why there is no
//! problem).

mod bounds;
mod forest;
mod inputs;
mod one;
mod pair;
mod refused;
mod rows;
mod scores;
mod treewise;

use std::borrow::Cow;

use secateur_certificate::{Claim, Digest, Effect, Statement};
use secateur_model::{Domain, Ensemble, FeatureId, LabelMatch, Pairing, TwinError, Where};

pub use bounds::{Crossing, LoweredBounds};
pub use forest::Lowered;
pub use pair::{Pair, Question, match_classes};
pub use refused::{ModelRole, Refused, input_words};
pub use rows::RoundingSaid;

/// A model whose scores the domain of a claim may ask for, and its name in messages. Its columns
/// are in the order of the original's (see [`aligned`]).
#[derive(Clone, Copy, Debug)]
pub struct Scorer<'a> {
    /// The model.
    pub model: &'a Ensemble,
    /// Its name, such as that of its file.
    pub name: &'a str,
}

impl<'a> Scorer<'a> {
    /// The models that the domain asks for, as far as they are known.
    pub fn of(domain: &'a Domain) -> Vec<Self> {
        let known = |own: &'a Where| Some(Self { model: own.model()?, name: own.name()? });
        domain.wheres().iter().filter_map(known).collect()
    }
}

/// The pruned model with its columns in the order of the original's, if both models name their
/// columns and the names are the same; `None` if columns are matched by position.
pub fn aligned(original: &Ensemble, pruned: &Ensemble) -> Option<Ensemble> {
    pruned.with_column_order(original.features())
}

/// Two models as a claim reads them: restricted to its inputs, and with its cuts if it has any.
pub struct Subject<'a> {
    original: Cow<'a, Ensemble>,
    pruned: Cow<'a, Ensemble>,
    /// The model and its twin, where the claim is about moved columns.
    twins: Option<Result<[Ensemble; 2], TwinError>>,
    domain: Domain,
}

impl<'a> Subject<'a> {
    /// The two models as the claim reads them, regardless of the inputs and cuts that the caller's
    /// models were set up for. The models whose scores the claim's domain asks for have to be among
    /// `scorers`.
    pub fn new(
        original: &'a Ensemble,
        pruned: &'a Ensemble,
        scorers: &[Scorer<'_>],
        claim: &Claim,
    ) -> Result<Self, Refused> {
        let domain = with_scorers(&claim.domain, scorers)?;
        let at_cut = |model: Cow<'a, Ensemble>, index: usize| match claim.cuts() {
            Some(cuts) => {
                let refused = || Refused::ClaimCut { model: ModelRole::of(index), cut: cuts[index].score };
                model.cut_at(cuts[index]).map(Cow::Owned).ok_or_else(refused)
            }
            None if model.cut().is_some() => Ok(Cow::Owned(model.at_library_decision().into_owned())),
            None => Ok(model),
        };
        let [original, pruned] = narrowed(original, pruned, &domain)?;
        let (original, pruned) = (at_cut(original, 0)?, at_cut(pruned, 1)?);
        let twins = match &claim.statement {
            Statement::Moves { columns, effect } => {
                let steps = matches!(effect, Effect::Rises { .. });
                Some(original.twins(columns, if steps { Pairing::Steps } else { Pairing::Free }))
            }
            _ => None,
        };
        Ok(Self { original, pruned, twins, domain })
    }

    /// The claim's domain, with the models whose scores it asks for.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The models with matched labels. Digests are compared first, on the models as they were read;
    /// then codes are translated so that one category code stands for one label in both.
    pub fn matched(&self, claim: &Claim) -> Result<Matched<'_>, Refused> {
        let (original, pruned) = (&*self.original, &*self.pruned);
        let (claimed, found) = (claim.original, Digest::of(original));
        if found != claimed {
            return Err(Refused::DigestOriginal { claimed: claimed.into(), found: found.into() });
        }
        let (claimed, found) = (claim.pruned, Digest::of(pruned));
        if found != claimed {
            return Err(Refused::DigestPruned { claimed: claimed.into(), found: found.into() });
        }
        // Digests cover the models alone. If earlier pipeline steps differ, the models see
        // different inputs.
        if original.features().steps() != pruned.features().steps() {
            return Err(Refused::ClaimSteps);
        }
        let [original, pruned] = match &self.twins {
            None => [original, pruned],
            Some(Ok([model, twin])) => [model, twin],
            Some(Err(error)) => return Err(Refused::ClaimMoves { error: error.clone() }),
        };
        let labels = LabelMatch::new(original, pruned).map_err(|error| Refused::ClaimLabels { error })?;
        Ok(Matched { original, labels, one_model: claim.is_about_one_model() })
    }
}

/// The models of a [`Subject`], with one category code for one label in both.
pub struct Matched<'a> {
    original: &'a Ensemble,
    labels: LabelMatch<'a>,
    one_model: bool,
}

impl Matched<'_> {
    /// The pair of models with the numbers of the claim.
    pub fn pair(&self, claim: &Claim) -> Result<Pair<'_>, Refused> {
        Pair::new(self.original, self.labels.models(), claim)
    }

    /// How labels were matched. One model's labels are its own.
    pub fn told(&self) -> MatchedLabels {
        if self.one_model {
            return MatchedLabels::default();
        }
        let name = |feature: FeatureId| self.original.features().name(feature).into_owned();
        MatchedLabels {
            by_label: self.labels.by_label().map(name).collect(),
            by_code: self.labels.by_code().map(name).collect(),
            unplaced: self.labels.unplaced_by_code(),
        }
    }
}

/// The columns with category labels, and how they were matched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchedLabels {
    /// Both models have labels: the claim is about labels.
    pub by_label: Vec<String>,
    /// Only one of the models has labels: the claim is about codes.
    pub by_code: Vec<String>,
    /// One of the models has labels for columns that its file does not name, and the other model
    /// has no labels at all: for those columns the claim is about codes.
    pub unplaced: bool,
}

/// The domain of a claim, with the models that it names by their digests looked up among `scorers`.
fn with_scorers(domain: &Domain, scorers: &[Scorer<'_>]) -> Result<Domain, Refused> {
    let mut wheres = Vec::with_capacity(domain.wheres().len());
    for own in domain.wheres() {
        let digest = Digest(own.digest());
        let found = scorers.iter().find(|scorer| Digest::of(scorer.model) == digest);
        let scorer = found.ok_or_else(|| Refused::ClaimWhere { digest: Box::new(digest) })?;
        let known = own.with_model(scorer.model.clone(), scorer.name);
        wheres.push(known.map_err(|error| Refused::ClaimDomain { error })?);
    }
    Ok(domain.without_wheres().with_wheres(wheres))
}

/// Both models restricted to the inputs of the claim, which counts columns as the original does.
fn narrowed<'a>(
    original: &'a Ensemble,
    pruned: &'a Ensemble,
    domain: &Domain,
) -> Result<[Cow<'a, Ensemble>; 2], Refused> {
    let refused = |error| Refused::ClaimDomain { error };
    // A different number of columns is refused later, with a reason of its own.
    if original.features().len() != pruned.features().len() {
        return Ok([original.for_every_input(), pruned.for_every_input()]);
    }
    Ok([original.within(domain).map_err(refused)?, pruned.within(domain).map_err(refused)?])
}
