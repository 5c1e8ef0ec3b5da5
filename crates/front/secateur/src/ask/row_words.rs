//! Answers about single rows as words and as JSON.

use std::path::{Path, PathBuf};

use secateur_model::{FeatureId, LabelMatch, NumberType};
use serde_json::{Value, json};

use super::explain::{Because, Kept};
use super::words::{Report, outcome_name};
use super::{Case, Question, Radius};
use crate::text::{counted, grouped, number, plain, printable};
use crate::verify::{Conclusion, json_number, value_words};

/// How many rows of a table a sentence names.
const NAMED: usize = 8;
/// How many columns of a reason a sentence names.
const REASONS: usize = 30;

/// The file of one of several certificates, of rules or of rows, which are counted from 1: `proof.cert` as
/// `proof-17.cert`.
pub fn suffixed(path: &Path, suffix: impl std::fmt::Display) -> PathBuf {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let ending = path.extension().map_or_else(String::new, |own| format!(".{}", own.to_string_lossy()));
    path.with_file_name(format!("{stem}-{suffix}{ending}"))
}

impl Report<'_> {
    fn class_of(&self, case: &Case) -> String {
        printable(&self.ensemble().classes().text(case.class)).into_owned()
    }

    /// The columns with their changes, as a condition.
    fn changes(&self, given: &[(String, f64)]) -> String {
        let named = self.answer.columns.iter().zip(given).enumerate().map(|(at, (&column, (_, change)))| {
            let changes = if at == 0 { " changes" } else { "" };
            format!("{}{changes} by at most {}", self.name(column), plain(*change))
        });
        named.collect::<Vec<_>>().join(", ")
    }

    /// What is proved or shown about the rows.
    pub(super) fn robust(&self) -> String {
        let (Question::Robust { within, units, share, .. }, cases) =
            (&self.answer.question, &self.answer.cases)
        else {
            return String::new();
        };
        let missing = match self.ensemble().accepts_missing() {
            true => "all else stays (missing values too)",
            false => "all else stays",
        };
        let named = self.answer.columns.iter().zip(units);
        let units: Vec<String> =
            named.map(|(&column, (_, unit))| format!("{} {}", self.name(column), plain(*unit))).collect();
        let units = units.join(", ");
        let condition = match within.is_empty() {
            false => format!("where {} and {missing}", self.changes(within)),
            true => format!(
                "where every column changes by less than its radius times its unit ({units}) and {missing}"
            ),
        };
        if let [case] = &cases[..] {
            return self.robust_row(case, &condition, &units, missing, within.is_empty());
        }
        let of = |outcome| cases.iter().filter(move |case| case.outcome == outcome);
        let count = |outcome| of(outcome).count() as u64;
        let names = |outcome| {
            let rows: Vec<String> = of(outcome).take(NAMED).map(|case| (case.at + 1).to_string()).collect();
            let more = if count(outcome) > NAMED as u64 { ", ..." } else { "" };
            format!("{}{more}", rows.join(", "))
        };
        let proved = count(Conclusion::Proved);
        let all = counted(cases.len() as u64, "row", "rows");
        let mut text = match within.is_empty() {
            false => format!("{} of {all} keep their class {condition}", grouped(proved)),
            true => {
                let least = |case: &Case| case.radius.map_or(0.0, |radius| radius.at_least);
                let mut known: Vec<(f64, usize)> =
                    cases.iter().map(|case| (least(case), case.at + 1)).collect();
                known.sort_by(|a, b| a.0.total_cmp(&b.0));
                let (median, lowest) = (known[(known.len() - 1) / 2].0, known[0]);
                format!(
                    "the rows keep their class {condition}: the radius is at least {} (row {}), and of half of them at least {}; \
                     it is exact for {} of {all}",
                    plain(lowest.0),
                    lowest.1,
                    plain(median),
                    grouped(proved)
                )
            }
        };
        if count(Conclusion::Refuted) > 0 {
            text += &format!(
                "; an input of another class shows that these do not: {}",
                names(Conclusion::Refuted)
            );
        }
        if count(Conclusion::Open) > 0 {
            let why = self.answer.reason.unwrap_or("the budget was used up");
            text += &format!("; open: {} ({why})", names(Conclusion::Open));
        }
        if let Some(share) = share {
            text += &format!("; a share of {} was asked for", plain(*share));
        }
        text
    }

    fn robust_row(&self, case: &Case, condition: &str, units: &str, missing: &str, radius: bool) -> String {
        let (row, class) = (case.at + 1, self.class_of(case));
        let why = case.reason.unwrap_or("the budget was used up");
        if !radius {
            return match case.outcome {
                Conclusion::Proved => format!("row {row} keeps class {class} {condition}"),
                Conclusion::Refuted => {
                    format!("row {row} does not keep class {class} {condition}: the row \"after\" shows it")
                }
                Conclusion::Open => {
                    format!("it is not known whether row {row} keeps class {class} {condition}: {why}")
                }
            };
        }
        let Some(Radius { at_least, at_most, exact }) = case.radius else {
            return format!("nothing is proved about changes of row {row}, of class {class}: {why}");
        };
        if at_least.is_infinite() {
            return format!(
                "row {row} keeps class {class} whatever these columns hold ({units}), where {missing}"
            );
        }
        let proved = format!(
            "row {row} keeps class {class} where every column changes by less than {} of its unit ({units}) and {missing}",
            plain(at_least)
        );
        match (at_most, exact) {
            (Some(_), true) => {
                format!("{proved}; the row \"after\" changes by that much, and has another class")
            }
            (Some(most), false) => {
                format!(
                    "{proved}; the row \"after\" changes by {}, and has another class; between them it is open: {why}",
                    plain(most)
                )
            }
            (None, _) => format!("{proved}; beyond that it is open: {why}"),
        }
    }

    /// The nearest input of another class.
    pub(super) fn nearest(&self) -> String {
        let (Some(case), Question::Counterfactual { changes, .. }) =
            (self.answer.cases.first(), &self.answer.question)
        else {
            return String::new();
        };
        let (row, class) = (case.at + 1, self.class_of(case));
        let why = case.reason.unwrap_or("the budget was used up");
        let inputs = match self.answer.accepted.in_short(&self.answer.domain) {
            "every input" => "all inputs that the library accepts",
            "every input of the domain" => "all inputs of the domain",
            other => &other.replacen("every input", "all inputs", 1),
        };
        let other = match &changes.to {
            Some(to) => format!("class {}", printable(to)),
            None => "another class".to_owned(),
        };
        let limits =
            [("fixed", &changes.frozen), ("not lower", &changes.only_up), ("not higher", &changes.only_down)];
        let limits = limits.iter().filter(|(_, names)| !names.is_empty()).map(|(what, names)| {
            let names: Vec<String> = names.iter().map(|name| printable(name).into_owned()).collect();
            format!("{what}: {}", names.join(", "))
        });
        let limits: Vec<String> = limits.collect();
        let limits = if limits.is_empty() { String::new() } else { format!(" ({})", limits.join("; ")) };
        let Some(nearest) = &case.nearest else {
            return format!(
                "nothing is known about inputs of {other} near row {row}, of class {class}: {why}"
            );
        };
        let Some(distance) = nearest.distance else {
            return format!(
                "no change of row {row}, of class {class}, leads to {other}, among {inputs}{limits} that miss the same values: proved"
            );
        };
        let by = if changes.count { "weighted changes" } else { "weighted distance" };
        let text = format!(
            "row {row} has class {class}; the nearest input {}of {other} has {} ({by} {})",
            if nearest.proved { "" } else { "found " },
            self.changed(case),
            about(distance)
        );
        match nearest.proved {
            true => {
                format!("{text}; none is nearer, among {inputs}{limits} that miss the same values: proved")
            }
            false => format!("{text}; whether one is nearer is open: {why}"),
        }
    }

    /// The columns in which two rows differ, with both values.
    fn changed(&self, case: &Case) -> String {
        let [before, after] = &case.rows[..] else { return "no change".to_owned() };
        let own = self.model.ensemble();
        let labels = LabelMatch::new(own, own).ok();
        let kind = self.ensemble().intake().number;
        // Values next to a threshold need every digit of a double.
        let text = |column: FeatureId, value: f64| match &labels {
            Some(labels) if own.features().categories(column).is_some() => {
                value_words(labels, column, value, kind)
            }
            _ => number(value, NumberType::F64),
        };
        let differs = |&at: &usize| {
            let (a, b) = (before.values[at], after.values[at]);
            a != b && !(a.is_nan() && b.is_nan())
        };
        let all: Vec<usize> = (0..before.values.len()).filter(differs).collect();
        let told = all.iter().take(REASONS).map(|&at| {
            let column = FeatureId::new(at);
            let (a, b) = (before.values[at], after.values[at]);
            format!("{} {} -> {}", self.name(column), text(column, a), text(column, b))
        });
        let told = told.collect::<Vec<_>>().join(", ");
        if all.len() > REASONS { format!("{told} and {} more", all.len() - REASONS) } else { told }
    }

    /// Why the row has its class.
    pub(super) fn explained(&self) -> String {
        let Some(case) = self.answer.cases.first() else { return String::new() };
        let (row, class) = (case.at + 1, self.class_of(case));
        let inputs = match self.answer.accepted.in_short(&self.answer.domain) {
            "every input" => "every input that the library accepts",
            inputs => inputs,
        };
        let Some(because) = &case.because else {
            let why = case.reason.unwrap_or("the budget was used up");
            return format!("no reason for class {class} of row {row} is proved: {why}");
        };
        if because.kept.is_empty() {
            return format!("row {row} has class {class}, and so has {inputs}");
        }
        let kept: Vec<String> = because.kept.iter().take(REASONS).map(|own| self.kept(case, own)).collect();
        let more = because.kept.len().saturating_sub(REASONS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let others = match because.free {
            0 => String::new(),
            1 => ", whatever the other column that the model uses holds".to_owned(),
            free => format!(", whatever the other {free} columns that the model uses hold"),
        };
        let minimal = match because {
            Because { kept, at_least, minimal: true, .. } if kept.len() <= *at_least && kept.len() > 1 => {
                "; no reason has fewer columns"
            }
            Because { minimal: true, kept, .. } if kept.len() > 1 => "; none of them can be left out",
            Because { minimal: false, .. } => "; whether all of them are needed is open",
            _ => "",
        };
        format!(
            "row {row} has class {class} because of {}{more}{others}, on {inputs}{minimal}",
            kept.join(", ")
        )
    }

    /// A kept column with its value, and how far it may change.
    fn kept(&self, case: &Case, own: &Kept) -> String {
        let model = self.ensemble();
        let labels = LabelMatch::new(self.model.ensemble(), self.model.ensemble()).ok();
        let kind = model.intake().number;
        let value = |column: &FeatureId| {
            let value = case.rows[0].values[column.index()];
            let text = labels
                .as_ref()
                .map_or_else(|| number(value, kind), |labels| value_words(labels, *column, value, kind));
            format!("{} = {text}", self.name(*column))
        };
        let values: Vec<String> = own.columns.iter().map(value).collect();
        let range = match own.between {
            None | Some([None, None]) => String::new(),
            Some([Some(least), None]) => format!(" ({})", limit(least, kind, true)),
            Some([None, Some(greatest)]) => format!(" ({})", limit(greatest, kind, false)),
            Some([Some(least), Some(greatest)]) => {
                format!(" ({}, {})", limit(least, kind, true), limit(greatest, kind, false))
            }
        };
        if own.columns.len() > 1 {
            let ones: Vec<String> = own
                .columns
                .iter()
                .filter(|column| case.rows[0].values[column.index()] == 1.0)
                .map(value)
                .collect();
            // Of one-hot columns the one that is set says all.
            if ones.len() == 1 {
                return ones[0].clone();
            }
        }
        format!("{}{range}", values.join(", "))
    }

    /// What is known of each row, for scripts.
    pub(super) fn cases_json(&self) -> Vec<Value> {
        let features = self.ensemble().features();
        let several = self.answer.cases.len() > 1;
        let domain = |case: &Case| {
            let domain = case.inside.as_ref()?;
            Some(secateur_formats::DomainFile::of(domain, features).to_json())
        };
        let place = |case: &Case| {
            let path = self.certificate.filter(|_| case.certificate.is_some())?;
            let path = if several { suffixed(Path::new(path), case.at + 1) } else { path.into() };
            Some(path.to_string_lossy().into_owned())
        };
        let kept = |own: &Kept| {
            json!({
                "columns": own.columns.iter().map(|column| features.name(*column).into_owned()).collect::<Vec<_>>(),
                "between": own.between,
            })
        };
        let case = |case: &Case| {
            json!({
                "row": case.at,
                "outcome": outcome_name(case.outcome),
                "class": self.ensemble().classes().text(case.class).into_owned(),
                "rows": case.rows.iter().map(|row| self.row_json(row)).collect::<Vec<_>>(),
                "radius": case.radius.map(|own| json!({
                    "at_least": json_number(own.at_least),
                    "at_most": own.at_most.map(json_number),
                    "exact": own.exact,
                })),
                "nearest": case.nearest.as_ref().map(|own| json!({
                    "distance": own.distance,
                    "proved": own.proved,
                    "weights": own.weights,
                })),
                "because": case.because.as_ref().map(|own| json!({
                    "kept": own.kept.iter().map(kept).collect::<Vec<_>>(),
                    "free": own.free,
                    "minimal": own.minimal,
                    "at_least": own.at_least,
                })),
                "reason": case.reason,
                "inside": domain(case),
                "certificate": place(case),
                "checked": case.certificate.is_some(),
            })
        };
        self.answer.cases.iter().map(case).collect()
    }
}

/// A distance to six digits; scripts get all of them.
fn about(distance: f64) -> String {
    plain(format!("{distance:.5e}").parse().unwrap_or(distance))
}

/// A limit as people write it: the number next to it, where that is shorter.
fn limit(value: f64, kind: NumberType, least: bool) -> String {
    let own = kind.round(value);
    let beside = if least { kind.next_down(own) } else { kind.next_up(own) };
    let (own, beside) = (number(own, kind), number(beside, kind));
    let words = match (least, beside.len() < own.len()) {
        (true, false) => ["at least", &own],
        (true, true) => ["above", &beside],
        (false, false) => ["at most", &own],
        (false, true) => ["below", &beside],
    };
    words.join(" ")
}
