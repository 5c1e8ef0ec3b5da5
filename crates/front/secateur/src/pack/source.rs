//! The pipeline of `pack` to source: the same model, bit for bit, as C, Rust or WebAssembly, read
//! back and checked before it is handed out.

use secateur_certificate::{Digest, FileDigest, PackingReadError, PackingRecord, PruningStep};
use secateur_checker::Scorer;
use secateur_emit::{
    CoverRows, DECLARATIONS_START, Emitted, Expected, Form, LeafBits, NodeLayout, PAGE_START, Style,
    WRAPPER_START, Web, cover_rows_watched, cover_test, declarations, emit, page, rust_cover_test,
    wasm_cover_test, wrapper,
};
use secateur_formats::{Link, ModelFile, packed};
use secateur_model::{ClassLabels, Ensemble, FeatureId, NumberType, Predictor};
use secateur_source::{Packed, PackingVerdict, is_name};
use serde_json::{Value, json};

use super::{PackingCheck, PackingError, exact_scores};
use crate::Pruning;
use crate::text::grouped;

/// How a model is written as source.
#[derive(Clone, Copy, Debug)]
pub struct SourceOptions<'a> {
    /// The kind of file.
    pub form: Form,
    /// The prefix of the functions' names.
    pub name: &'a str,
    /// Labels of the classes for the comment at the head, if the model's file has none.
    pub labels: Option<&'a ClassLabels>,
    /// The name of the file that the source is written to, without folders. Its test and the files
    /// written beside it refer to this name.
    pub file: &'a str,
    /// Compare values with thresholds as whole numbers, for targets that compute floats in
    /// software. Not available for WebAssembly.
    pub keys: bool,
    /// How inner nodes are laid out; WebAssembly has one layout.
    pub layout: NodeLayout,
    /// Also write a function for the probabilities of classes. The wrapper of WebAssembly always
    /// has one if the model has probabilities.
    pub probabilities: bool,
    /// Also write a cover test.
    pub test: bool,
}

impl<'a> SourceOptions<'a> {
    /// Options for source in this form, in a file of this name, whose functions' names start with
    /// `name`: without keys, probabilities and test.
    pub fn new(form: Form, file: &'a str, name: &'a str) -> Self {
        let layout = NodeLayout::default();
        Self { form, name, labels: None, file, keys: false, layout, probabilities: false, test: false }
    }

    /// What the names of functions start with unless the caller chooses: the file's name without its ending,
    /// so that two models link into one program. What C does not allow in a name becomes `_`; a digit or a
    /// keyword at the start is preceded by `model_`.
    pub fn name_of(file: &str) -> String {
        let stem = std::path::Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
        let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let name: String = stem.chars().map(letter).take(LONGEST_NAME).collect();
        if is_name(&name) {
            return name;
        }
        format!("model_{name}").chars().take(LONGEST_NAME).collect()
    }

    pub(crate) fn style(&self, model: &ModelFile, leaves: Option<LeafBits>) -> Style<'a> {
        let probabilities = self.probabilities.then(|| Link::of(model));
        Style { form: self.form, name: self.name, leaves, keys: self.keys, nodes: self.layout, probabilities }
    }
}

/// The most letters of a name that is made of a file's.
const LONGEST_NAME: usize = 40;

/// A file that is written beside the source, with the same name except for its ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Its ending, without the dot.
    pub ending: &'static str,
    /// What it is, in words.
    pub what: &'static str,
    /// The beginning that all such files of ours share, which tells them from a user's own file.
    pub start: &'static str,
    /// Its text.
    pub text: String,
}

/// The files that are written beside source of this form: the ending, description and beginning of
/// each.
pub fn beside(form: Form) -> &'static [(&'static str, &'static str, &'static str)] {
    match form {
        Form::C => &[("h", "the declarations", DECLARATIONS_START)],
        Form::Wasm => &[("js", "the JavaScript wrapper", WRAPPER_START), ("html", "the page", PAGE_START)],
        _ => &[],
    }
}

/// A model as source.
#[derive(Clone, Debug)]
pub struct SourcePacking {
    /// The source, or the WebAssembly module.
    pub bytes: Vec<u8>,
    /// The files written beside it: for C the header; for WebAssembly a JavaScript wrapper and a
    /// page.
    pub beside: Vec<Beside>,
    /// The certificate, which the independent checker has accepted.
    pub certificate: Vec<u8>,
    /// The cover test, if one was asked for.
    pub test: Option<String>,
    /// Rows of the cover test.
    pub test_rows: usize,
    /// Bytes of the tables once they are compiled.
    pub table_bytes: usize,
}

/// Writes a model as source: the same raw scores in every bit, wherever compiler and processor
/// follow the language and IEEE 754.
///
/// The checker's own reader has read the result back before it is handed out: it compared the code
/// with the known text and the tables with the model, node by node. `watch` is called now and then
/// with the share of the work that is done; if it returns false, the call ends with
/// [`PackingError::Stopped`].
///
/// ```
/// use secateur::{ModelFile, pack::{SourceForm, SourceOptions}};
///
/// let model = ModelFile::parse(secateur::demo::MODEL)?;
/// let options = SourceOptions { test: true, ..SourceOptions::new(SourceForm::C, "loans.c", "loans") };
/// let source = secateur::pack::pack_source(&model, &options, &mut |_| true)?;
/// assert!(String::from_utf8(source.bytes.clone())?.contains("void loans_raw(const double *row, double *scores)"));
/// assert!(secateur::pack::check_source(&model, &source.bytes, &source.certificate)?.is_valid());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pack_source(
    model: &ModelFile,
    options: &SourceOptions<'_>,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<SourcePacking, PackingError> {
    written(model, model, options, None, &[], watch)
}

/// As [`pack_source`] for a model that was pruned, with one certificate for both steps.
pub fn pack_source_pruned(
    original: &ModelFile,
    pruning: &Pruning,
    options: &SourceOptions<'_>,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<SourcePacking, PackingError> {
    let step = pruning.bytes.as_ref().zip(pruning.certificate.as_ref());
    let (model, certificate) = step.ok_or(PackingError::NotCertified)?;
    let step = PruningStep { model: model.clone(), certificate: certificate.bytes.clone() };
    let scorers = Scorer::of(&pruning.pruned.domain);
    written(original, &pruning.pruned.file, options, Some(step), &scorers, watch)
}

/// Checks the certificate of a model as source, as `secateur-check` does. An error means that the
/// bytes are not such a certificate at all.
pub fn check_source(
    original: &ModelFile,
    source: &[u8],
    certificate: &[u8],
) -> Result<PackingCheck, PackingReadError> {
    let packed = Packed::Source(source);
    secateur_source::check_packing(original, packed, &[], certificate, &|| false, 1).map(PackingCheck)
}

fn written(
    original: &ModelFile,
    model: &ModelFile,
    options: &SourceOptions<'_>,
    pruning: Option<PruningStep>,
    scorers: &[Scorer<'_>],
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<SourcePacking, PackingError> {
    let ensemble = model.ensemble();
    // Source refuses the models that a packed file cannot hold.
    packed::refuse(ensemble, options.labels)?;
    if !watch(0.0) {
        return Err(PackingError::Stopped);
    }
    let style = options.style(model, None);
    let Emitted { bytes, table_bytes } = emit(ensemble, style, &style_notes(model, options))?;
    let beside = written_beside(model, options, style, &bytes)?;
    let packed = FileDigest::of(&bytes);
    let certificate =
        PackingRecord { original: Digest::of(original.ensemble()), packed, pruning, quantised: None };
    let certificate = certificate.to_bytes();
    let source = Packed::Source(&bytes);
    match secateur_source::check_packing(original, source, scorers, &certificate, &|| false, 1) {
        Ok(PackingVerdict::Valid(_)) => {}
        Ok(PackingVerdict::Invalid(reason) | PackingVerdict::Incomplete(reason)) => {
            return Err(PackingError::fault(reason.message()));
        }
        Err(error) => return Err(PackingError::fault(error)),
    }
    let (mut test, mut test_rows) = (None, 0);
    if options.test {
        let rows = cover_rows_watched(ensemble, watch).ok_or(PackingError::Stopped)?;
        let scores = exact_scores(ensemble, &rows, watch)?;
        let classes = if ensemble.decision().is_classifier() && !rows.is_empty() {
            let classes = Predictor::new(ensemble).classes(&rows).map_err(PackingError::fault)?;
            classes.iter().map(|class| class.0).collect()
        } else {
            Vec::new()
        };
        let cover = CoverRows { rows: &rows, expected: Expected::Scores(&scores), classes: &classes };
        test_rows = rows.len() / ensemble.features().len().max(1);
        test = Some(made_test(ensemble, options, &cover)?);
    }
    Ok(SourcePacking { bytes, beside, certificate, test, test_rows, table_bytes })
}

/// Makes the files that are written beside the source.
pub(crate) fn written_beside(
    model: &ModelFile,
    options: &SourceOptions<'_>,
    style: Style<'_>,
    source: &[u8],
) -> Result<Vec<Beside>, PackingError> {
    let (link, model) = (Link::of(model), model.ensemble());
    let labels = options.labels.unwrap_or(model.classes());
    let web = Web { model, link, labels, file: options.file, quantised: style.leaves.is_some() };
    let text = |ending: &str| match ending {
        "js" => Ok(wrapper(&web)),
        "html" => Ok(page(&web, source)),
        _ => declarations(model, style, &columns_and_classes(model, labels)),
    };
    let one = |&(ending, what, start)| Ok(Beside { ending, what, start, text: text(ending)? });
    beside(options.form).iter().map(one).collect()
}

/// The cover test in the language of the source.
pub(crate) fn made_test(
    model: &Ensemble,
    options: &SourceOptions<'_>,
    cover: &CoverRows<'_>,
) -> Result<String, PackingError> {
    Ok(match options.form {
        Form::Rust => rust_cover_test(model, options.file, cover),
        Form::Wasm => wasm_cover_test(model, options.file, cover),
        // The header that declares the functions: the one beside the source, or the header that is
        // the model.
        _ => {
            let header = std::path::Path::new(options.file).with_extension("h");
            cover_test(model, options.name, &header.to_string_lossy(), cover)?
        }
    })
}

pub(crate) fn style_notes(model: &ModelFile, options: &SourceOptions<'_>) -> Vec<String> {
    notes(model, options.form, options.labels)
}

/// The notes in the comment at the head of the file.
fn notes(model: &ModelFile, form: Form, labels: Option<&ClassLabels>) -> Vec<String> {
    let ensemble = model.ensemble();
    let leaves: usize = ensemble.trees().iter().map(|tree| tree.leaf_count()).sum();
    let source = match model {
        ModelFile::Packed(packed) => packed.source().to_owned(),
        _ => model.dialect(),
    };
    let word = |number: NumberType| match (form, number) {
        (Form::Rust, NumberType::F32) => "f32",
        (Form::Rust, NumberType::F64) => "f64",
        (Form::Wasm, NumberType::F32) => "doubles, rounded to floats",
        (Form::Wasm, NumberType::F64) => "doubles",
        (_, NumberType::F32) => "float",
        (_, NumberType::F64) => "double",
    };
    let mut notes = vec![
        format!("model: {source}, {} trees, {leaves} leaves", ensemble.trees().len()),
        format!("inputs: {}, a missing value is NaN", word(ensemble.intake().number)),
        "a value that the model's own library refuses gives a score that means nothing".to_owned(),
    ];
    notes.extend(columns_and_classes(ensemble, labels.unwrap_or(ensemble.classes())));
    notes
}

/// A line for each column and class that has a name.
fn columns_and_classes(ensemble: &Ensemble, classes: &ClassLabels) -> Vec<String> {
    let mut notes = Vec::new();
    let features = ensemble.features();
    if features.has_names() && features.len() <= 4096 {
        let name = |feature| format!("column {feature}: {}", features.name(FeatureId::new(feature)));
        notes.extend((0..features.len()).map(name));
    }
    if !matches!(classes, ClassLabels::Unnamed(_)) {
        notes.extend(classes.ids().map(|class| format!("class {}: {}", class.0, classes.text(class))));
    }
    notes
}

impl SourcePacking {
    /// The JSON object that `secateur pack --json` prints. `before` is the size of the model's
    /// file; `certificate` is the path that the certificate is written to, if any.
    pub fn json(&self, before: Option<u64>, certificate: Option<&str>) -> Value {
        json!({
            "outcome": "same_bits",
            "bytes": {"before": before, "after": self.bytes.len(), "tables": self.table_bytes},
            "within": null,
            "certificate": certificate,
            "checked": true,
            "test": self.test.as_ref().map(|_| json!({"rows": self.test_rows})),
        })
    }

    /// The size in words, and the bytes of the tables.
    pub(crate) fn size_words(&self, before: Option<u64>) -> (String, usize) {
        let tables = self.table_bytes;
        let (of_tables, code) = match self.bytes.len() == tables {
            true => ("", ""),
            false => (" of tables", ", and a page of code"),
        };
        let size = match before {
            Some(before) => format!(
                "{} bytes -> {} bytes{of_tables} ({:.1} times smaller){code}\n",
                grouped(before),
                grouped(tables as u64),
                before as f64 / tables.max(1) as f64
            ),
            None => format!("{} bytes{of_tables}{code}\n", grouped(tables as u64)),
        };
        (size, tables)
    }

    /// The same in words.
    pub fn words(&self, before: Option<u64>) -> String {
        let (size, _) = self.size_words(before);
        let mut text = format!("{size}same bits on every input: read back, and checked node by node\n");
        if self.test.is_some() {
            text += &format!("the test has {} rows that reach every leaf and threshold\n", self.test_rows);
        }
        text
    }
}
