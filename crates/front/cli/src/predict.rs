//! `secateur predict`: classes, values or raw scores for a table, with the bits of the model's own
//! library.

use anyhow::{Result, bail};
use secateur::predict::{Probabilities, Scorer};
use secateur_model::{ClassId, Decision, Ensemble, NumberType, PredictError, Value};

use crate::arguments::{Predict, Verbosity};
use crate::model;
use crate::output::{Output, refuse_to_overwrite};
use crate::predictions::{Columns, Format, Part, Sink, sink};
use crate::progress::Progress;
use crate::table::{Matching, Table};
use secateur::internal::text::{counted, listed};

pub(crate) fn run(command: &Predict, verbosity: Verbosity) -> Result<()> {
    let model = model::read(&command.model)?;
    let ensemble = model.file.ensemble();
    let target = command.target.as_deref();
    let mut table = Table::open_with_ids(&command.data, ensemble, target, &command.id, &command.reading)?;
    explain_matching(&table, ensemble, verbosity);
    if let Some(path) = &command.output {
        refuse_to_overwrite(
            path,
            &[(&command.model, "the model itself"), (&command.data, "the table itself")],
        )?;
    }
    let format = Format::of(command.output.as_deref())?;
    let probabilities = Probabilities::new(&model.file).filter(|_| command.proba);
    if command.proba && probabilities.is_none() {
        bail!(
            "{}: --proba: this model's library makes no probabilities of classes of its scores, as far as is known here; --raw prints \
             the scores",
            command.model.display()
        );
    }
    let mut output = Output::open(command.output.as_deref())?;
    let shown = Shown::of(ensemble, command);
    if let (Shown::Scores, false, Decision::Scores(Value::NotFixed(transform))) =
        (shown, command.raw, ensemble.decision())
    {
        verbosity.note(format!(
            "note: these are raw scores. The prediction is {}, whose last bits depend on more than the file and the \
             input",
            secateur::internal::transform_words(*transform, "the score")
        ));
    }
    let predictor = Predictor { ensemble, probabilities: probabilities.as_ref(), shown };
    let numbers = numbers(ensemble, shown);
    let classes = shown.has_class().then(|| ensemble.classes());
    let columns = Columns { ids: &command.id, classes, numbers: &numbers };
    let rows = predict(&predictor, &mut table, sink(format, columns, &mut output)?, verbosity)?;
    output.finish()?;
    table.unseen_notes().for_each(|note| verbosity.note(note));
    if let (Some(path), true) = (&command.output, verbosity >= Verbosity::Normal) {
        verbosity.note(format!("{}: {}", path.display(), counted(rows, "row", "rows")));
    }
    Ok(())
}

/// A model, and the outputs that are wanted.
struct Predictor<'a> {
    ensemble: &'a Ensemble,
    probabilities: Option<&'a Probabilities>,
    shown: Shown,
}

/// The prediction that is printed for a row.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    Class,
    /// The class, and the probability of each.
    Probabilities,
    /// The labels that a row gets, if it may get several, and the probability of each.
    LabelProbabilities,
    /// The numbers that a regressor's `predict` returns.
    Values,
    Scores,
}

impl Shown {
    /// Is the class of each row shown?
    fn has_class(self) -> bool {
        matches!(self, Self::Class | Self::Probabilities)
    }

    fn of(ensemble: &Ensemble, command: &Predict) -> Self {
        match ensemble.decision() {
            _ if command.raw => Self::Scores,
            Decision::Scores(_) if command.proba => Self::LabelProbabilities,
            _ if command.proba => Self::Probabilities,
            Decision::Scores(Value::NotFixed(_)) => Self::Scores,
            Decision::Scores(_) => Self::Values,
            _ => Self::Class,
        }
    }
}

/// Predicts every row of the table and returns the number of rows.
fn predict(
    model: &Predictor<'_>,
    table: &mut Table,
    mut sink: Box<dyn Sink + '_>,
    verbosity: Verbosity,
) -> Result<u64> {
    let mut scorer = Scorer::new(model.ensemble);
    let mut progress = Progress::start(verbosity);
    let (mut rows, mut ids) = (Vec::new(), Vec::new());
    let mut total = 0;
    loop {
        // The header is written with the first rows: if the library refuses these, nothing is
        // written.
        let count = table.next_rows_and_ids(&mut rows, &mut ids)?;
        if count == 0 {
            break;
        }
        let found = model.predict(&mut scorer, &rows);
        let (classes, numbers) = found.map_err(|error: PredictError| table.explain(&error))?;
        sink.rows(&Part { ids: &ids, classes: &classes, numbers: &numbers, rows: count })?;
        total += count as u64;
        progress.count(total, "rows", table.done());
    }
    sink.finish()?;
    let time = progress.finish();
    if verbosity == Verbosity::Verbose {
        verbosity.note(format!("{} in {:.3} s", counted(total, "row", "rows"), time.as_secs_f64()));
    }
    Ok(total)
}

impl Predictor<'_> {
    /// The class of each row, if it is shown, and the numbers, row after row.
    fn predict(
        &self,
        scorer: &mut Scorer<'_>,
        rows: &[f64],
    ) -> Result<(Vec<ClassId>, Vec<f64>), PredictError> {
        let probabilities = || self.probabilities.and_then(|known| known.of(rows)).unwrap_or_default();
        Ok(match self.shown {
            Shown::Class => (scorer.classes(rows)?, Vec::new()),
            Shown::Probabilities => (scorer.classes(rows)?, probabilities()),
            Shown::LabelProbabilities => {
                let values = scorer.values(rows)?.unwrap_or_default();
                let (width, own) = (self.ensemble.group_count(), probabilities());
                let both = values.chunks_exact(width).zip(own.chunks_exact(width));
                (Vec::new(), both.flat_map(|(values, own)| [values, own].concat()).collect())
            }
            Shown::Scores => (Vec::new(), scorer.raw_scores(rows)?),
            Shown::Values => (Vec::new(), scorer.values(rows)?.unwrap_or_default()),
        })
    }
}

/// The names and types of the numbers that are shown.
fn numbers(ensemble: &Ensemble, shown: Shown) -> Vec<(String, NumberType)> {
    let groups = ensemble.group_count();
    let own = ensemble.accumulation().number;
    let all = |name: &str, count: usize, number: NumberType| -> Vec<(String, NumberType)> {
        (0..count).map(|index| (format!("{name}_{index}"), number)).collect()
    };
    match shown {
        Shown::Class => Vec::new(),
        Shown::Probabilities => all("p", ensemble.classes().len(), NumberType::F64),
        Shown::LabelProbabilities => [all("value", groups, own), all("p", groups, NumberType::F64)].concat(),
        Shown::Values if groups == 1 => vec![("value".to_owned(), own)],
        Shown::Values => all("value", groups, own),
        Shown::Scores => all("score", groups, own),
    }
}

fn explain_matching(table: &Table, ensemble: &Ensemble, verbosity: Verbosity) {
    if let Some(note) = table.header_note() {
        verbosity.note(note);
    }
    match table.matching() {
        Matching::ByOrder => {
            let why = if ensemble.features().has_names() {
                "no column has a feature's name"
            } else {
                "the model has no feature names"
            };
            verbosity.note(format!("note: columns are matched by order ({why})"));
        }
        Matching::ByName => {
            if verbosity == Verbosity::Verbose {
                verbosity.note("columns are matched by name");
            }
        }
    }
    let ignored = table.ignored();
    if !ignored.is_empty() {
        let names = listed(ignored.iter().map(String::as_str), 8);
        let count = counted(ignored.len() as u64, "column is", "columns are");
        verbosity.note(format!("note: {count} not used: {names}"));
    }
}
