//! A domain in words.

use super::{Column, Domain, Group, GroupKind, Side, Where};
use crate::ids::FeatureId;

/// The most entries of a list that are spelled out.
const SHOWN: usize = 8;

impl Domain {
    /// The domain in words, one string for each part; empty for every input.
    pub fn words(&self, name: &dyn Fn(FeatureId) -> String) -> Vec<String> {
        let mut parts = Vec::new();
        if !self.missing {
            let but = if self.columns.values().any(|column| column.missing) { " but where said" } else { "" };
            parts.push(format!("no missing values{but}"));
        }
        for (&feature, column) in &self.columns {
            parts.push(format!("{}: {}", name(feature), column.words(self.missing)));
        }
        for group in &self.groups {
            parts.push(group.words(name));
        }
        parts.extend(self.wheres.iter().map(Where::words));
        parts
    }
}

impl Column {
    /// The values that the column can hold; `missing` says whether other columns may be missing.
    fn words(&self, missing: bool) -> String {
        let mut text = match (&self.values, self.min, self.max) {
            (Some(values), _, _) => format!("one of {}", list(values.iter().map(f64::to_string))),
            (None, Some(min), Some(max)) => format!("from {min} to {max}"),
            (None, Some(min), None) => format!("at least {min}"),
            (None, None, Some(max)) => format!("at most {max}"),
            (None, None, None) => String::new(),
        };
        let mut add = |words: &str| {
            if !text.is_empty() {
                text += ", ";
            }
            text += words;
        };
        if self.whole {
            add("whole");
        }
        if self.f32_only {
            add("float32");
        }
        match (self.missing, missing) {
            (true, false) => add("or missing"),
            (false, true) => add("not missing"),
            _ => {}
        }
        text
    }
}

impl Group {
    fn words(&self, name: &dyn Fn(FeatureId) -> String) -> String {
        let names = list(self.columns.iter().map(|&column| name(column)));
        match &self.kind {
            GroupKind::OneHot { none: false } => format!("exactly one of {names} is 1, the others 0"),
            GroupKind::OneHot { none: true } => format!("at most one of {names} is 1, the others 0"),
            GroupKind::Ordered => format!("{names} are 0 or 1, and each implies the next"),
            GroupKind::Table(rows) => format!("{names} together take one of {} rows", rows.len()),
        }
    }
}

impl Where {
    /// Which score has to be on which side of the bound.
    pub fn words(&self) -> String {
        let side = match self.side() {
            Side::AtLeast => "at least",
            Side::AtMost => "at most",
        };
        let digest: String = self.digest()[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        let model = match self.name() {
            Some(name) => format!("{name} (digest {digest}...)"),
            None => format!("the model with digest {digest}..."),
        };
        let which = match self.model() {
            _ if self.is_path_length() => "the sum of path lengths".to_owned(),
            Some(model) if model.group_count() == 1 => "the raw score".to_owned(),
            _ => format!("raw score {}", self.output()),
        };
        format!("{which} of {model} is {side} {}", self.bound())
    }
}

/// A list, cut after SHOWN entries.
fn list(entries: impl ExactSizeIterator<Item = String>) -> String {
    let count = entries.len();
    let mut shown: Vec<String> = entries.take(SHOWN).collect();
    if count > SHOWN {
        shown.push(format!("... ({count} in all)"));
    }
    shown.join(", ")
}
