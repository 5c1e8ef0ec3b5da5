//! ONNX graphs with one `TreeEnsembleClassifier` or `TreeEnsembleRegressor`, as skl2onnx and
//! onnxmltools write them, or with one `TreeEnsemble`, executed by onnxruntime.
//!
//! The file's bytes are the document. Reading finds the ensemble's node in them (`graph`), its
//! attributes (`table`, and `newer` for `TreeEnsemble`) and the model that they define (`model`;
//! `overlay` if the result is the smallest or largest of the trees' values). An edit writes new
//! attributes (`edit`) and splices the node back, so that everything else stays as it was, byte for
//! byte.

mod attribute;
mod edit;
mod graph;
mod merged;
mod model;
mod newer;
mod overlay;
mod scaling;
mod table;
mod way;
mod wire;

use std::io;

use secateur_model::{Decision, Ensemble, NumberType};

use crate::error::{EditError, FormatError};
use crate::{Document, Edit, EditableDocument, Framework};
use graph::{Operator, Site};
use model::{Form, Shape};
use table::{Aggregate, Table};
use wire::{Message, put_bytes};

/// An ONNX model file.
#[derive(Clone, Debug)]
pub struct File {
    bytes: Vec<u8>,
    site: Site,
    form: Form,
    /// If the trees of the file are read as one: which of their values is the result, and how many
    /// trees there are.
    overlaid: Option<(Aggregate, usize)>,
    ensemble: Ensemble,
}

impl Document for File {
    fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::from_bytes(bytes.to_vec())
    }

    fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    fn ensemble_mut(&mut self) -> &mut Ensemble {
        &mut self.ensemble
    }

    fn framework(&self) -> Framework {
        Framework::Onnx
    }

    fn dialect(&self) -> String {
        let producer = if self.site.producer.is_empty() { "unknown" } else { &self.site.producer };
        let number = match self.site.number {
            NumberType::F32 => "float",
            NumberType::F64 => "double",
        };
        format!("ONNX by {producer}, ai.onnx.ml {}, {number}", self.site.opset)
    }

    fn extension(&self) -> &'static str {
        "onnx"
    }

    /// ONNX Runtime decides on the score itself, before any transformation.
    fn logistic_scale(&self) -> Option<f64> {
        None
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "onnxruntime adds trees in the file's order with one thread only; what is proved holds for every \
             order"
                .to_owned(),
        ];
        if let (Form::OneScore { .. }, Decision::Threshold { threshold, .. }) =
            (self.form, self.ensemble.decision())
        {
            let negative = if *threshold == 0.0 { "a" } else { "no" };
            notes.push(format!(
                "the score is compared with {threshold} because {negative} weight in the file is negative"
            ));
        }
        if self.form == Form::TwoScores {
            notes.push(
                "with weights for two classes onnxruntime decides on the sign of the second score, and \
                 integer labels are always 0 and 1"
                    .to_owned(),
            );
        }
        if self.site.number == NumberType::F64 && self.site.operator != Operator::Newer {
            let decides = if self.site.operator == Operator::Regressor { "" } else { "decides on them and " };
            notes.push(format!("scores are f64; onnxruntime {decides}shows them rounded to f32"));
        }
        if let Some((aggregate, trees)) = self.overlaid {
            let least = if aggregate == Aggregate::Smallest { "smallest" } else { "largest" };
            notes.push(format!(
                "the file has {trees} trees and predicts the {least} of their values; they are read as one tree that \
                 holds all of them"
            ));
        }
        if !self.site.scaling.is_empty() {
            notes.push(
                "the graph scales its input; thresholds are shown for the input as it is given, which the file has for \
                 what the scaler makes of it"
                    .to_owned(),
            );
        }
        if self.site.columns.is_none() {
            notes.push(
                "the graph leaves the number of columns open; up to the last one used is read".to_owned(),
            );
        }
        notes
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&self.bytes)
    }
}

impl EditableDocument for File {
    fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        let read_back = |error: FormatError| EditError::ReadBack { reason: error.to_string() };
        let node = Message::within(&self.bytes, self.site.node.1.clone());
        let Site { number, opset, operator, .. } = self.site;
        let (table, _) =
            Table::read(node, number, opset, operator).and_then(overlay::as_one).map_err(read_back)?;
        let shape = Shape::new(&table).map_err(read_back)?;
        let moved = self.site.scaling.move_thresholds(&mut table.clone()).map_err(read_back)?;
        let scaled = edit::Scaled { scaling: &self.site.scaling, originals: &moved };
        let changed = edit::changed(&table, &shape, self.form, &self.ensemble, edit, scaled)?;
        if changed.has_trees_of(&table) {
            return Ok(self.clone());
        }
        // New leaves can make branches look equal to onnxruntime that did not before. The error
        // names the tree, so that pruning can keep it.
        if let Some((tree, _)) = merged::find(&changed, number).map_err(read_back)? {
            let what = "two tests for equality with such leaves: onnxruntime would make one test of them";
            return Err(EditError::TreeContent { tree: edit.trees[tree].source(), what });
        }
        let body = match operator {
            Operator::Newer => newer::write(&changed, &self.bytes, node),
            Operator::Classifier | Operator::Regressor => changed.write(&self.bytes, node),
        }
        .map_err(read_back)?;
        Self::from_bytes(self.splice(&body)).map_err(read_back)
    }
}

impl File {
    fn from_bytes(bytes: Vec<u8>) -> Result<Self, FormatError> {
        let site = graph::locate(&bytes)?;
        let node = Message::within(&bytes, site.node.1.clone());
        let table = Table::read(node, site.number, site.opset, site.operator)?;
        merged::check(&table, site.number)?;
        let (mut table, overlaid) = overlay::as_one(table)?;
        site.scaling.move_thresholds(&mut table)?;
        let form = Form::of(&table)?;
        let ensemble = model::build(&table, &site)?;
        Ok(Self { bytes, site, form, overlaid, ensemble })
    }

    /// The file with another body for the ensemble's node.
    fn splice(&self, body: &[u8]) -> Vec<u8> {
        let Site { graph: (graph, inside), node: (node, _), .. } = &self.site;
        let mut content = Vec::with_capacity(inside.len());
        content.extend(&self.bytes[inside.start..node.start]);
        put_bytes(&mut content, 1, body);
        content.extend(&self.bytes[node.end..inside.end]);
        let mut bytes = Vec::with_capacity(self.bytes.len());
        bytes.extend(&self.bytes[..graph.start]);
        put_bytes(&mut bytes, 7, &content);
        bytes.extend(&self.bytes[graph.end..]);
        bytes
    }
}
