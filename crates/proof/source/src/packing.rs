//! Is a packed file the model that it claims to be?
//!
//! # What is proved
//! The packed file, as the runtime's own reader reads it by `docs/spec/packed-v1.md`, is the
//! original with renumbered nodes: the same accepted inputs, columns, categories, classes and
//! decision rule; intercepts, weights and leaves that are equal bit for bit; and sums of the same
//! type in the same order. Every tree, walked from the root in both, asks at every node the same
//! question, with the same answer for missing values, and has the same leaves. So every rule that
//! computes a raw score or a class from a model gives the same bits for both, on every input: "same
//! bits".
//!
//! Class labels are compared if the original's file has any. If it has none (XGBoost, LightGBM),
//! the packed file may carry those of the live object that was packed; the index of the winning
//! class is the same.
//!
//! If the runtime's reader misread the file, it would make another model of it, which is refused
//! here: there is no second reader in between that could hide this.
//!
//! Not proved here: that the machine code which runs the file follows the specification. That is
//! tested, and users can repeat the test on their machines (`secateur self-test`).
//!
//! # Source
//! Where the packed file is source (`model.c`), it is read and compared as the head of this crate
//! says.
//!
//! # Quantised leaves
//! Source with quantised leaves is another model, which [`crate::quantised()`] works out from it.
//! Two things can be proved of it. Its scores are within a bound of those that the library
//! computes: by a certificate of a claim about scores, or, without one, from the leaves of each
//! tree by itself ([`crate::bound_by_trees`]). And, if that is claimed, it decides as the model
//! does, by a certificate of its own.
//!
//! # With pruning
//! If the original was pruned first, the certificate holds the pruned model's file and the
//! certificate of its pruning. Both steps are checked: from the original to the pruned model as
//! usual, and from the pruned model to the packed one as above.

use std::borrow::Cow;

use secateur_certificate::{Digest, FileDigest, PackingReadError, PackingRecord, QuantisedStep, ReadError};
use secateur_checker::{
    ClaimKind, Limits, Proved, Reason, Scorer, Unproved, Verdict, aligned, check_with_threads,
};
use secateur_formats::Link;
use secateur_formats::ModelFile;
use secateur_model::{ClassLabels, Ensemble, Node, NodeId, Split, Test, Tree};

use crate::quantised::{bound_by_trees, quantised};
use crate::read::{SourceFile, Unreadable};
use crate::same::same_source;

/// What the certificate of a packing proves.
#[derive(Clone, Debug)]
pub struct PackingProved {
    /// The original model.
    pub original: Digest,
    /// The packed file.
    pub packed: FileDigest,
    /// What is proved of the pruning before the packing, if there was one.
    pub pruning: Option<Proved>,
    /// What is proved of quantised leaves in comparison with the (pruned) model, if the packed file
    /// has such leaves.
    pub quantised: Option<QuantisedProved>,
}

/// What is proved of a file with quantised leaves.
#[derive(Clone, Debug)]
pub struct QuantisedProved {
    /// No score is farther than this from the library's. The library's rounding is included.
    pub within: f64,
    /// The claim about scores, for its inputs; `None` if the bound follows from the leaves of each
    /// tree and holds on every input.
    pub scores: Option<Proved>,
    /// The claim about decisions.
    pub decisions: Option<Proved>,
}

/// The answer about a packing.
#[derive(Debug)]
pub enum PackingVerdict {
    /// The packed file is the original, or, if the claim says so, the pruned original.
    Valid(Box<PackingProved>),
    /// The packed file is another model, or it is not shown to be this one.
    Invalid(PackingReason),
    /// The check of the pruning ended before it was complete.
    Incomplete(PackingReason),
}

/// Why a packing is refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum PackingReason {
    /// The second file is not a packed model.
    NotPacked,
    /// The second file starts as emitted source does, but is not emitted source.
    NotSource(Unreadable),
    /// The certificate is about another original.
    Original {
        /// In the certificate.
        claimed: Digest,
        /// Of the model given.
        found: Digest,
    },
    /// The certificate is about another packed file.
    File {
        /// In the certificate.
        claimed: FileDigest,
        /// Of the file given.
        found: FileDigest,
    },
    /// The packed file names another source than the model it is compared with.
    Source {
        /// In the packed file.
        claimed: Digest,
        /// Of the model that it should be.
        found: Digest,
    },
    /// The packed file is another model.
    Difference(Difference),
    /// The pruned model in the certificate cannot be read.
    PrunedModel(String),
    /// The certificate of the pruning cannot be read.
    PruningUnreadable(ReadError),
    /// The certificate of the pruning is refused.
    Pruning {
        /// Why.
        reason: Reason,
        /// At which of its steps.
        step: Option<u64>,
    },
    /// The certificate is about quantised leaves and the file has none, or the reverse.
    Leaves {
        /// The file has quantised leaves.
        found: bool,
    },
    /// The leaves of each tree do not show the bound on scores, and there is no certificate for it.
    Bound {
        /// What is claimed.
        claimed: f64,
        /// What the leaves show.
        shown: Option<f64>,
    },
    /// A certificate inside that of quantised leaves cannot be read.
    QuantisedUnreadable(ReadError),
    /// A certificate inside that of quantised leaves is refused.
    Quantised {
        /// Why.
        reason: Reason,
        /// At which of its steps.
        step: Option<u64>,
    },
    /// A certificate inside that of quantised leaves is about another claim than it should be.
    QuantisedClaim {
        /// What it should be about.
        expected: &'static str,
    },
}

impl PackingReason {
    /// Its name in results.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotPacked => "packing.not_packed",
            Self::NotSource(_) => "packing.not_source",
            Self::Original { .. } => "packing.original",
            Self::File { .. } => "packing.file",
            Self::Source { .. } => "packing.source",
            Self::Difference(_) => "packing.difference",
            Self::PrunedModel(_) => "packing.pruned_model",
            Self::PruningUnreadable(_) => "packing.pruning_unreadable",
            Self::Pruning { .. } => "packing.pruning",
            Self::Leaves { .. } => "packing.leaves",
            Self::Bound { .. } => "packing.bound",
            Self::QuantisedUnreadable(_) => "packing.quantised_unreadable",
            Self::Quantised { .. } => "packing.quantised",
            Self::QuantisedClaim { .. } => "packing.quantised_claim",
        }
    }

    /// In a sentence.
    pub fn message(&self) -> String {
        match self {
            Self::NotPacked => "The second file is no packed model (.spk).".to_owned(),
            Self::NotSource(why) => format!("The second file is not source that secateur writes: {why}."),
            Self::Original { claimed, found } => {
                format!(
                    "The certificate is about another original: its digest is {claimed}, the model's is {found}."
                )
            }
            Self::File { claimed, found } => {
                format!(
                    "The certificate is about another packed file: its digest is {claimed}, the file's is {found}."
                )
            }
            Self::Source { claimed, found } => {
                format!(
                    "The packed file names another source: its digest is {claimed}, the model's is {found}."
                )
            }
            Self::Difference(difference) => format!("The packed file is another model: {difference}."),
            Self::PrunedModel(message) => {
                format!("The pruned model in the certificate cannot be read: {message}.")
            }
            Self::PruningUnreadable(error) => {
                format!("The certificate of the pruning cannot be read: {error} ({}).", error.code())
            }
            Self::Pruning { reason, step } => {
                format!("The pruning is not proved: {}", reason.describe(*step))
            }
            Self::Leaves { found: true } => {
                "The leaves of the packed file are quantised, and the certificate does not speak of that."
                    .to_owned()
            }
            Self::Leaves { found: false } => {
                "The certificate speaks of quantised leaves, and the packed file has none.".to_owned()
            }
            Self::Bound { claimed, shown: Some(shown) } => format!(
                "The certificate claims scores at most {claimed:e} from the library's without a proof, and the leaves of each tree show \
                 {shown:e}."
            ),
            Self::Bound { claimed, shown: None } => format!(
                "The certificate claims scores at most {claimed:e} from the library's, and the library's own sums may leave the range of \
                 their type."
            ),
            Self::QuantisedUnreadable(error) => {
                format!("A certificate of the quantised leaves cannot be read: {error} ({}).", error.code())
            }
            Self::Quantised { reason, step } => {
                format!("What is claimed of the quantised leaves is not proved: {}", reason.describe(*step))
            }
            Self::QuantisedClaim { expected } => {
                format!(
                    "A certificate of the quantised leaves should be about {expected}, and is about something else."
                )
            }
        }
    }
}

/// A packed model, in one of its forms.
#[derive(Clone, Copy, Debug)]
pub enum Packed<'a> {
    /// A `.spk` file.
    File(&'a ModelFile),
    /// The bytes of emitted source.
    Source(&'a [u8]),
}

/// Checks the certificate of a packing. `scorers` are for a pruning whose claim asks for scores of
/// other models. `stop` is asked now and then while the proof of a pruning, or of quantised leaves,
/// is checked, which uses `threads` threads.
pub fn check_packing(
    original: &ModelFile,
    packed: Packed<'_>,
    scorers: &[Scorer<'_>],
    certificate: &[u8],
    stop: &(dyn Fn() -> bool + Sync),
    threads: usize,
) -> Result<PackingVerdict, PackingReadError> {
    let record = PackingRecord::parse(certificate)?;
    Ok(match judged(original, packed, scorers, &record, stop, threads) {
        Ok(proved) => PackingVerdict::Valid(Box::new(proved)),
        Err(refused) => match *refused {
            (reason, false) => PackingVerdict::Invalid(reason),
            (reason, true) => PackingVerdict::Incomplete(reason),
        },
    })
}

/// The error says whether the check merely did not finish.
fn judged(
    original: &ModelFile,
    packed: Packed<'_>,
    scorers: &[Scorer<'_>],
    record: &PackingRecord,
    stop: &(dyn Fn() -> bool + Sync),
    threads: usize,
) -> Result<PackingProved, Box<(PackingReason, bool)>> {
    let wrong = |reason| Box::new((reason, false));
    let bytes = match packed {
        Packed::File(file @ ModelFile::Packed(_)) => Cow::Owned(file.to_bytes()),
        Packed::File(_) => return Err(wrong(PackingReason::NotPacked)),
        Packed::Source(bytes) => Cow::Borrowed(bytes),
    };
    let found = Digest::of(original.ensemble());
    if found != record.original {
        return Err(wrong(PackingReason::Original { claimed: record.original, found }));
    }
    let found = FileDigest::of(&bytes);
    if found != record.packed {
        return Err(wrong(PackingReason::File { claimed: record.packed, found }));
    }
    let mut pruning = None;
    let read;
    let source = match &record.pruning {
        None => original,
        Some(step) => {
            read = ModelFile::parse(&step.model)
                .map_err(|error| wrong(PackingReason::PrunedModel(error.to_string())))?;
            let (ours, theirs) = (original.ensemble(), read.ensemble());
            let in_order = aligned(ours, theirs);
            let theirs = in_order.as_ref().unwrap_or(theirs);
            match check_with_threads(
                ours,
                theirs,
                scorers,
                &step.certificate,
                &Limits::default(),
                stop,
                threads,
            ) {
                Err(error) => return Err(wrong(PackingReason::PruningUnreadable(error))),
                // No packing is made of a model that was pruned for a threshold, and no caller
                // could ask for one here.
                Ok(Verdict::Valid(proved)) if proved.claim.cuts().is_some() => {
                    let reason =
                        Unproved::ClaimThresholdAsked { claimed: proved.claim.cuts(), asked: None }.into();
                    return Err(wrong(PackingReason::Pruning { reason, step: None }));
                }
                Ok(Verdict::Valid(proved)) if proved.claim.is_about_one_model() => {
                    let (found, asked) = (ClaimKind::OneModel, ClaimKind::Decisions);
                    let reason = Unproved::ClaimKindAsked { found, asked }.into();
                    return Err(wrong(PackingReason::Pruning { reason, step: None }));
                }
                Ok(Verdict::Valid(proved)) => pruning = Some(proved),
                Ok(Verdict::Invalid { reason, step }) => {
                    return Err(wrong(PackingReason::Pruning { reason, step }));
                }
                Ok(Verdict::Incomplete { reason, step }) => {
                    return Err(Box::new((PackingReason::Pruning { reason, step }, true)));
                }
            }
            &read
        }
    };
    // A packed model receives rows as they are, without any earlier pipeline steps.
    if source.ensemble().features().steps().is_some() {
        return Err(wrong(PackingReason::Difference(Difference::Part("the steps before the model"))));
    }
    let quantised = match (&record.quantised, packed) {
        (Some(step), Packed::Source(bytes)) => {
            Some(quantised_proved(source, bytes, scorers, step, stop, threads)?)
        }
        (Some(_), Packed::File(_)) => return Err(wrong(PackingReason::Leaves { found: false })),
        (None, _) => {
            is_the_model(source, packed).map_err(wrong)?;
            None
        }
    };
    Ok(PackingProved { original: record.original, packed: record.packed, pruning, quantised })
}

/// Is the claim about quantised leaves true?
fn quantised_proved(
    source: &ModelFile,
    bytes: &[u8],
    scorers: &[Scorer<'_>],
    step: &QuantisedStep,
    stop: &(dyn Fn() -> bool + Sync),
    threads: usize,
) -> Result<QuantisedProved, Box<(PackingReason, bool)>> {
    let wrong = |reason| Box::new((reason, false));
    let model = source.ensemble();
    let file = SourceFile::parse(bytes).map_err(|error| wrong(PackingReason::NotSource(error)))?;
    let (claimed, found) = (file.source(), Digest::of(model));
    if claimed != found {
        return Err(wrong(PackingReason::Source { claimed, found }));
    }
    if !file.is_quantised() {
        return Err(wrong(PackingReason::Leaves { found: false }));
    }
    let theirs = quantised(model, Link::of(source), &file);
    let theirs = theirs.map_err(|error| wrong(PackingReason::Difference(error)))?.model;
    let followed = |certificate: &[u8]| match check_with_threads(
        model,
        &theirs,
        scorers,
        certificate,
        &Limits::default(),
        stop,
        threads,
    ) {
        Err(error) => Err(wrong(PackingReason::QuantisedUnreadable(error))),
        Ok(Verdict::Valid(proved)) => Ok(proved),
        Ok(Verdict::Invalid { reason, step }) => Err(wrong(PackingReason::Quantised { reason, step })),
        Ok(Verdict::Incomplete { reason, step }) => {
            Err(Box::new((PackingReason::Quantised { reason, step }, true)))
        }
    };
    let within = step.within;
    let scores = match &step.scores {
        Some(certificate) => {
            let proved = followed(certificate)?;
            if proved.claim.within() != Some(within) {
                let expected = "scores that are as near to each other as the certificate around it says";
                return Err(wrong(PackingReason::QuantisedClaim { expected }));
            }
            Some(proved)
        }
        None => {
            let shown = bound_by_trees(model, &theirs);
            if !shown.is_some_and(|shown| shown <= within && within.is_finite()) {
                return Err(wrong(PackingReason::Bound { claimed: within, shown }));
            }
            None
        }
    };
    let decisions = match &step.decisions {
        Some(certificate) => {
            let proved = followed(certificate)?;
            // A caller cannot ask for a threshold here.
            if proved.claim.band().is_none() || proved.claim.cuts().is_some() {
                let expected = "decisions by the libraries' own rules";
                return Err(wrong(PackingReason::QuantisedClaim { expected }));
            }
            Some(proved)
        }
        None => None,
    };
    Ok(QuantisedProved { within, scores, decisions })
}

/// Is the packed model this one?
fn is_the_model(source: &ModelFile, packed: Packed<'_>) -> Result<(), PackingReason> {
    let found = Digest::of(source.ensemble());
    let same_source_as = |claimed: Digest| {
        if claimed == found { Ok(()) } else { Err(PackingReason::Source { claimed, found }) }
    };
    match packed {
        Packed::Source(bytes) => {
            let file = SourceFile::parse(bytes).map_err(PackingReason::NotSource)?;
            same_source_as(file.source())?;
            if file.is_quantised() {
                return Err(PackingReason::Leaves { found: true });
            }
            same_source(source.ensemble(), Link::of(source), &file).map_err(PackingReason::Difference)
        }
        Packed::File(model @ ModelFile::Packed(file)) => {
            same_source_as(Digest(file.stamp().source))?;
            if Link::of(source) != file.link() || source.framework() != model.framework() {
                return Err(PackingReason::Difference(Difference::Part("what becomes of the scores")));
            }
            same_model(source.ensemble(), model.ensemble()).map_err(PackingReason::Difference)
        }
        Packed::File(_) => Err(PackingReason::NotPacked),
    }
}

/// Where two models differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// They differ in something other than a tree.
    Part(&'static str),
    /// In the number of trees.
    Trees {
        /// Of the original.
        original: usize,
        /// Of the packed file.
        packed: usize,
    },
    /// In a tree as a whole.
    Tree {
        /// Which.
        tree: usize,
        /// In what.
        what: &'static str,
    },
    /// Sums of whole numbers, or a product of this tree, may leave 32 bits.
    Overflow {
        /// Which.
        tree: Option<usize>,
    },
    /// At a node.
    Node {
        /// Of which tree.
        tree: usize,
        /// The node's number in the original.
        node: NodeId,
        /// In what.
        what: &'static str,
    },
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Part(what) => write!(f, "{what} differ"),
            Self::Trees { original, packed } => write!(f, "{original} trees became {packed}"),
            Self::Tree { tree, what } => write!(f, "tree {tree} has another {what}"),
            Self::Overflow { tree: Some(tree) } => {
                write!(f, "a leaf of tree {tree} adds more than 32 bits hold")
            }
            Self::Overflow { tree: None } => write!(f, "its sums may leave 32 bits"),
            Self::Node { tree, node, what } => {
                write!(f, "tree {tree}, node {node} of the original: another {what}")
            }
        }
    }
}

/// Are two models the same, except for the numbers of their nodes?
pub fn same_model(original: &Ensemble, packed: &Ensemble) -> Result<(), Difference> {
    let part = |same: bool, what| if same { Ok(()) } else { Err(Difference::Part(what)) };
    let (ours, theirs) = (original.intake(), packed.intake());
    let zero = |window: Option<f64>| window.map(f64::to_bits);
    part(
        ours.number == theirs.number
            && original.accepts_missing() == packed.accepts_missing()
            && ours.infinities == theirs.infinities
            && zero(ours.zero_window) == zero(theirs.zero_window),
        "the accepted inputs",
    )?;
    part(original.features() == packed.features(), "the columns")?;
    // If the original's file has no names for its classes, the packed file may have some; the order
    // of the classes is the same.
    let named = matches!(original.classes(), ClassLabels::Unnamed(count) if *count as usize == packed.classes().len());
    part(named || original.classes() == packed.classes(), "the classes")?;
    part(original.decision() == packed.decision(), "the decision rules")?;
    part(original.accumulation() == packed.accumulation(), "type, order or average of the sums")?;
    let scale = |model: &Ensemble| model.scale().map(f64::to_bits);
    part(scale(original) == scale(packed), "what the sums are multiplied by")?;
    part(same_bits(original.intercepts(), packed.intercepts()), "the intercepts")?;
    part(same_bits(original.intercept_errors(), packed.intercept_errors()), "the errors of the intercepts")?;
    let (ours, theirs) = (original.trees(), packed.trees());
    if ours.len() != theirs.len() {
        return Err(Difference::Trees { original: ours.len(), packed: theirs.len() });
    }
    ours.iter().zip(theirs).enumerate().try_for_each(|(tree, (ours, theirs))| same_tree(tree, ours, theirs))
}

fn same_bits(ours: &[f64], theirs: &[f64]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| a.to_bits() == b.to_bits())
}

fn same_tree(tree: usize, ours: &Tree, theirs: &Tree) -> Result<(), Difference> {
    if ours.output() != theirs.output() {
        return Err(Difference::Tree { tree, what: "output" });
    }
    if ours.weight().to_bits() != theirs.weight().to_bits() {
        return Err(Difference::Tree { tree, what: "weight" });
    }
    // Pairs of nodes that the same answers lead to. This ends because the builder accepts no tree
    // in which a node is reached twice.
    let mut open = vec![(NodeId(0), NodeId(0))];
    while let Some((ours_at, theirs_at)) = open.pop() {
        let differ = |what| Err(Difference::Node { tree, node: ours_at, what });
        match (ours.node(ours_at), theirs.node(theirs_at)) {
            (Node::Leaf(a), Node::Leaf(b)) => {
                if !same_bits(ours.leaf(a), theirs.leaf(b)) {
                    return differ("leaf");
                }
            }
            (
                Node::Split { split: a, left: left_a, right: right_a },
                Node::Split { split: b, left: left_b, right: right_b },
            ) => {
                if !same_split(a, b) {
                    return differ("question");
                }
                open.extend([(left_a, left_b), (right_a, right_b)]);
            }
            _ => return differ("shape"),
        }
    }
    Ok(())
}

fn same_split(a: Split<'_>, b: Split<'_>) -> bool {
    let same_test = match (a.test, b.test) {
        (Test::Less { threshold: a }, Test::Less { threshold: b })
        | (Test::LessOrEqual { threshold: a }, Test::LessOrEqual { threshold: b })
        | (Test::Equal { value: a }, Test::Equal { value: b }) => a.to_bits() == b.to_bits(),
        (
            Test::LessOrEqualButZero { threshold: a, zero_left: left_a },
            Test::LessOrEqualButZero { threshold: b, zero_left: left_b },
        ) => a.to_bits() == b.to_bits() && left_a == left_b,
        (Test::Member { set: a, members_left: left_a }, Test::Member { set: b, members_left: left_b }) => {
            a == b && left_a == left_b
        }
        _ => false,
    };
    same_test && a.feature == b.feature && a.missing_left == b.missing_left
}
