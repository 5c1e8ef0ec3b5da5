//! What a tree ensemble is and what it predicts, exactly.
//!
//! An [`Ensemble`] is a trained classifier, regressor or ranker as its own library executes it: which inputs it
//! accepts, how it compares, in which float type and order it adds, and how scores become a class, if they do. [`Predictor`] gives
//! the library's own bits; [`Exact`] the same sums without rounding; [`Rounding`] bounds the distance
//! between the two. [`Grid`] cuts the input space into finitely many cells on which nothing changes.
//!
//! Ensembles are made only by [`EnsembleBuilder`], which checks every index and number, so no other code
//! has to.

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
mod predict;
mod tree;

pub use accepted::Accepted;
pub use band::{LocalRounding, NoMargin, Rounding};
pub use builder::{BuildError, EnsembleBuilder, MAX_FEATURES, MAX_UNNAMED_FEATURES};
pub use decision::{Cut, Decision, Softmax, Transform, Value};
pub use domain::{Column, Domain, DomainError, Group, GroupKind, Outside, Side, Where};
pub use ensemble::{Accumulation, Average, ClassLabels, Ensemble, Features, InterceptPosition, Order, Steps};
pub use exact::Exact;
pub use exact_sum::ExactSum;
pub use feature::{Categories, CategoryRule, Feature, FeatureKind, InputDomain, NumberType};
pub use grid::{Axis, CellSet, Grid, GridError};
pub use ids::{CellId, ClassId, FeatureId, GroupId, LeafId, NodeId, TreeId};
pub use label::{Label, UnplacedLabels};
pub use matching::{LabelError, LabelMatch};
pub use predict::{PredictError, Predictor};
pub use tree::{Node, Output, Split, Test, Tree, TreeBuilder};
