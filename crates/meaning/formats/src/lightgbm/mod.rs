//! LightGBM's text models.
//!
//! How LightGBM 4 executes such a file, and therefore what the model built here does:
//!
//! - Inputs are f64; NaN and infinities are accepted. Dense (and CSC) input is read with every
//!   magnitude up to `f64(1e-35f32)` as zero; CSR input is not, which makes a difference at
//!   `x = -f64(1e-35f32)`, where trained thresholds are. The model is that of dense input.
//! - Numeric splits send `x <= threshold` left. Depending on the split's missing type, NaN is read
//!   as zero (`None`), NaN and zero take the default side (`Zero`), or only NaN does (`NaN`).
//!   Categorical splits send the categories of a bit set left, everything else (NaN, unseen,
//!   negative) right.
//! - Scores are f64 sums in the order of the file; tree `j` belongs to class `j mod K` by position.
//!   Random forests divide by the number of rounds in the file, but only for the decision.
//! - The class follows from the rounded probabilities, see `header.rs`. Regressors and rankers have
//!   one score and no classes.
//!
//! The file's bytes are kept: an unchanged file is written as it was read, and an edit copies every
//! line that it does not have to change.

mod categories;
mod edit;
mod header;
mod sections;
mod tree;

use std::io;
use std::sync::Arc;

use secateur_model::{
    Accumulation, Average, ClassLabels, Ensemble, EnsembleBuilder, GroupId, Intake, InterceptPosition,
    NumberType, Order, Output, Steps,
};

use crate::error::{EditError, FormatError, Place, Problem};
use crate::sklearn::Holder;
use crate::{Document, Edit, EditableDocument, Framework};
use header::{Header, Objective};
use sections::Sections;

/// A LightGBM model file.
#[derive(Clone, Debug)]
pub struct File {
    text: Arc<str>,
    layout: Sections,
    ensemble: Ensemble,
    version: String,
    logistic_scale: Option<f64>,
    notes: Vec<String>,
    /// The archive that holds the text; `None` if it is a file of its own.
    holder: Option<Arc<Holder>>,
    /// Trees of that archive after the round at which its `predict` stops; they are not in the text
    /// here.
    unused_trees: usize,
}

impl File {
    /// The same model as part of an archive: with the labels of the object that contains it, and
    /// with the steps of its pipeline before it. There must be as many labels as classes.
    pub(crate) fn held(
        mut self,
        holder: Arc<Holder>,
        labels: Option<ClassLabels>,
        steps: Option<Arc<Steps>>,
        unused_trees: usize,
    ) -> Self {
        if let Some(named) = labels.and_then(|labels| self.ensemble.with_classes(labels)) {
            self.ensemble = named;
        }
        if let Some(steps) = steps {
            self.ensemble = self.ensemble.behind(steps);
        }
        self.holder = Some(holder);
        self.unused_trees = unused_trees;
        self
    }
}

impl File {
    /// The cover of each node of each tree.
    pub(crate) fn covers(&self) -> Option<Vec<Vec<f64>>> {
        (0..self.layout.trees().len()).map(|index| tree::covers(&self.text, &self.layout, index)).collect()
    }
}

/// LightGBM's `kZeroThreshold`, a float literal widened to double.
const ZERO_WINDOW: f32 = 1e-35;

impl Document for File {
    fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let found = "other bytes".to_owned();
            let place = Place::Byte(error.valid_up_to() as u64);
            FormatError::new(place, Problem::Syntax { expected: "UTF-8 text", found })
        })?;
        let layout = Sections::of(text)?;
        let header = Header::parse(&text[..layout.header_end()])?;
        layout.check_sizes(header.tree_sizes)?;
        let (ensemble, labels_dropped) = read_model(text, &layout, &header)?;
        let notes = notes(&header, labels_dropped);
        let version = header.version.unwrap_or("without a version").to_owned();
        let logistic_scale = header.objective.logistic_scale();
        let text = text.into();
        Ok(Self { text, layout, ensemble, version, logistic_scale, notes, holder: None, unused_trees: 0 })
    }

    fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    fn ensemble_mut(&mut self) -> &mut Ensemble {
        &mut self.ensemble
    }

    fn framework(&self) -> Framework {
        Framework::LightGbm
    }

    fn dialect(&self) -> String {
        let held = self.holder.as_ref().map(|holder| format!(", {}", holder.describe()));
        format!("LightGBM text, {}{}", self.version, held.unwrap_or_default())
    }

    fn extension(&self) -> &'static str {
        if self.holder.is_some() { "skops" } else { "txt" }
    }

    fn unused_trees(&self) -> usize {
        self.unused_trees
    }

    fn logistic_scale(&self) -> Option<f64> {
        self.logistic_scale
    }

    fn notes(&self) -> Vec<String> {
        let steps = self.holder.as_ref().and_then(|holder| holder.note());
        steps.into_iter().chain(self.notes.iter().cloned()).collect()
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        match &self.holder {
            Some(holder) => out.write_all(holder.bytes()),
            None => out.write_all(self.text.as_bytes()),
        }
    }
}

impl EditableDocument for File {
    fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        let text = edit::edited_text(&self.text, &self.layout, &self.ensemble, edit)?;
        // Reading back ensures that the model held here is the one in the bytes.
        if let Some(holder) = &self.holder {
            let unchanged = self.unused_trees == 0 && *text == *self.text;
            return if unchanged { Ok(self.clone()) } else { holder.with_text(&text) };
        }
        Self::parse(text.as_bytes()).map_err(|error| EditError::ReadBack { reason: error.to_string() })
    }
}

/// The model, and whether its pandas categories could not be assigned to columns.
fn read_model(text: &str, layout: &Sections, header: &Header) -> Result<(Ensemble, bool), FormatError> {
    let groups = header.groups;
    let count = layout.trees().len();
    if count == 0 {
        let what = "a model without trees".to_owned();
        let advice = "train it for one round at least";
        return Err(FormatError::new(Place::File, Problem::Unsupported { what, advice }));
    }
    if !count.is_multiple_of(groups) {
        let found = format!("{count} trees");
        let expected = "a whole number of rounds of num_tree_per_iteration trees";
        return Err(FormatError::new(Place::File, Problem::Value { found, expected }));
    }
    let mut columns = categories::Columns::new(&header.feature_infos);
    let mut trees = Vec::with_capacity(count);
    for index in 0..count {
        trees.push(tree::read(text, layout, index, &mut columns)?);
    }
    let (features, labels_dropped) = columns.features(&header.feature_names, &text[layout.footer_start()..]);
    let intake = Intake {
        number: NumberType::F64,
        missing: true,
        infinities: true,
        zero_window: Some(f64::from(ZERO_WINDOW)),
    };
    let rounds = (count / groups) as f64;
    let accumulation = Accumulation {
        number: NumberType::F64,
        intercept: InterceptPosition::First,
        order: Order::File,
        average: header.average.then_some(Average { divisor: rounds, in_raw_scores: false }),
    };
    let classes = header.objective.classes(groups);
    let decision = header.objective.decision();
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, vec![0.0; groups], accumulation, decision)?;
    for (index, tree) in trees.into_iter().enumerate() {
        builder.tree(tree, Output::Group(GroupId::new(index % groups)), 1.0)?;
    }
    Ok((builder.build(), labels_dropped))
}

fn notes(header: &Header, labels_dropped: bool) -> Vec<String> {
    let mut notes = vec![
        "values of magnitude up to 1e-35 count as zero, as in LightGBM's dense and CSC input; CSR input \
         compares them as they are, so a row may be decided otherwise there"
            .to_owned(),
    ];
    if header.average {
        notes.push(
            "a random forest: raw scores are sums over the trees, the prediction is made of their average"
                .to_owned(),
        );
    }
    if header.objective == Objective::CrossEntropy {
        notes.push(
            "the objective cross_entropy gives a probability: class 1 is where it is above one half, as \
             LGBMClassifier decides"
                .to_owned(),
        );
    }
    if labels_dropped {
        notes.push(
            "the file lists pandas categories but not of which columns: give categorical columns as codes"
                .to_owned(),
        );
    }
    notes
}
