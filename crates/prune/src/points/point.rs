//! Inputs that a candidate must decide as the original does, and what each column says there.
//!
//! A point counts where the original's winner y leads every other class by more than the band; each other
//! class c then gives one demand: the candidate's lead of y over c is positive. All numbers here are f64
//! for the solver's use; what is claimed is computed again, exactly.
//!
//! Where scores are kept, every point counts and gives two demands for each output: the candidate's score is not too far
//! below the original's, and not too far above it. The "lead" of such a demand is the score, or its negative.

use std::collections::HashMap;
use std::ops::Range;

use secateur_model::{ClassId, Ensemble, Exact, ExactSum, LeafId, Output};
use secateur_oracle::Lead;

use crate::candidate::column::Column;

/// One demand on a candidate: at `point` its lead of `winner` over `other` is positive; or, where scores are kept, at least the
/// original's without `slack`.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The position of the point.
    pub point: usize,
    /// The class that the original decides for; where scores are kept, the number of the output.
    pub winner: ClassId,
    /// The class that must stay behind it; where scores are kept, the number of the output too.
    pub other: ClassId,
    /// The original's lead there (in sums, before averaging).
    pub lead: f64,
    /// How far the candidate's may be below it, where scores are kept; else zero.
    pub slack: f64,
    /// What each column adds to the lead at weight one.
    pub columns: Vec<f64>,
    /// What the original's intercept and threshold add to the lead.
    pub intercept: f64,
    /// How often each group's intercept counts in the lead: group and sign.
    pub groups: Vec<(usize, i64)>,
}

/// The points of a run and their demands.
#[derive(Debug)]
pub struct Points<'a> {
    model: &'a Ensemble,
    kept: Kept,
    columns: Vec<Column>,
    rows: Vec<Vec<f64>>,
    /// The point that reaches these leaves, given as plain numbers, which are hashed all at once.
    seen: HashMap<Vec<u32>, usize>,
    demands: Vec<Demand>,
}

/// What is demanded of a candidate.
#[derive(Clone, Copy, Debug)]
enum Kept {
    /// Decisions, where the original leads by more than this, after averaging; `None` in exact arithmetic.
    Decisions { band: Option<f64> },
    /// Sums of trees, up to this; with `constants` what is added to the trees counts too.
    Scores { slack: f64, constants: bool },
}

impl<'a> Points<'a> {
    /// No points yet; decisions are to be kept.
    pub fn new(model: &'a Ensemble, band: Option<f64>, columns: Vec<Column>) -> Self {
        Self::keeping(model, Kept::Decisions { band }, columns)
    }

    /// No points yet; scores are to be kept, up to this difference of sums (before averaging). With `constants` a candidate
    /// chooses what is added to its trees, and else it keeps the file's intercepts.
    pub fn of_scores(model: &'a Ensemble, slack: f64, constants: bool, columns: Vec<Column>) -> Self {
        Self::keeping(model, Kept::Scores { slack, constants }, columns)
    }

    fn keeping(model: &'a Ensemble, kept: Kept, columns: Vec<Column>) -> Self {
        Self { model, kept, columns, rows: Vec::new(), seen: HashMap::new(), demands: Vec::new() }
    }

    /// The original.
    pub fn model(&self) -> &'a Ensemble {
        self.model
    }

    /// The band that the original's leads exceed, after averaging; `None` in exact arithmetic, and where scores are kept.
    pub fn band(&self) -> Option<f64> {
        match self.kept {
            Kept::Decisions { band } => band,
            Kept::Scores { .. } => None,
        }
    }

    /// How many demands a point gives.
    pub fn demands_per_point(&self) -> usize {
        match self.kept {
            Kept::Decisions { .. } => self.model.classes().len() - 1,
            Kept::Scores { .. } => 2 * self.model.group_count(),
        }
    }

    /// The columns that the demands speak of.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The inputs.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// All demands, point by point.
    pub fn demands(&self) -> &[Demand] {
        &self.demands
    }

    /// The demands of a point.
    pub fn demands_of(&self, point: usize) -> Range<usize> {
        let each = self.demands_per_point();
        point * each..(point + 1) * each
    }

    /// Adds an input if it counts and reaches other leaves than all before; how many demands that gives.
    pub fn add(&mut self, row: &[f64]) -> usize {
        let before = self.demands.len();
        self.place(row);
        self.demands.len() - before
    }

    /// The point that reaches the leaves of this input, added if there is none; `None` for one that does not
    /// count: outside the domain, or within the band.
    pub fn place(&mut self, row: &[f64]) -> Option<usize> {
        if !self.model.inputs().contains(row) {
            return None;
        }
        let read: Vec<f64> =
            row.iter().map(|&value| self.model.domain().read(value)).collect::<Option<_>>()?;
        let leaves: Vec<LeafId> = self.model.leaves(&read).collect();
        let key: Vec<u32> = leaves.iter().map(|leaf| leaf.0).collect();
        if let Some(&point) = self.seen.get(&key) {
            return Some(point);
        }
        let sums = self.model.exact_sums(leaves.iter().copied());
        let point = self.rows.len();
        match self.kept {
            Kept::Decisions { band } => self.demand_decisions(point, &leaves, &sums, band)?,
            Kept::Scores { slack, constants } => self.demand_scores(point, &leaves, &sums, slack, constants),
        }
        self.rows.push(row.to_vec());
        self.seen.insert(key, point);
        Some(point)
    }

    /// The winner stays ahead of every other class; `None` where nobody is far enough ahead.
    fn demand_decisions(
        &mut self,
        point: usize,
        leaves: &[LeafId],
        sums: &[Exact],
        band: Option<f64>,
    ) -> Option<()> {
        let winner = certain_winner(self.model, sums, band)?;
        let others = self.model.classes().ids().filter(|&other| other != winner);
        for other in others {
            let lead = Lead::of(self.model, winner, other);
            let constant = intercept_of(self.model, &lead);
            let columns = self.columns.iter().map(|column| column_entry(self.model, leaves, column, &lead));
            self.demands.push(Demand {
                point,
                winner,
                other,
                lead: lead.total(sums).to_f64(),
                slack: 0.0,
                columns: columns.collect(),
                intercept: constant.to_f64(),
                groups: lead.terms.clone(),
            });
        }
        Some(())
    }

    /// Each score stays near to the original's, from below and from above.
    fn demand_scores(
        &mut self,
        point: usize,
        leaves: &[LeafId],
        sums: &[Exact],
        slack: f64,
        constants: bool,
    ) {
        for (group, sum) in sums.iter().enumerate() {
            let own = Exact::finite(self.model.intercepts()[group]);
            let needed = if constants { sum.clone() } else { sum - &own };
            for sign in [1, -1] {
                let terms = vec![(group, sign)];
                let lead = Lead { terms, constant: Exact::zero(), divisor: Exact::zero(), wins_ties: false };
                let columns =
                    self.columns.iter().map(|column| column_entry(self.model, leaves, column, &lead));
                let output = ClassId::new(group);
                self.demands.push(Demand {
                    point,
                    winner: output,
                    other: output,
                    lead: needed.to_f64() * sign as f64,
                    slack,
                    columns: columns.collect(),
                    intercept: own.to_f64() * sign as f64,
                    groups: lead.terms,
                });
            }
        }
    }
}

/// The class whose lead over every other exceeds the band (in exact arithmetic: that wins), if there is
/// one.
pub fn certain_winner(model: &Ensemble, sums: &[Exact], band: Option<f64>) -> Option<ClassId> {
    let band = band.and_then(Exact::from_f64);
    let beats = |winner: ClassId, other: ClassId| {
        let lead = Lead::of(model, winner, other);
        let total = lead.total(sums);
        match &band {
            Some(band) => total > band * &lead.divisor,
            None => total.signum() > 0 || total.is_zero() && lead.wins_ties,
        }
    };
    let classes = || model.classes().ids();
    classes().find(|&winner| classes().all(|other| other == winner || beats(winner, other)))
}

/// What a column adds to a lead, exactly, where the input reaches these leaves.
pub fn column_lead(model: &Ensemble, leaves: &[LeafId], column: &Column, lead: &Lead) -> Exact {
    column_sum(model, leaves, column, lead).total()
}

/// What a column adds to a lead, rounded once.
fn column_entry(model: &Ensemble, leaves: &[LeafId], column: &Column, lead: &Lead) -> f64 {
    match (&column.trees[..], &lead.terms[..]) {
        // One product, which the processor rounds just so; zero has no sign here.
        (&[tree], &[(group, factor @ (1 | -1))]) => {
            let own = model.tree(tree);
            let values = own.leaf(leaves[tree.index()]);
            let value = match own.output() {
                Output::Group(of) if of.index() == group => values[0],
                Output::Group(_) => 0.0,
                Output::All => values[group],
            };
            own.weight() * value * factor as f64 + 0.0
        }
        _ => column_sum(model, leaves, column, lead).to_f64(),
    }
}

fn column_sum(model: &Ensemble, leaves: &[LeafId], column: &Column, lead: &Lead) -> ExactSum {
    let mut sum = ExactSum::new();
    for &tree in &column.trees {
        let own = model.tree(tree);
        let values = own.leaf(leaves[tree.index()]);
        for &(group, factor) in &lead.terms {
            let value = match own.output() {
                Output::Group(of) if of.index() == group => values[0],
                Output::Group(_) => continue,
                Output::All => values[group],
            };
            // Factors are few and small: one, or minus one.
            for _ in 0..factor.unsigned_abs() {
                sum.add(own.weight(), if factor < 0 { -value } else { value });
            }
        }
    }
    sum
}

/// What the intercept and the threshold add to a lead, exactly.
pub fn intercept_of(model: &Ensemble, lead: &Lead) -> Exact {
    let own: Exact = lead
        .terms
        .iter()
        .map(|&(group, factor)| &Exact::finite(model.intercepts()[group]) * &Exact::from(factor))
        .sum();
    &own + &lead.constant
}
