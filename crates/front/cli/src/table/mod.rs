//! Tables of inputs: CSV (plain or gzip), Parquet or Arrow, read in chunks of constant size.
//!
//! [`Table`] matches a file's columns with a model's features ([`columns`]), reads cells as the
//! model does ([`cell`]) and returns row-major `f64` values, ready for prediction. Decimals are
//! read as f64 and, if the model reads f32, then rounded to f32 by the model's input domain: the
//! same two steps that pandas and the libraries take.

#[cfg(feature = "parquet")]
mod arrow;
mod cell;
mod columns;
mod csv;
#[cfg(feature = "parquet")]
mod parquet;
mod reading;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use secateur_model::{
    Accumulation, ClassId, ClassLabels, Decision, Ensemble, EnsembleBuilder, FeatureId, Features, GroupId,
    Intake, NumberType, PredictError,
};

use cell::{Cell, ClassNames, Meaning, Value};
use columns::Columns;
pub(crate) use columns::Matching;
pub(crate) use reading::Reading;
use secateur::internal::text::{counted, printable, rows_of_a_pipeline};

/// The first bytes of files in Parquet, in Arrow, and of a stream in Arrow.
const PARQUET: &[u8] = b"PAR1";
const ARROW: &[u8] = b"ARROW1\0\0";
const ARROW_STREAM: &[u8] = &[0xff; 4];

/// How many values a chunk holds, rounded down to whole rows.
const CHUNK_VALUES: usize = 1 << 16;

/// A file that holds a table.
trait Source {
    /// The column names; 0, 1, 2, ... if the file has none.
    fn names(&self) -> &[String];

    /// Does the file contain the names?
    fn has_header(&self) -> bool {
        true
    }

    /// Reads up to `most` rows and returns their number, 0 at the end. `put` gets each cell of the
    /// `wanted` columns with its row in this chunk and its position in `wanted`; if it returns an
    /// error, the place is added to it.
    fn fill(&mut self, wanted: &[usize], most: usize, put: &mut Put<'_>) -> Result<usize>;

    /// Can the values of a column be read, as numbers or text?
    fn is_readable(&self, _column: usize) -> bool {
        true
    }

    /// The place of a row of the last chunk in the file: `row 17 (line 18)`.
    fn place(&self, row: usize) -> String;

    /// The share of the file that has been read, from 0 to 1, if it is known.
    fn done(&self) -> Option<f64>;
}

type Put<'a> = dyn FnMut(usize, usize, Cell<'_>) -> std::result::Result<(), cell::BadCell> + 'a;

/// The values of all rows that are kept at once, about: a gibibyte. A small file of gzip may have any number of rows.
pub(crate) const MOST_VALUES: usize = 1 << 27;

/// The most bytes of a column's name.
const LONGEST_NAME: usize = 1 << 12;

/// A table matched with a model's features.
pub(crate) struct Table {
    path: PathBuf,
    source: Box<dyn Source>,
    columns: Columns,
    meanings: Vec<Meaning>,
    classes: ClassNames,
    feature_names: Vec<String>,
    unseen: Vec<Unseen>,
    reading: Reading,
    rows_per_chunk: usize,
}

/// How a caller uses the target column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Not at all: it is only excluded from the inputs.
    Ignored,
    /// The rows' classes, if every row has one of the model's.
    ClassesIfAll,
    /// The rows' classes; a cell that is not a class is an error.
    Classes,
}

/// What is read from a chunk besides the model's inputs.
enum Beside<'a> {
    Nothing,
    /// The class of each row, from the target column. A cell that is not a class of the model is an
    /// error if `strict`; otherwise no classes are returned.
    Classes {
        found: &'a mut Vec<ClassId>,
        strict: bool,
    },
    /// The text of the id columns, row after row.
    Ids(&'a mut Vec<String>),
}

/// Values of a column that are not categories of the model.
#[derive(Clone, Default)]
struct Unseen {
    count: u64,
    first: Option<String>,
}

impl Table {
    /// Opens a table for a model; `target` names a column that is not an input.
    pub(crate) fn open(
        path: &Path,
        ensemble: &Ensemble,
        target: Option<&str>,
        reading: &Reading,
    ) -> Result<Self> {
        Self::open_with_ids(path, ensemble, target, &[], reading)
    }

    /// The same with id columns, whose text is copied to the output
    /// ([`next_rows_and_ids`](Self::next_rows_and_ids)). They are not inputs, unless the model has
    /// features of their names.
    pub(crate) fn open_with_ids(
        path: &Path,
        ensemble: &Ensemble,
        target: Option<&str>,
        ids: &[String],
        reading: &Reading,
    ) -> Result<Self> {
        let features = ensemble.features();
        if let Some(steps) = features.steps() {
            bail!(rows_of_a_pipeline(steps));
        }
        let is_feature = |name: &str| {
            let mut names = (0..features.len()).map(|index| features.name(FeatureId::new(index)));
            features.has_names() && names.any(|known| known == name)
        };
        let source = open_source(path, reading, &is_feature).with_context(|| path.display().to_string())?;
        Self::of_source(path, source, ensemble, target, ids, reading)
    }

    fn of_source(
        path: &Path,
        source: Box<dyn Source>,
        ensemble: &Ensemble,
        target: Option<&str>,
        ids: &[String],
        reading: &Reading,
    ) -> Result<Self> {
        let open = || -> Result<Self> {
            let features = ensemble.features();
            let columns = Columns::matching(features, source.names(), target, ids)?;
            let width = features.len();
            let meanings = (0..width).map(|index| Meaning::of(ensemble, FeatureId::new(index))).collect();
            let name = |&column: &usize| printable(&source.names()[column]).into_owned();
            Ok(Self {
                path: path.to_owned(),
                feature_names: columns.positions.iter().map(name).collect(),
                source,
                columns,
                meanings,
                classes: ClassNames::of(ensemble.classes()),
                unseen: vec![Unseen::default(); width],
                reading: reading.clone(),
                rows_per_chunk: (CHUNK_VALUES / width.max(1)).max(1),
            })
        };
        open().with_context(|| path.display().to_string())
    }

    /// Opens a table without a model; returns the names of all columns except `target`. A column
    /// whose text is no number is listed in `text_columns` at the end.
    pub(crate) fn without_model(
        path: &Path,
        target: Option<&str>,
        reading: &Reading,
    ) -> Result<(Vec<String>, Self)> {
        let source = open_source(path, reading, &|_| false).with_context(|| path.display().to_string())?;
        let inputs: Vec<String> =
            source.names().iter().filter(|name| Some(name.as_str()) != target).cloned().collect();
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = inputs.iter().find(|name| !seen.insert(name.as_str())) {
            bail!("{}: two columns are called {twice:?}", path.display());
        }
        let intake = Intake::everything(NumberType::F64);
        let accumulation = Accumulation::in_order(NumberType::F64);
        let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
        let (features, classes) = (Features::named(inputs.clone()), ClassLabels::Unnamed(2));
        let model = EnsembleBuilder::new(features, intake, classes, vec![0.0], accumulation, decision)
            .map_err(|error| anyhow!("{}: {error}", path.display()))?
            .build();
        let mut table = Self::of_source(path, source, &model, target, &[], reading)?;
        table.meanings = inputs.iter().map(|_| Meaning::NumberOrText).collect();
        Ok((inputs, table))
    }

    /// For a table without a model: the columns that contain text, each with its first text.
    pub(crate) fn text_columns(&self) -> Vec<(usize, &str)> {
        let texts = self.unseen.iter().enumerate();
        texts.filter_map(|(column, unseen)| Some((column, unseen.first.as_deref()?))).collect()
    }

    /// How columns were matched.
    pub(crate) fn matching(&self) -> Matching {
        self.columns.matching
    }

    /// The columns that are neither inputs nor the target.
    pub(crate) fn ignored(&self) -> &[String] {
        &self.columns.ignored
    }

    /// Reads the next rows into `rows`, row-major, and returns their number; 0 at the end.
    pub(crate) fn next_rows(&mut self, rows: &mut Vec<f64>) -> Result<usize> {
        self.next_chunk(rows, Beside::Nothing)
    }

    /// The same, with the text of each row's id columns in `ids`, one row after the other.
    pub(crate) fn next_rows_and_ids(&mut self, rows: &mut Vec<f64>, ids: &mut Vec<String>) -> Result<usize> {
        self.next_chunk(rows, Beside::Ids(ids))
    }

    /// Reads rows until there are `most` rows or [`MOST_VALUES`] values, or the table ends; with their
    /// classes if these are wanted.
    pub(crate) fn first_rows(&mut self, most: usize, target: Target) -> Result<(Vec<f64>, Vec<ClassId>)> {
        let (mut rows, mut classes) = (Vec::new(), Vec::new());
        let (mut chunk, mut chunk_classes) = (Vec::new(), Vec::new());
        let strict = target == Target::Classes;
        let readable = self.columns.target.is_some_and(|column| strict || self.source.is_readable(column));
        let mut classified = readable && target != Target::Ignored;
        let mut count = 0;
        while count < most && rows.len() < MOST_VALUES {
            let beside = match classified {
                true => Beside::Classes { found: &mut chunk_classes, strict },
                false => Beside::Nothing,
            };
            let read = self.next_chunk(&mut chunk, beside)?;
            if read == 0 {
                break;
            }
            let wanted = read.min(most - count);
            rows.extend_from_slice(&chunk[..wanted * self.meanings.len()]);
            classified &= chunk_classes.len() == read;
            classes.extend(chunk_classes.iter().take(wanted));
            count += wanted;
        }
        if !classified {
            classes.clear();
        }
        Ok((rows, classes))
    }

    fn next_chunk(&mut self, rows: &mut Vec<f64>, mut beside: Beside<'_>) -> Result<usize> {
        let width = self.meanings.len();
        rows.clear();
        rows.resize(self.rows_per_chunk * width, f64::NAN);
        let mut wanted = self.columns.positions.clone();
        let mut unknown_class = false;
        match &mut beside {
            Beside::Nothing => {}
            Beside::Classes { found, .. } => {
                wanted.extend(self.columns.target);
                found.clear();
                found.resize(self.rows_per_chunk, ClassId(0));
            }
            Beside::Ids(found) => {
                wanted.extend(&self.columns.ids);
                found.clear();
                found.resize(self.rows_per_chunk * self.columns.ids.len(), String::new());
            }
        }
        let (meanings, unseen, names) = (&self.meanings, &mut self.unseen, &self.classes);
        let (reading, ids) = (&self.reading, self.columns.ids.len());
        let mut put = |row: usize, feature: usize, cell: Cell<'_>| {
            if let (Beside::Ids(found), true) = (&mut beside, feature >= width) {
                found[row * ids + feature - width] = cell.to_string();
                return Ok(());
            }
            let cell = match cell {
                Cell::Text(text) if reading.is_missing(text) => Cell::Missing,
                cell => cell,
            };
            if let (Beside::Classes { found, strict }, true) = (&mut beside, feature == width) {
                match names.read(cell) {
                    Ok(class) => found[row] = class,
                    Err(_) if !*strict => unknown_class = true,
                    Err(error) => return Err(error),
                }
                return Ok(());
            }
            rows[row * width + feature] = match meanings[feature].read(cell)? {
                Value::Known(value) => value,
                Value::Unseen(value) => {
                    unseen[feature].count += 1;
                    unseen[feature].first.get_or_insert_with(|| cell.shown());
                    value
                }
            };
            Ok(())
        };
        let count = self
            .source
            .fill(&wanted, self.rows_per_chunk, &mut put)
            .with_context(|| self.path.display().to_string())?;
        rows.truncate(count * width);
        match beside {
            Beside::Nothing => {}
            Beside::Classes { found, .. } => found.truncate(if unknown_class { 0 } else { count }),
            Beside::Ids(found) => found.truncate(count * ids),
        }
        Ok(count)
    }

    /// The share of the file that has been read, from 0 to 1, if it is known.
    pub(crate) fn done(&self) -> Option<f64> {
        self.source.done()
    }

    /// Turns a model's refusal of a value into a message with the table's own row and column.
    pub(crate) fn explain(&self, error: &PredictError) -> anyhow::Error {
        let path = self.path.display();
        match error {
            PredictError::Refused { row, feature, value } => {
                let what = match value {
                    value if value.is_nan() => "a missing value",
                    value if value.is_infinite() => "an infinite value",
                    _ => "a value too large for its number type",
                };
                let column = &self.feature_names[feature.index()];
                let place = self.source.place(*row);
                anyhow!(
                    "{path}: {place}, column \"{column}\": {what}, which the library does not accept as an input of \
                     this model; fill or drop such rows"
                )
            }
            other => anyhow!("{path}: {other}"),
        }
    }

    /// A note if the first line of the file was taken for a row.
    pub(crate) fn header_note(&self) -> Option<String> {
        (!self.source.has_header() && self.reading.header == reading::Header::Auto).then(|| {
            format!(
                "note: {}: the first line holds nothing but numbers and is taken for a row; where it holds the column \
                 names, say --header yes",
                self.path.display()
            )
        })
    }

    /// A note for each column with values that are not categories of the model.
    pub(crate) fn unseen_notes(&self) -> impl Iterator<Item = String> + '_ {
        self.feature_names.iter().zip(&self.unseen).filter_map(|(name, unseen)| {
            let first = unseen.first.as_ref()?;
            let values = counted(unseen.count, "value is", "values are");
            Some(format!(
                "note: column \"{name}\": {values} none of the model's categories (the first is {first:?}) and \
                 taken as unseen"
            ))
        })
    }
}

/// Stdin as a file.
fn stdin() -> Result<File> {
    #[cfg(unix)]
    let file = std::os::fd::AsFd::as_fd(&std::io::stdin()).try_clone_to_owned();
    #[cfg(windows)]
    let file = std::os::windows::io::AsHandle::as_handle(&std::io::stdin()).try_clone_to_owned();
    Ok(File::from(file.context("stdin cannot be read")?))
}

fn open_source(path: &Path, reading: &Reading, is_name: &dyn Fn(&str) -> bool) -> Result<Box<dyn Source>> {
    if path.is_dir() {
        bail!("this is a folder; give a CSV or Parquet file");
    }
    let mut file = if path == Path::new("-") {
        stdin()?
    } else {
        File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => anyhow!("there is no such file"),
            _ => anyhow!("cannot be read: {error}"),
        })?
    };
    // The format is detected by content, without seeking back: the file may be a pipe.
    let mut head = Vec::new();
    file.by_ref().take(ARROW.len() as u64).read_to_end(&mut head).context("cannot be read")?;
    let source = if head.starts_with(PARQUET) {
        open_parquet(file)?
    } else if head == ARROW || head.starts_with(ARROW_STREAM) {
        open_arrow(head, file)?
    } else {
        Box::new(csv::CsvTable::open(head, file, path, reading, is_name)?)
    };
    // Messages show names.
    if let Some(column) = source.names().iter().position(|name| name.len() > LONGEST_NAME) {
        bail!("column {} has a name of more than {LONGEST_NAME} bytes", column + 1);
    }
    Ok(source)
}

#[cfg(feature = "parquet")]
fn open_parquet(file: File) -> Result<Box<dyn Source>> {
    Ok(Box::new(parquet::ParquetTable::open(file)?))
}

#[cfg(feature = "parquet")]
fn open_arrow(head: Vec<u8>, file: File) -> Result<Box<dyn Source>> {
    Ok(Box::new(arrow::ArrowTable::open(head, file).context("the file is no readable Arrow file")?))
}

#[cfg(not(feature = "parquet"))]
fn open_parquet(_: File) -> Result<Box<dyn Source>> {
    bail!(
        "this secateur was built without Parquet and Arrow; give a CSV file, or build it with the feature `parquet`"
    )
}

#[cfg(not(feature = "parquet"))]
fn open_arrow(_: Vec<u8>, file: File) -> Result<Box<dyn Source>> {
    open_parquet(file)
}

/// A file that counts the bytes read of it.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

/// How much of a file has been read.
struct Share {
    read: Arc<AtomicU64>,
    /// The file's size; 0 if it has none.
    length: u64,
}

impl Counted {
    fn of(file: File) -> (Self, Share) {
        let length = file.metadata().map_or(0, |file| file.len());
        let read = Arc::new(AtomicU64::new(0));
        (Self { file, read: Arc::clone(&read) }, Share { read, length })
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(feature = "parquet")]
impl io::Seek for Counted {
    fn seek(&mut self, place: io::SeekFrom) -> io::Result<u64> {
        self.file.seek(place)
    }
}

impl Share {
    /// From 0 to 1, if the size is known.
    fn done(&self) -> Option<f64> {
        (self.length > 0).then(|| self.read.load(Ordering::Relaxed) as f64 / self.length as f64)
    }
}
