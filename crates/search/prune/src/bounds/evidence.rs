//! The evidence for lower bounds, as plain data and as steps of a certificate.
//!
//! Evidence contains only what the bounds need: the inputs, the columns, the cuts that the cover's
//! proof uses, that proof, and a crossing for each relevant boundary. The checker computes
//! everything else again from the original, so nothing here is trusted.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use num_bigint::BigUint;
use secateur_certificate::{CoverTerm, CutTerm, Intercept, Step, Writer};
use secateur_model::{ClassId, FeatureId, Grid, TreeId};

use crate::bounds::cover::CoverProof;
use crate::bounds::cut::ColumnCut;
use crate::passes::relevant::Relevant;
use crate::points::point::{Points, certain_winner};

/// The evidence that nothing smaller suffices.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The inputs that cuts and crossings refer to.
    pub points: Vec<Vec<f64>>,
    /// The original's trees in each column. Trees that are in no column of the run form one more,
    /// the last.
    pub columns: Vec<Vec<TreeId>>,
    /// What may become of the intercept.
    pub intercept: Intercept,
    /// The terms of each cut. Of the columns that they show, one must stay.
    pub cuts: Vec<Vec<Term>>,
    /// The bound on the cost of the columns that stay; `None` if there is no bound.
    pub bound: Option<Bound>,
    /// Boundaries at which any ensemble of threshold splits needs a split.
    pub crossings: Vec<Crossing>,
}

/// A term of a cut: a class's lead over another at a point, times a multiplier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The index of the point.
    pub point: usize,
    /// The class that the original decides for.
    pub winner: ClassId,
    /// The class that it leads over.
    pub other: ClassId,
    /// The multiplier.
    pub multiplier: BigUint,
}

/// A lower bound on the cost of the columns that stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The cost of each column, and after them the cost of a constant where it is counted.
    pub costs: Vec<u64>,
    /// The columns that stay cost at least this.
    pub least: u64,
    /// The proof, which refers to cuts by their indices.
    pub proof: CoverProof,
}

/// Two inputs that differ in one feature and are decided differently.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The index of a point that has all the other values.
    pub point: usize,
    /// The feature.
    pub feature: FeatureId,
    /// Its lower value.
    pub low: f64,
    /// Its higher value.
    pub high: f64,
}

impl Evidence {
    /// Evidence without bounds, for the columns of these points.
    pub fn new(points: &Points<'_>, intercept: impl Into<Intercept>) -> Self {
        let mut columns: Vec<Vec<TreeId>> =
            points.columns().iter().map(|column| column.trees.clone()).collect();
        let rest = trees_in_no_column(points);
        if !rest.is_empty() {
            columns.push(rest);
        }
        Self {
            points: Vec::new(),
            columns,
            intercept: intercept.into(),
            cuts: Vec::new(),
            bound: None,
            crossings: Vec::new(),
        }
    }

    /// Adds a bound, with those of the cuts that its proof uses.
    pub fn with_bound(mut self, points: &Points<'_>, cuts: &[ColumnCut], bound: Bound) -> Self {
        let mut used: Vec<usize> = Vec::new();
        collect_cuts(&bound.proof, &mut used);
        used.sort_unstable();
        used.dedup();
        let mut place = Places::new(&mut self.points);
        for &cut in &used {
            let terms = cuts[cut].demands.iter().map(|(index, multiplier)| {
                let demand = &points.demands()[*index];
                let point = place.of(&points.rows()[demand.point]);
                Term { point, winner: demand.winner, other: demand.other, multiplier: multiplier.clone() }
            });
            self.cuts.push(terms.collect());
        }
        let proof =
            renumbered(&bound.proof, &|cut| used.binary_search(&cut).expect("every used cut is listed"));
        self.bound = Some(Bound { proof, ..bound });
        self
    }

    /// Adds a crossing for each relevant boundary whose two inputs are decided without a tie.
    pub fn with_relevant(mut self, points: &Points<'_>, grid: &Grid, relevant: &Relevant) -> Self {
        let model = points.model();
        let untied = |row: &Vec<f64>| {
            let read: Option<Vec<f64>> = row.iter().map(|&value| model.intake().read(value)).collect();
            let band = points.band().unwrap_or(0.0);
            read.is_some_and(|read| {
                certain_winner(model, &model.exact_sums(model.leaves(&read)), Some(band)).is_some()
            })
        };
        let mut place = Places::new(&mut self.points);
        for (boundary, pair) in relevant.pairs().filter(|(_, pair)| pair.rows.iter().all(untied)) {
            let feature = grid.axes()[boundary.axis].feature();
            // Categories have no order, even if another model that chooses the inputs compares them
            // as numbers.
            if model.features().categories(feature).is_some() {
                continue;
            }
            let [low, high] = pair.rows.each_ref().map(|row| row[feature.index()]);
            self.crossings.push(Crossing { point: place.of(&pair.rows[0]), feature, low, high });
        }
        self
    }
}

/// The trees that folding made constant. A certificate lists them as one column, so that its
/// columns contain all trees of the original.
pub(crate) fn trees_in_no_column(points: &Points<'_>) -> Vec<TreeId> {
    let mut rest: BTreeSet<TreeId> = (0..points.model().trees().len()).map(TreeId::new).collect();
    for tree in points.columns().iter().flat_map(|column| &column.trees) {
        rest.remove(tree);
    }
    rest.into_iter().collect()
}

/// Appends the bounds to a certificate whose systems are already written.
pub fn write_bounds<W: Write>(evidence: &Evidence, writer: &mut Writer<W>) -> io::Result<()> {
    for values in &evidence.points {
        writer.step(&Step::Point { values: values.clone() })?;
    }
    if let Some(bound) = &evidence.bound {
        let intercept = evidence.intercept;
        let columns = evidence.columns.iter().map(|trees| trees.iter().map(|tree| tree.0).collect());
        writer.step(&Step::Columns { intercept, columns: columns.collect() })?;
        for cut in &evidence.cuts {
            let terms = cut.iter().map(|term| CutTerm {
                point: term.point as u32,
                winner: term.winner.0,
                other: term.other.0,
                multiplier: term.multiplier.clone(),
            });
            writer.step(&Step::Cut { terms: terms.collect() })?;
        }
        let costs = bound.costs.iter().any(|&cost| cost != 1).then(|| bound.costs.clone());
        writer.step(&Step::Cover { costs, bound: bound.least })?;
        write_proof(&bound.proof, writer)?;
    }
    for crossing in &evidence.crossings {
        let Crossing { point, feature, low, high } = *crossing;
        writer.step(&Step::Crossing { point: point as u32, feature: feature.0, low, high })?;
    }
    Ok(())
}

/// The case with the column is written first.
fn write_proof<W: Write>(proof: &CoverProof, writer: &mut Writer<W>) -> io::Result<()> {
    match proof {
        CoverProof::Packing { multipliers, denominator } => {
            let terms = multipliers.iter().map(|&(cut, numerator)| CoverTerm { cut: cut as u32, numerator });
            writer.step(&Step::Dual { denominator: *denominator, terms: terms.collect() })
        }
        CoverProof::Branch { column, without, with } => {
            writer.step(&Step::Branch { column: *column as u32 })?;
            write_proof(with, writer)?;
            write_proof(without, writer)
        }
    }
}

/// Collects the cuts that a proof uses.
fn collect_cuts(proof: &CoverProof, used: &mut Vec<usize>) {
    match proof {
        CoverProof::Packing { multipliers, .. } => used.extend(multipliers.iter().map(|(cut, _)| *cut)),
        CoverProof::Branch { without, with, .. } => {
            collect_cuts(without, used);
            collect_cuts(with, used);
        }
    }
}

fn renumbered(proof: &CoverProof, number: &dyn Fn(usize) -> usize) -> CoverProof {
    match proof {
        CoverProof::Packing { multipliers, denominator } => CoverProof::Packing {
            multipliers: multipliers.iter().map(|&(cut, numerator)| (number(cut), numerator)).collect(),
            denominator: *denominator,
        },
        CoverProof::Branch { column, without, with } => CoverProof::Branch {
            column: *column,
            without: Box::new(renumbered(without, number)),
            with: Box::new(renumbered(with, number)),
        },
    }
}

/// A list of distinct inputs.
struct Places<'a> {
    points: &'a mut Vec<Vec<f64>>,
    known: HashMap<Vec<u64>, usize>,
}

impl<'a> Places<'a> {
    fn new(points: &'a mut Vec<Vec<f64>>) -> Self {
        let known = points.iter().enumerate().map(|(index, row)| (bits(row), index)).collect();
        Self { points, known }
    }

    fn of(&mut self, row: &[f64]) -> usize {
        *self.known.entry(bits(row)).or_insert_with(|| {
            self.points.push(row.to_vec());
            self.points.len() - 1
        })
    }
}

fn bits(row: &[f64]) -> Vec<u64> {
    row.iter().map(|value| value.to_bits()).collect()
}
