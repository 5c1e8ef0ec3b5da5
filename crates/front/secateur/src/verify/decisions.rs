//! The question about decisions: do two models decide alike?

use std::time::{Duration, Instant};

use secateur_model::{ClassId, ClassLabels, Ensemble, FeatureId, LabelMatch};
use secateur_oracle::{Band, CompareError, Counterexample, Outline, Undecided, Verdict, has_inputs};
use secateur_report as page;
use serde_json::{Map, Value, json};

use super::words::{Findings, Line, json_number, row_json, stopped};
use super::{Answered, Call, Conclusion, Found, VerifyReport, labels, reading};
use crate::domain::OutsideRows;
use crate::error::Error;
use crate::logistic;
use crate::rows::{RowsSeen, rows_seen};
use crate::text::{counted, number, printable, rounded_up};

/// The time that may be spent after the time limit on finding what is still known.
const AFTER_LIMIT: Duration = Duration::from_millis(200);

/// What was found about the decisions of two models.
#[derive(Clone, Debug)]
pub struct DecisionsFound {
    /// The answer.
    pub verdict: Verdict,
    /// The band of the claim, as a score.
    pub band: f64,
    /// The probability of class 1 at which the models decide, if it is not their libraries' own
    /// rule.
    pub threshold: Option<f64>,
    /// Is the claim about exact sums, and not about a library's rounded ones?
    pub exact: bool,
    /// Counts over the caller's rows that both models accept; `None` without such rows.
    pub seen: Option<RowsSeen>,
    /// The decimal logarithm of the number of cells of the domain; `None` for every input.
    pub cells_log10: Option<f64>,
    /// Rows of the caller that lie outside of the domain; nothing is claimed about them.
    pub outside: Option<OutsideRows>,
    /// For an undecided comparison: the larger band for which the claim is proved.
    pub proved_above: Option<f64>,
    /// The caller's row that the counterexample is near to, and the number of columns in which they
    /// differ.
    pub nearest: Option<(usize, usize)>,
}

/// Answers the question.
pub(super) fn answer(call: &Call<'_>, band: Band, threshold: Option<f64>) -> Result<Answered, Error> {
    let [ours, theirs] = call.models;
    has_inputs(ours.domain()).map_err(CompareError::from)?;
    let outline = Outline::new(ours, theirs, band)?;
    if threshold.is_some() && outline.class_in_second(ClassId(1)) != ClassId(1) {
        return Err(Error::ThresholdClasses);
    }
    let (domain, accepted) = (outline.domain(), *outline.accepted());
    let mut found = DecisionsFound {
        verdict: Verdict::Identical,
        band: outline.band(),
        threshold,
        exact: band == Band::Exact,
        seen: seen_rows(&outline, call.rows, band)?,
        cells_log10: if domain.is_everything() { None } else { outline.log10_cells() },
        outside: OutsideRows::find(ours, call.rows),
        proved_above: None,
        nearest: None,
    };
    let (nodes, certificate) = search(call, outline, &mut found)?;
    Ok(Answered { found: Found::Decisions(found), domain, accepted, nodes, certificate })
}

/// Evaluates the rows that both models accept.
fn seen_rows(outline: &Outline<'_>, rows: &[f64], band: Band) -> Result<Option<RowsSeen>, Error> {
    // The models with matched labels are used: a row holds the first model's codes, which the
    // second may not share.
    let models = outline.labels().models();
    let width = models[0].features().len().max(1);
    let accepted = |row: &&[f64]| both_accept(models, row);
    let rows: Vec<f64> = rows.chunks_exact(width).filter(accepted).flatten().copied().collect();
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(Some(rows_seen(models, &|class| outline.class_in_second(class), &rows, band, outline.band())?))
}

/// Do both libraries accept a row, each category of which both know?
pub(crate) fn both_accept(models: [&Ensemble; 2], row: &[f64]) -> bool {
    let is_label = |(at, &value): (usize, &f64)| {
        let categories = models[0].features().categories(FeatureId::new(at));
        value.is_nan() || categories.is_none_or(|categories| categories.accepts(value))
    };
    row.iter().enumerate().all(is_label) && models.iter().all(|model| model.accepts(row))
}

/// Asks the search; returns the number of boxes that it visited, and the proof that the checker
/// accepted.
fn search(
    call: &Call<'_>,
    outline: Outline<'_>,
    found: &mut DecisionsFound,
) -> Result<(u64, Option<Vec<u8>>), Error> {
    // For a model and itself the answer is known without a search, unless a proof is to be written.
    if !call.options.certificate && outline.is_same_model() {
        return Ok((0, None));
    }
    let search = call.search()?;
    // Even with no time left, small models are laid out, so that the result can say what is known.
    let least = Instant::now() + AFTER_LIMIT;
    let comparison = match outline.lay_out(&call.until(search.deadline.map(|deadline| deadline.max(least)))) {
        Ok(comparison) => comparison,
        Err(CompareError::Stopped(reason)) => {
            found.verdict = Verdict::Undecided(Undecided::Stopped(reason));
            return Ok((0, None));
        }
        Err(error) => return Err(error.into()),
    };
    let settings = search.settings(comparison.layout());
    let (compared, proof) = if search.certifies {
        let (compared, writer) =
            comparison.certify(&settings, Vec::new()).map_err(|error| search.failed(error))?;
        (compared, writer.map(|writer| writer.finish(true)).transpose()?)
    } else {
        (comparison.run(&settings), None)
    };
    let certificate = search.checked(proof)?;
    found.verdict = compared.verdict;
    let stopped = match found.verdict {
        Verdict::Undecided(Undecided::Stopped(reason)) => Some(reason),
        _ => None,
    };
    if let Some(reason) = search.close(found.conclusion(), stopped, certificate.is_some())? {
        found.verdict = Verdict::Undecided(Undecided::Stopped(reason));
    }
    if let Verdict::Different(example) = &mut found.verdict
        && let Some((near, row, distance)) = comparison.nearest(example, call.rows)
    {
        found.nearest = Some((row, distance));
        **example = near;
    }
    found.proved_above = match found.verdict {
        // Finding what is known all the same may exceed the limit by AFTER_LIMIT.
        Verdict::Undecided(_) if !call.budget.is_cancelled() => {
            comparison.proved_above(&call.until(search.deadline.map(|_| Instant::now() + AFTER_LIMIT)))
        }
        _ => None,
    };
    Ok((compared.nodes, certificate))
}

impl DecisionsFound {
    fn counterexample(&self) -> Option<&Counterexample> {
        match &self.verdict {
            Verdict::Different(example) => Some(example),
            _ => None,
        }
    }

    fn leads(&self, report: &VerifyReport<'_>, band: f64) -> String {
        let probability = probability(report, band);
        let interval = probability.map(|interval| format!(" (probability {})", logistic::words(interval)));
        let interval = interval.unwrap_or_default();
        format!("the first model's winner leads by more than {band:.3e}{interval}")
    }
}

/// The first model's probabilities at the ends of a band, for logistic models.
fn probability(report: &VerifyReport<'_>, band: f64) -> Option<[f64; 2]> {
    match report.models()[0].cut() {
        Some(cut) => logistic::around(report.first, cut, band),
        None => logistic::probabilities(report.first, band),
    }
}

impl Findings for DecisionsFound {
    fn conclusion(&self) -> Conclusion {
        match self.verdict {
            Verdict::Identical => Conclusion::Proved,
            Verdict::Different(_) => Conclusion::Refuted,
            Verdict::Undecided(_) => Conclusion::Open,
        }
    }

    fn outcome(&self) -> &'static str {
        match self.verdict {
            Verdict::Identical => "identical",
            Verdict::Different(_) => "different",
            Verdict::Undecided(_) => "undecided",
        }
    }

    fn reason(&self) -> Option<&'static str> {
        match &self.verdict {
            Verdict::Undecided(why) => Some(undecided(why)),
            _ => None,
        }
    }

    fn row(&self) -> Option<&[f64]> {
        self.counterexample().map(|example| &*example.row)
    }

    fn cells_json(&self) -> Option<Value> {
        Some(json!(self.cells_log10))
    }

    fn facts(&self, report: &VerifyReport<'_>, object: &mut Map<String, Value>) {
        object.insert("threshold".to_owned(), json!(self.threshold));
        let band = json!({
            "score": self.band,
            "probability": probability(report, self.band),
            "exact": self.exact,
        });
        object.insert("band".to_owned(), band);
        object.insert("data".to_owned(), json!(self.seen.as_ref().map(rows_json)));
        object.insert("proved_above".to_owned(), json!(self.proved_above));
    }

    fn example_facts(
        &self,
        report: &VerifyReport<'_>,
        matched: &LabelMatch<'_>,
        object: &mut Map<String, Value>,
    ) {
        let models = report.models();
        let outside = self.outside.as_ref().map(|rows| rows.json(models[0]));
        object.insert("rows_outside_domain".to_owned(), json!(outside));
        let example = self.counterexample().map(|example| {
            let features = models[0].features();
            let label = |model: usize| json_label(models[model].classes(), example.classes[model]);
            let scores =
                |model: usize| -> Vec<Value> { example.scores[model].iter().map(|&s| json_number(s)).collect() };
            json!({
                "input": row_json(features, &example.row),
                "labels": labels::of_row(matched, features, &example.row),
                "classes": [label(0), label(1)],
                "scores": [scores(0), scores(1)],
                "in_libraries": example.in_libraries,
                "nearest_row": self.nearest.map(|(row, columns)| json!({"row": row + 1, "index": row, "columns_changed": columns})),
            })
        });
        object.insert("counterexample".to_owned(), json!(example));
    }

    fn headline(&self) -> String {
        match &self.verdict {
            Verdict::Identical if self.exact => "identical in their exact sums: proved".to_owned(),
            Verdict::Identical => "identical: proved".to_owned(),
            Verdict::Different(_) => "different".to_owned(),
            Verdict::Undecided(why) => format!("undecided: {}", undecided(why)),
        }
    }

    fn claim(&self, report: &VerifyReport<'_>, mut inputs: String, line: Line<'_>) {
        if let Some(threshold) = self.threshold {
            inputs += &format!("with the probability of the second class compared with {threshold}, ");
        }
        let claim = if self.exact {
            format!("{inputs}the exact sums decide the same, ties by each library's rule; {ROUNDING_NOTE}")
        } else if self.band == 0.0 {
            format!(
                "{inputs}as the libraries decide, wherever the first model's scores do not tie; its sums are exact"
            )
        } else {
            let who =
                if self.threshold.is_some() { "however that rounds" } else { "as the libraries decide" };
            format!("{inputs}{who}, wherever {}", self.leads(report, self.band))
        };
        line("claim", &claim);
        if self.exact {
            line("rounding", &rounding_words(report.models()));
        }
        if let Some(seen) = &self.seen {
            line("data", &seen.words(self.exact));
        }
        if let Some(outside) = &self.outside {
            line("outside", &outside.words(report.models()[0]));
        }
        if let Some(above) = self.proved_above {
            line("proved", &format!("they decide alike wherever {}", self.leads(report, above)));
        }
    }

    fn example(&self, report: &VerifyReport<'_>, matched: &LabelMatch<'_>, verbose: bool, line: Line<'_>) {
        let Some(example) = self.counterexample() else { return };
        let models = report.models();
        for (model, key) in ["first says", "second says"].into_iter().enumerate() {
            let number_type = models[model].accumulation().number;
            let label = models[model].classes().text(example.classes[model]);
            let scores: Vec<String> = example.scores[model].iter().map(|&s| number(s, number_type)).collect();
            line(key, &format!("{}, raw score {}", printable(&label), scores.join(", ")));
        }
        if !example.in_libraries {
            line(
                "note",
                "the libraries round to the same class here: the difference is one of exact arithmetic",
            );
        }
        if let Some((row, columns)) = self.nearest {
            let what = match columns {
                0 => format!("the input is row {} of the table as it is", row + 1),
                _ => format!(
                    "the input is row {} of the table with {} changed",
                    row + 1,
                    counted(columns as u64, "column", "columns")
                ),
            };
            line("near", &what);
        }
        if let Some(why) = reading::between_thresholds(models, &example.row) {
            line("why", &why);
        }
        report.row_words(matched, &example.row, verbose, line);
    }

    fn page(&self, report: &VerifyReport<'_>, matched: &LabelMatch<'_>, page: &mut page::Report) {
        page.outcome = match self.verdict {
            Verdict::Identical => page::Outcome::Identical,
            Verdict::Different(_) => page::Outcome::Different,
            Verdict::Undecided(_) => page::Outcome::Undecided,
        };
        page.claim.band = self.band;
        page.claim.exact = self.exact;
        page.claim.rows = self.seen.as_ref().map(|seen| seen.words(self.exact));
        page.claim.probability = probability(report, self.band);
        page.counterexample = self.counterexample().map(|example| {
            let (values, unused) = report.row_page(matched, &example.row);
            let class =
                |model: usize| report.models()[model].classes().text(example.classes[model]).into_owned();
            page::Counterexample {
                values,
                unused,
                classes: [class(0), class(1)],
                scores: example.scores.clone(),
                in_libraries: example.in_libraries,
                near: self.nearest.map(|(row, changed)| page::Near { row: row + 1, changed }),
            }
        });
    }
}

fn undecided(why: &Undecided) -> &'static str {
    match why {
        Undecided::Stopped(reason) => stopped(*reason),
        Undecided::OrderOfAddition(_) => {
            "the last bits of the second model's scores or probabilities vary (order of addition, processor), and for some \
             inputs they may decide"
        }
    }
}

/// The limit of a claim about exact sums.
pub(crate) const ROUNDING_NOTE: &str = "where a library's rounding decides, its classes can differ";

/// How near to a tie the libraries' rounding may decide differently from the exact sums of two
/// models.
pub(crate) fn rounding_words(models: [&Ensemble; 2]) -> String {
    let margins = models.map(Ensemble::certain_margin);
    match margins {
        [Some(first), Some(second)] => format!(
            "may decide where the winner leads by at most {} in the first model and {} in the second; nowhere else",
            rounded_up(first),
            rounded_up(second)
        ),
        _ => {
            models.iter().find_map(|model| model.no_margin()).map_or_else(String::new, |why| why.to_string())
        }
    }
}

/// Counts on rows, for scripts.
pub(crate) fn rows_json(seen: &RowsSeen) -> Value {
    json!({
        "rows": seen.rows,
        "measured": seen.measured,
        "in_band": seen.in_band,
        "rounded": seen.rounded,
        "changed_in_band": seen.changed,
    })
}

fn json_label(classes: &ClassLabels, class: ClassId) -> Value {
    match classes {
        ClassLabels::Unnamed(_) => json!(class.0),
        ClassLabels::Integers(labels) => json!(labels[class.index()]),
        ClassLabels::Floats(labels) => json!(labels[class.index()]),
        ClassLabels::Booleans(labels) => json!(labels[class.index()]),
        ClassLabels::Strings(labels) => json!(labels[class.index()]),
    }
}
