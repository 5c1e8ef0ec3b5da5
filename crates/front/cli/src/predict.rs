//! `secateur predict`: classes, values or raw scores for a table, with the bits of the model's own
//! library.

use std::fmt::Write;

use anyhow::{Result, bail};
use csv::WriterBuilder;
use secateur::predict::{Probabilities, Scorer};
use secateur_model::{ClassId, ClassLabels, Decision, Ensemble, PredictError, Value};

use crate::arguments::{Predict, Verbosity};
use crate::model;
use crate::output::{Output, refuse_to_overwrite};
use crate::progress::Progress;
use crate::table::{Matching, Table};
use secateur::internal::text::{counted, listed, write_number};

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
    let rows = predict(&predictor, &mut table, &command.id, &mut output, verbosity)?;
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
    ids: &[String],
    output: &mut Output,
    verbosity: Verbosity,
) -> Result<u64> {
    let Predictor { ensemble, probabilities, shown } = *model;
    let mut scorer = Scorer::new(ensemble);
    let mut progress = Progress::start(verbosity);
    let named = matches!(shown, Shown::Class | Shown::Probabilities);
    let labels = if named { label_lines(ensemble.classes())? } else { Vec::new() };
    let number = ensemble.accumulation().number;
    let mut text = csv_fields(ids)?;
    text += &header(ensemble, shown);
    let (mut rows, mut names) = (Vec::new(), Vec::new());
    let mut total = 0;
    loop {
        // The header is printed with the first rows: if the library refuses these, nothing is
        // printed.
        let count = table.next_rows_and_ids(&mut rows, &mut names)?;
        if count == 0 {
            break;
        }
        let ids = match ids.len() {
            0 => vec![String::new(); count],
            width => names.chunks_exact(width).map(csv_fields).collect::<Result<_>>()?,
        };
        let mut ids = ids.iter();
        // Writes the id columns in front of a row's prediction.
        let mut begin = |text: &mut String| ids.next().into_iter().for_each(|id| text.push_str(id));
        let write_numbers = |numbers: &[f64]| {
            begin(&mut text);
            for (index, &value) in numbers.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_number(&mut text, value, number);
            }
            text.push('\n');
        };
        let written = match shown {
            Shown::Class => scorer.classes(&rows).map(|classes| {
                for class in classes {
                    begin(&mut text);
                    text.push_str(&labels[class.index()]);
                }
            }),
            Shown::Probabilities => scorer.classes(&rows).map(|classes| {
                let found =
                    probabilities.and_then(|probabilities| probabilities.of(&rows)).unwrap_or_default();
                for (class, row) in classes.into_iter().zip(found.chunks_exact(labels.len())) {
                    begin(&mut text);
                    text.push_str(labels[class.index()].trim_end_matches('\n'));
                    for probability in row {
                        let _ = write!(text, ",{probability:?}");
                    }
                    text.push('\n');
                }
            }),
            Shown::LabelProbabilities => scorer.values(&rows).map(|values| {
                let values = values.unwrap_or_default();
                let found =
                    probabilities.and_then(|probabilities| probabilities.of(&rows)).unwrap_or_default();
                let width = ensemble.group_count();
                for (values, row) in values.chunks_exact(width).zip(found.chunks_exact(width)) {
                    begin(&mut text);
                    for &value in values {
                        write_number(&mut text, value, number);
                        text.push(',');
                    }
                    let row: Vec<String> = row.iter().map(|probability| format!("{probability:?}")).collect();
                    text.push_str(&row.join(","));
                    text.push('\n');
                }
            }),
            Shown::Scores => scorer.raw_scores(&rows).map(|scores| {
                scores.chunks_exact(ensemble.group_count()).for_each(write_numbers);
            }),
            Shown::Values => scorer.values(&rows).map(|values| {
                let values = values.unwrap_or_default();
                values.chunks_exact(ensemble.group_count()).for_each(write_numbers);
            }),
        };
        written.map_err(|error: PredictError| table.explain(&error))?;
        output.write(text.as_bytes())?;
        text.clear();
        total += count as u64;
        progress.count(total, "rows", table.done());
    }
    output.write(text.as_bytes())?;
    let time = progress.finish();
    if verbosity == Verbosity::Verbose {
        verbosity.note(format!("{} in {:.3} s", counted(total, "row", "rows"), time.as_secs_f64()));
    }
    Ok(total)
}

/// These texts as fields of a CSV line, each followed by a comma.
fn csv_fields(texts: &[String]) -> Result<String> {
    if texts.is_empty() {
        return Ok(String::new());
    }
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    // An empty last field, so that the line ends with a comma.
    writer.write_record(texts.iter().map(String::as_str).chain([""]))?;
    let line = String::from_utf8(writer.into_inner()?)?;
    Ok(line.trim_end_matches('\n').to_owned())
}

fn header(ensemble: &Ensemble, shown: Shown) -> String {
    let name = match shown {
        Shown::Class => return "class\n".to_owned(),
        Shown::Probabilities => {
            let names = (0..ensemble.classes().len()).map(|class| format!(",p_{class}"));
            return format!("class{}\n", names.collect::<String>());
        }
        Shown::LabelProbabilities => {
            let names =
                |name: &'static str| (0..ensemble.group_count()).map(move |label| format!("{name}_{label}"));
            return names("value").chain(names("p")).collect::<Vec<_>>().join(",") + "\n";
        }
        Shown::Values if ensemble.group_count() == 1 => return "value\n".to_owned(),
        Shown::Values => "value",
        Shown::Scores => "score",
    };
    let names: Vec<String> = (0..ensemble.group_count()).map(|group| format!("{name}_{group}")).collect();
    names.join(",") + "\n"
}

/// The CSV line of each class.
fn label_lines(classes: &ClassLabels) -> Result<Vec<String>> {
    let line = |index| {
        let mut writer = WriterBuilder::new().from_writer(Vec::new());
        writer.write_record([classes.text(ClassId::new(index)).as_ref()])?;
        Ok(String::from_utf8(writer.into_inner()?)?)
    };
    (0..classes.len()).map(line).collect()
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
