//! Inputs on which a candidate must decide as the original does, and what each column adds there.
//!
//! A point counts if the original's winner y leads every other class by more than the band. Each
//! other class c then gives one demand: the candidate's lead of y over c must be positive. All
//! numbers here are f64 for the solver's use; whatever is claimed is computed again, exactly.
//!
//! Where scores are kept, every point counts and gives two demands for each output: the candidate's
//! score must not be too far below the original's, and not too far above it. The "lead" of such a
//! demand is the score or its negative.

use std::collections::HashMap;
use std::ops::Range;

use secateur_model::{ClassId, Ensemble, Exact, ExactSum, LeafId, Output};
use secateur_oracle::Lead;

use crate::candidate::column::Column;

/// One demand on a candidate. For decisions: at `point`, its lead of `winner` over `other` must be
/// positive. For scores: its lead must be at least the original's minus `slack`.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The index of the point.
    pub point: usize,
    /// The class that the original decides for; for scores, the index of the output.
    pub winner: ClassId,
    /// The class that must rank below it; for scores, the index of the output again.
    pub other: ClassId,
    /// The original's lead at the point, in sums (before averaging).
    pub lead: f64,
    /// How far the candidate's lead may be below the original's, for scores; zero for decisions.
    pub slack: f64,
    /// What each column adds to the lead if its weight is one.
    pub columns: Vec<f64>,
    /// What the original's intercept and threshold add to the lead.
    pub intercept: f64,
    /// How often each group's intercept counts in the lead: the group and a signed count.
    pub groups: Vec<(usize, i64)>,
}

/// The points of a run and their demands.
#[derive(Clone, Debug)]
pub struct Points<'a> {
    model: &'a Ensemble,
    kept: Kept,
    columns: Vec<Column>,
    rows: Vec<Vec<f64>>,
    /// The point that reaches these leaves. Leaves are plain numbers here, because these can be
    /// hashed all at once.
    seen: HashMap<Vec<u32>, usize>,
    demands: Vec<Demand>,
}

/// What a candidate has to keep.
#[derive(Clone, Copy, Debug)]
enum Kept {
    /// Decisions, where the original leads by more than this band, after averaging; `None` for
    /// exact arithmetic.
    Decisions { band: Option<f64> },
    /// Sums up to this distance. With `constants`, the candidate also chooses what is added to its
    /// trees.
    Scores { slack: f64, constants: bool },
}

impl<'a> Points<'a> {
    /// No points yet, for keeping decisions.
    pub fn new(model: &'a Ensemble, band: Option<f64>, columns: Vec<Column>) -> Self {
        Self::keeping(model, Kept::Decisions { band }, columns)
    }

    /// No points yet, for keeping scores up to this distance of sums (before averaging). With
    /// `constants` a candidate chooses what is added to its trees; otherwise it keeps the file's
    /// intercepts.
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

    /// The band that the original's leads must exceed, after averaging; `None` for exact
    /// arithmetic, and where scores are kept.
    pub fn band(&self) -> Option<f64> {
        match self.kept {
            Kept::Decisions { band } => band,
            Kept::Scores { .. } => None,
        }
    }

    /// How many demands each point gives.
    pub fn demands_per_point(&self) -> usize {
        match self.kept {
            Kept::Decisions { .. } => self.model.classes().len() - 1,
            Kept::Scores { .. } => 2 * self.model.group_count(),
        }
    }

    /// The columns that the demands have entries for.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The inputs.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// All demands, in the order of the points.
    pub fn demands(&self) -> &[Demand] {
        &self.demands
    }

    /// The indices of a point's demands.
    pub fn demands_of(&self, point: usize) -> Range<usize> {
        let each = self.demands_per_point();
        point * each..(point + 1) * each
    }

    /// Adds an input if it counts and reaches other leaves than all points before it. Returns how
    /// many demands that adds.
    pub fn add(&mut self, row: &[f64]) -> usize {
        let before = self.demands.len();
        self.place(row);
        self.demands.len() - before
    }

    /// The index of the point that reaches the same leaves as this input; the input is added if
    /// there is none. `None` if the input does not count: it is outside the domain or within the
    /// band.
    pub fn place(&mut self, row: &[f64]) -> Option<usize> {
        if !self.model.domain().contains(row) {
            return None;
        }
        let read: Vec<f64> =
            row.iter().map(|&value| self.model.intake().read(value)).collect::<Option<_>>()?;
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

    /// Demands that the winner leads every other class; `None` if no class leads by enough.
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

    /// Demands that each score stays near the original's, from below and from above.
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

/// The class whose lead over every other class exceeds the band, if there is one; without a band,
/// the class that wins in exact arithmetic.
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

/// What a column adds to a lead, exactly, for an input that reaches these leaves.
pub fn column_lead(model: &Ensemble, leaves: &[LeafId], column: &Column, lead: &Lead) -> Exact {
    column_sum(model, leaves, column, lead).total()
}

/// What a column adds to a lead, rounded once to f64.
fn column_entry(model: &Ensemble, leaves: &[LeafId], column: &Column, lead: &Lead) -> f64 {
    match (&column.trees[..], &lead.terms[..]) {
        // The processor rounds a single product once, just as an exact sum would be; adding 0.0
        // removes the sign of a zero.
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
            // Factors are small, mostly one or minus one, so the value is added that often.
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
