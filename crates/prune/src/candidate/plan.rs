//! From weights to a model file: what becomes of each term and of the constants, as an edit of the file.
//!
//! The candidate's sum of a group is that of the kept terms, each times its column's weight, plus a
//! constant. A file keeps its own intercept where it can: the rest of the constant goes into the leaves of
//! one kept tree of the group, because formats without a place for it would add a tree. Which of the ways
//! to write a constant gives the fewest trees is found by trying them. Plans are drafts, models as their
//! files would read back; the file itself is written for a draft that is worth keeping.

use std::collections::{BTreeMap, BTreeSet};

use secateur_formats::{Edit, EditError, ModelFile, TreeEdit};
use secateur_model::{Decision, Ensemble, Exact, NumberType, Output, Tree, TreeId};

use crate::candidate::column::Column;
use crate::candidate::fold::{Folded, Term, vote_weight};

/// A model that can be edited as its format allows.
pub trait Editable: Clone {
    /// The model.
    fn ensemble(&self) -> &Ensemble;
    /// The same with other trees and intercepts, as it reads back.
    fn edit(&self, edit: &Edit) -> Result<Self, EditError>;
    /// The model that [`Editable::edit`] gives, perhaps without its file.
    fn draft(&self, edit: &Edit) -> Result<Ensemble, EditError> {
        self.edit(edit).map(|edited| edited.ensemble().clone())
    }
    /// Are trees votes? See [`ModelFile::votes_only`].
    fn votes_only(&self) -> bool;
    /// The size of its file, where it has one.
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

/// Counts what is written.
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

/// Weights of columns and what is added to them.
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
    /// These, one for each group. Where a threshold decides, it has been taken from its group.
    Own(Vec<Exact>),
}

/// Where the constants go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// What differs from the file's intercepts goes into leaves.
    Leaves,
    /// All of it goes into leaves, and the intercepts become zero.
    LeavesAlone,
    /// All of it goes into the intercepts.
    Intercepts,
}

/// A plan's model, as its file would read back, and the edit that makes it.
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

/// How often a plan is written anew: for another divisor, or around trees that cannot be changed.
const TRIES: usize = 6;

/// Writes plans as edits of one file.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a, M> {
    pub(crate) file: &'a M,
    pub(crate) folded: &'a Folded,
    pub(crate) columns: &'a [Column],
    /// Scores are kept: where sums are divided by the number of trees, they grow with it.
    pub(crate) keeps_scores: bool,
}

impl<M: Editable> Writer<'_, M> {
    /// The plan's model.
    pub(crate) fn draft(&self, plan: &Plan) -> Result<Draft, EditError> {
        let kept = plan.weights.iter().zip(self.columns).filter(|(weight, _)| **weight > 0.0);
        let kept: usize = kept.map(|(_, column)| column.terms.len()).sum();
        let places: &[Place] = match (&plan.constants, self.file.votes_only()) {
            (Constants::Own(_), false) => &[Place::Leaves, Place::LeavesAlone, Place::Intercepts],
            (Constants::Own(_), true) | (Constants::Zero, _) => &[Place::Intercepts],
            // Some formats hold an intercept of several numbers only as a round of trees, and leaves have room for it.
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
        // A threshold counts times the divisor, which may depend on the trees that are written, and so do scores.
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
                // A tree that cannot be written anew may still stay as it is.
                Err(error) => match refused_tree(&error) {
                    Some(tree) if tries < TRIES && refused.insert(tree) => {}
                    _ => return Err(error),
                },
            }
        }
    }

    /// The threshold that decides, and its group.
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
        // What the sums need beside the trees, threshold included again.
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

    /// The terms that stay, with their weights.
    fn kept(&self, plan: &Plan) -> Vec<(usize, f64)> {
        let columns = self.columns.iter().zip(&plan.weights).filter(|(_, weight)| **weight > 0.0);
        columns.flat_map(|(column, &weight)| column.terms.iter().map(move |&term| (term, weight))).collect()
    }

    /// The kept term that takes a group's constant into its leaves: one that is written anew anyway, else
    /// the first.
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

/// A term's tree with its values times a weight, shifted.
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

/// A term's votes with their weight. Votes are rounded together, so that all have the same weight.
fn votes(term: &Term, weight: f64) -> Tree {
    let width = term.values.len() / term.tree.leaf_count();
    let leaves: Vec<Vec<Exact>> = term.values.chunks(width).map(<[Exact]>::to_vec).collect();
    let own = vote_weight(&leaves).expect("folding keeps votes");
    let total = (&own * &Exact::finite(weight)).to_f64();
    // As scikit-learn's own votes are rounded.
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

/// The tree that an edit could not be carried out at.
pub(crate) fn refused_tree(error: &EditError) -> Option<TreeId> {
    match error {
        EditError::TreeContent { tree, .. } | EditError::LeafValue { tree, .. } => Some(*tree),
        _ => None,
    }
}
