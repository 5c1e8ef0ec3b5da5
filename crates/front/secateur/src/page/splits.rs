//! The distinct splits of a model, and which of them another model still has.
//!
//! Two splits count as one here if they compare the same column in the same way; the side of
//! missing values does not matter.

use std::collections::{BTreeMap, BTreeSet};

use secateur_model::{Ensemble, FeatureId, NumberType, Split, Test, Tree};
use secateur_report as page;

use super::crossing::Crossings;
use crate::text::number;

/// How many categories of a set are named.
const MEMBERS: usize = 6;

/// The question that a split asks: its kind, its number as an integer that sorts like the number,
/// and its set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Question {
    place: i64,
    kind: u8,
    set: Vec<u32>,
}

impl Question {
    pub(super) fn of(split: Split<'_>) -> Self {
        let (kind, at, set): (u8, f64, &[u32]) = match split.test {
            Test::Less { threshold } => (0, threshold, &[]),
            Test::LessOrEqual { threshold } => (1, threshold, &[]),
            Test::LessOrEqualButZero { threshold, .. } => (2, threshold, &[]),
            Test::Equal { value } => (3, value, &[]),
            Test::Member { set, .. } => (4, 0.0, set),
        };
        // The bits of a float, transformed so that they sort like the numbers; the two zeros are
        // equal.
        let bits = (at + 0.0).to_bits() as i64;
        let place = if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits };
        Self { place, kind, set: set.to_vec() }
    }

    fn at(&self) -> f64 {
        let bits = if self.place < 0 { i64::MIN.wrapping_sub(self.place) } else { self.place };
        f64::from_bits(bits as u64)
    }

    /// The question in words.
    pub(super) fn words(&self, ensemble: &Ensemble, feature: FeatureId) -> String {
        let at = || match ensemble.intake().number {
            // A threshold that is not an f32 is printed as the f64 in the file.
            NumberType::F32 if f64::from(self.at() as f32) == self.at() => number(self.at(), NumberType::F32),
            _ => number(self.at(), NumberType::F64),
        };
        match self.kind {
            0 => format!("< {}", at()),
            1 | 2 => format!("≤ {}", at()),
            3 => format!("= {}", at()),
            _ => {
                let labels = ensemble.features().categories(feature).and_then(|known| known.labels.as_ref());
                let name = |code: &u32| {
                    labels
                        .and_then(|labels| labels.get(*code as usize))
                        .map_or_else(|| code.to_string(), |label| label.to_string())
                };
                let shown: Vec<String> = self.set.iter().take(MEMBERS).map(name).collect();
                let rest = self.set.len().saturating_sub(MEMBERS);
                let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
                format!("in {{{}{rest}}}", shown.join(", "))
            }
        }
    }
}

/// The distinct splits of a model by column.
pub(super) struct SplitTable {
    by_feature: BTreeMap<FeatureId, BTreeSet<Question>>,
}

impl SplitTable {
    pub(super) fn of(ensemble: &Ensemble) -> Self {
        let mut by_feature: BTreeMap<FeatureId, BTreeSet<Question>> = BTreeMap::new();
        for split in ensemble.trees().iter().flat_map(Tree::splits) {
            by_feature.entry(split.feature).or_default().insert(Question::of(split));
        }
        Self { by_feature }
    }

    /// The number of distinct splits.
    pub(super) fn len(&self) -> usize {
        self.by_feature.values().map(BTreeSet::len).sum()
    }

    /// The number of columns that they use.
    pub(super) fn features(&self) -> usize {
        self.by_feature.len()
    }

    /// Do two trees have the same splits?
    pub(super) fn same_splits(&self, a: &Tree, b: &Tree) -> bool {
        let all = |tree: &Tree| -> BTreeSet<(FeatureId, Question)> {
            tree.splits().map(|split| (split.feature, Question::of(split))).collect()
        };
        all(a) == all(b)
    }

    fn holds(&self, feature: FeatureId, question: &Question) -> bool {
        self.by_feature.get(&feature).is_some_and(|own| own.contains(question))
    }

    /// Does the table hold no split of this tree?
    pub(super) fn holds_none_of(&self, tree: &Tree) -> bool {
        tree.splits().all(|split| !self.holds(split.feature, &Question::of(split)))
    }

    /// Each column with its splits, and what became of them in the other model.
    pub(super) fn features_beside(
        &self,
        after: &Self,
        crossings: &Crossings,
        ensemble: &Ensemble,
    ) -> Vec<page::Feature> {
        let split = |feature: FeatureId, question: &Question| page::Split {
            place: question.words(ensemble, feature),
            fate: match after.holds(feature, question) {
                false => page::SplitFate::Irrelevant,
                true if crossings.holds(feature, question) => page::SplitFate::Relevant,
                true => page::SplitFate::Kept,
            },
        };
        self.by_feature
            .iter()
            .map(|(&feature, questions)| page::Feature {
                name: ensemble.features().name(feature).into_owned(),
                splits: questions.iter().map(|question| split(feature, question)).collect(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_sort_by_their_numbers_and_keep_them() {
        let numbers = [f64::MIN, -2.5, -1e-300, -0.0, 0.0, 5e-324, 0.1, 3.0, f64::MAX];
        let question = |at: f64| {
            Question::of(Split {
                feature: FeatureId(0),
                test: Test::Less { threshold: at },
                missing_left: false,
            })
        };
        for (index, &a) in numbers.iter().enumerate() {
            assert_eq!(question(a).at(), a);
            for &b in &numbers[index..] {
                assert_eq!(question(a).cmp(&question(b)), a.partial_cmp(&b).unwrap(), "{a} {b}");
            }
        }
    }
}
