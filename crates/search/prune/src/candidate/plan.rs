//! From weights to a model file: turns the terms and the constants into an edit of the file.
//!
//! A candidate's sum of a group is the sum of the kept terms, each times its column's weight, plus
//! a constant. The file keeps its own intercept where it can: the rest of the constant goes into
//! the leaves of one kept tree of the group, because a format without a place for it would need
//! another tree. Which way to write a constant gives the fewest trees is found by trying. Plans
//! become drafts first: models as their files would read back. The file itself is written only for
//! a draft that is worth keeping.

use std::collections::{BTreeMap, BTreeSet};

use secateur_formats::{Edit, EditError, ModelFile, TreeEdit};
use secateur_model::{Decision, Ensemble, Exact, NumberType, Output, Tree, TreeId};

use crate::candidate::column::Column;
use crate::candidate::fold::{Folded, Term, vote_weight};

/// A model that can be edited as its format allows.
pub trait Editable: Clone + 'static {
    /// The model.
    fn ensemble(&self) -> &Ensemble;
    /// The model with other trees and intercepts, as it reads back.
    fn edit(&self, edit: &Edit) -> Result<Self, EditError>;
    /// The model that [`Editable::edit`] would give; implementations may avoid making the file.
    fn draft(&self, edit: &Edit) -> Result<Ensemble, EditError> {
        self.edit(edit).map(|edited| edited.ensemble().clone())
    }
    /// Are trees votes? See [`ModelFile::votes_only`].
    fn votes_only(&self) -> bool;
    /// The size of its file in bytes, if it has a file.
    fn bytes(&self) -> Option<u64>;
}

impl Editable for ModelFile {
    fn ensemble(&self) -> &Ensemble {
        self.ensemble()
    }

    fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        self.edit(edit)
    }

    fn draft(&self, edit: &Edit) -> Result<Ensemble, EditError> {
        self.draft(edit)
    }

    fn votes_only(&self) -> bool {
        self.votes_only()
    }

    fn bytes(&self) -> Option<u64> {
        let mut counter = Counter(0);
        self.write(&mut counter).ok().map(|()| counter.0)
    }
}

/// Counts the bytes that are written.
struct Counter(u64);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The weights of the columns, and the constants that are added to them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) weights: Vec<f64>,
    pub(crate) constants: Constants,
}

/// The constant of each sum.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Constants {
    /// The file's intercepts as they are.
    File,
    /// Zero intercepts.
    Zero,
    /// One constant for each group. If the decision rule has a threshold, it is already subtracted
    /// from its group.
    Own(Vec<Exact>),
}

/// Where the constants are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The difference from the file's intercepts is added to leaves.
    Leaves,
    /// The whole constant is added to leaves, and the intercepts become zero.
    LeavesAlone,
    /// The whole constant becomes the intercepts.
    Intercepts,
}

/// The model of a plan, as its file would read back, and the edit that makes it.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) model: Ensemble,
    pub(crate) edit: Edit,
}

impl Draft {
    fn trees(&self) -> usize {
        self.model.trees().len()
    }
}

/// How many edits are tried for one plan: for another divisor, or without trees that cannot be
/// rewritten.
const TRIES: usize = 6;

/// Writes plans as edits of one file.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a, M> {
    pub(crate) file: &'a M,
    pub(crate) folded: &'a Folded,
    pub(crate) columns: &'a [Column],
    /// Scores are kept: if the library divides sums by the number of trees, sums are scaled to the
    /// new number.
    pub(crate) keeps_scores: bool,
}

impl<M: Editable> Writer<'_, M> {
    /// The draft of a plan that has the fewest trees.
    pub(crate) fn draft(&self, plan: &Plan) -> Result<Draft, EditError> {
        let kept = plan.weights.iter().zip(self.columns).filter(|(weight, _)| **weight > 0.0);
        let kept: usize = kept.map(|(_, column)| column.terms.len()).sum();
        let places: &[Place] = match (&plan.constants, self.file.votes_only()) {
            (Constants::Own(_), false) => &[Place::Leaves, Place::LeavesAlone, Place::Intercepts],
            (Constants::Own(_), true) | (Constants::Zero, _) => &[Place::Intercepts],
            // Some formats can write an intercept of several numbers only as a round of trees;
            // leaves need no such round.
            (Constants::File, false) => &[Place::Leaves, Place::LeavesAlone],
            (Constants::File, true) => &[Place::Leaves],
        };
        let mut best: Result<Draft, EditError> = Err(EditError::NoTrees { model: "candidate" });
        for &place in places {
            let draft = self.draft_at(plan, place);
            let better = match (&best, &draft) {
                (Err(_), _) => true,
                (Ok(best), Ok(new)) => new.trees() < best.trees(),
                (Ok(_), Err(_)) => false,
            };
            if better {
                best = draft;
            }
            if best.as_ref().is_ok_and(|model| model.trees() <= kept) {
                break;
            }
        }
        best
    }

    fn draft_at(&self, plan: &Plan, place: Place) -> Result<Draft, EditError> {
        let divisor = |model: &Ensemble| model.accumulation().divisor();
        let mut assumed = divisor(self.file.ensemble());
        // The threshold times the divisor is compared with the sums, and kept scores depend on the
        // divisor too. The divisor may depend on the trees that are written, so edits are tried
        // until the assumed divisor is the actual one.
        let mut refused = BTreeSet::new();
        let mut tries = 0;
        loop {
            tries += 1;
            let edit = self.edit(plan, place, assumed, &refused);
            match self.file.draft(&edit) {
                Ok(model) => {
                    let actual = divisor(&model);
                    let free = self.threshold().is_none() && !self.keeps_scores;
                    if actual == assumed || free || tries >= TRIES {
                        return Ok(Draft { model, edit });
                    }
                    assumed = actual;
                }
                // A tree that cannot be rewritten may still stay as it is.
                Err(error) => match refused_tree(&error) {
                    Some(tree) if tries < TRIES && refused.insert(tree) => {}
                    _ => return Err(error),
                },
            }
        }
    }

    /// The decision rule's threshold and its group, if it is not zero.
    fn threshold(&self) -> Option<(usize, Exact)> {
        match *self.file.ensemble().decision() {
            Decision::Threshold { group, threshold, .. } if threshold != 0.0 => {
                Some((group.index(), Exact::finite(threshold)))
            }
            _ => None,
        }
    }

    fn edit(&self, plan: &Plan, place: Place, divisor: f64, refused: &BTreeSet<TreeId>) -> Edit {
        let model = self.file.ensemble();
        let own: Vec<Exact> = model.intercepts().iter().map(|&value| Exact::finite(value)).collect();
        let own_divisor = model.accumulation().divisor();
        let ratio = if self.keeps_scores { divisor / own_divisor } else { 1.0 };
        let times_ratio = |value: &Exact| match ratio == 1.0 {
            true => value.clone(),
            false => value * &Exact::finite(ratio),
        };
        // The constants that the sums need in addition to the trees, with the threshold added
        // again.
        let needed: Vec<Exact> = match &plan.constants {
            Constants::File => own.iter().map(times_ratio).collect(),
            Constants::Zero => vec![Exact::zero(); own.len()],
            Constants::Own(constants) => {
                let mut needed: Vec<Exact> = constants.iter().map(times_ratio).collect();
                if let Some((group, threshold)) = self.threshold() {
                    needed[group] += &(&threshold * &Exact::finite(divisor));
                }
                needed
            }
        };
        let mut intercepts = match place {
            Place::Leaves => own.clone(),
            Place::LeavesAlone => vec![Exact::zero(); own.len()],
            Place::Intercepts => needed.clone(),
        };
        let mut kept = self.kept(plan);
        kept.iter_mut().for_each(|(_, weight)| *weight *= ratio);
        let mut shifts: BTreeMap<usize, Vec<Exact>> = BTreeMap::new();
        for group in 0..own.len() {
            let rest = &needed[group] - &intercepts[group];
            if rest.is_zero() {
                continue;
            }
            match self.host_of_constant(&kept, group, refused) {
                Some(term) => {
                    let (shift, slot) = match self.folded.terms[term].tree.output() {
                        Output::Group(_) => (vec![Exact::zero()], 0),
                        Output::All => (vec![Exact::zero(); own.len()], group),
                    };
                    shifts.entry(term).or_insert(shift)[slot] = rest;
                }
                None => intercepts[group] = needed[group].clone(),
            }
        }
        let mut trees: Vec<TreeEdit> =
            kept.iter().map(|&(term, weight)| self.tree_edit(term, weight, shifts.get(&term))).collect();
        trees.sort_by_key(TreeEdit::source);
        let number = model.accumulation().number;
        let intercepts = (intercepts != own)
            .then(|| intercepts.iter().map(|value| NumberType::round_exact(number, value)).collect());
        Edit { trees, intercepts }
    }

    /// The kept terms with their weights.
    fn kept(&self, plan: &Plan) -> Vec<(usize, f64)> {
        let columns = self.columns.iter().zip(&plan.weights).filter(|(_, weight)| **weight > 0.0);
        columns.flat_map(|(column, &weight)| column.terms.iter().map(move |&term| (term, weight))).collect()
    }

    /// The kept term whose leaves take a group's constant: preferably a tree that is rewritten
    /// anyway, then the first.
    fn host_of_constant(
        &self,
        kept: &[(usize, f64)],
        group: usize,
        refused: &BTreeSet<TreeId>,
    ) -> Option<usize> {
        let takes = |&&(term, _): &&(usize, f64)| {
            let term = &self.folded.terms[term];
            let fits = match term.tree.output() {
                Output::Group(own) => own.index() == group,
                Output::All => true,
            };
            fits && !refused.contains(&term.host)
        };
        let rank = |&&(term, weight): &&(usize, f64)| {
            let all = self.folded.terms[term].tree.output() == Output::All;
            (all, self.folded.terms[term].plain, weight == 1.0, term)
        };
        kept.iter().filter(takes).min_by_key(rank).map(|&(term, _)| term)
    }

    fn tree_edit(&self, index: usize, weight: f64, shift: Option<&Vec<Exact>>) -> TreeEdit {
        let term = &self.folded.terms[index];
        let tree = term.host;
        match shift {
            None if term.plain && weight == 1.0 => TreeEdit::Keep(tree),
            None if term.plain => TreeEdit::Scale { tree, factor: weight },
            None if self.file.votes_only() => TreeEdit::Replace { tree, with: votes(term, weight) },
            _ => TreeEdit::Replace { tree, with: scaled(term, weight, shift) },
        }
    }
}

/// A term's tree with its values multiplied by a weight and shifted.
fn scaled(term: &Term, weight: f64, shift: Option<&Vec<Exact>>) -> Tree {
    let weight = Exact::finite(weight);
    let width = term.values.len() / term.tree.leaf_count();
    let value = |(index, value): (usize, &Exact)| {
        let product = &weight * value;
        shift.map_or(product.clone(), |shift| &product + &shift[index % width]).to_f64()
    };
    let values = term.values.iter().enumerate().map(value).collect();
    term.tree.with_leaf_values(values).expect("one value for each slot")
}

/// A term's votes multiplied by a weight. The weight is rounded once for all votes, so that they
/// stay equal.
fn votes(term: &Term, weight: f64) -> Tree {
    let width = term.values.len() / term.tree.leaf_count();
    let leaves: Vec<Vec<Exact>> = term.values.chunks(width).map(<[Exact]>::to_vec).collect();
    let own = vote_weight(&leaves).expect("folding keeps votes");
    let total = (&own * &Exact::finite(weight)).to_f64();
    // This is how scikit-learn rounds its own votes.
    let other = (-1.0 / (width as f64 - 1.0)) * total;
    let value = |leaf: &Vec<Exact>| -> Vec<f64> {
        match &leaf[..] {
            [value] => vec![if value.signum() > 0 { total } else { -total }],
            _ => leaf.iter().map(|value| if *value == own { total } else { other }).collect(),
        }
    };
    let values = leaves.iter().flat_map(value).collect();
    term.tree.with_leaf_values(values).expect("one value for each slot")
}

/// The tree that made an edit fail, if it was a tree.
pub(crate) fn refused_tree(error: &EditError) -> Option<TreeId> {
    match error {
        EditError::TreeContent { tree, .. } | EditError::LeafValue { tree, .. } => Some(*tree),
        _ => None,
    }
}
