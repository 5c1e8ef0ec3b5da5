//! Defines tree ensembles and their predictions, exactly.
//!
//! An [`Ensemble`] is a trained classifier, regressor or ranker as its own library executes it:
//! which inputs it accepts, how it compares, in which float type and order it adds, and how scores
//! become a class, if they do. [`Predictor`] gives exactly the library's bits; [`Exact`] the same
//! sums without rounding; [`Rounding`] bounds the distance between the two. [`Grid`] cuts the input
//! space into finitely many cells on which the output is constant.
//!
//! Ensembles are made only by [`EnsembleBuilder`], which checks every index and number, so that no
//! other code has to.
//!
//! # Where to read
//! `ensemble`, `tree` and `feature` are what a model is; `builder` is the only way to make one.
//! `decision` is the rule from scores to a class, `predict` gives the library's bits, and `band`
//! bounds how far they are from the exact sums. `grid` cuts the inputs into cells.
//!
//! `exact` has numbers without rounding, `mantissa` their integers, `exact_sum` fast sums of many.
//! `domain` says which inputs can occur (`domain/scored`: by another model's score), `accepted`
//! puts the inputs of a claim into words, and `doubles` turns a model that rounds its inputs to f32
//! into one that reads doubles. `near` measures how far inputs are from a row. `twin` reads one model twice,
//! on rows that differ in some columns.
//! `label` and `matching` are about the labels of categories, `ids`
//! has the index types.

mod accepted;
mod band;
mod builder;
mod decision;
mod domain;
mod doubles;
mod ensemble;
mod exact;
mod exact_sum;
mod feature;
mod grid;
mod ids;
mod label;
mod mantissa;
mod matching;
mod near;
mod predict;
mod tree;
mod twin;

pub use accepted::Accepted;
pub use band::{LocalRounding, NoMargin, Rounding};
pub use builder::{BuildError, EnsembleBuilder, MAX_FEATURES, MAX_UNNAMED_FEATURES};
pub use decision::{Cut, Decision, Softmax, Transform, Value};
pub use domain::{Column, Domain, DomainError, Group, GroupKind, Outside, Side, Where};
pub use ensemble::{Accumulation, Average, ClassLabels, Ensemble, Features, InterceptPosition, Order, Steps};
pub use exact::Exact;
pub use exact_sum::ExactSum;
pub use feature::{Categories, CategoryRule, Feature, FeatureKind, Intake, NumberType};
pub use grid::{Axis, CellSet, CellValues, Grid, GridError, gap};
pub use ids::{CellId, ClassId, FeatureId, GroupId, LeafId, NodeId, TreeId};
pub use label::{Label, UnplacedLabels};
pub use matching::{LabelError, LabelMatch};
pub use near::{Costs, Near};
pub use predict::{PredictError, Predictor};
pub use tree::{Node, Output, Split, Test, Tree, TreeBuilder};
pub use twin::{Pairing, TwinError, twin_rows};
