//! Matches the columns of a table with the features of a model.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, anyhow, bail};
use secateur_model::{FeatureId, Features};

use secateur::internal::text::{counted, did_you_mean, listed};

/// How columns were matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matching {
    ByName,
    ByOrder,
}

#[derive(Debug)]
pub(super) struct Columns {
    pub(super) matching: Matching,
    /// The table's column for each feature.
    pub(super) positions: Vec<usize>,
    /// The target's column.
    pub(super) target: Option<usize>,
    /// The id columns, whose text is copied to the output.
    pub(super) ids: Vec<usize>,
    /// Names of columns that are neither an input nor the target nor an id.
    pub(super) ignored: Vec<String>,
}

/// How many names an error lists.
const SHOWN: usize = 8;

impl Columns {
    /// Matches by name if the table has every name of the model. Matches by order if the model has
    /// no names, or the table none of them, and there are as many columns as features.
    pub(super) fn matching(
        features: &Features,
        names: &[String],
        target: Option<&str>,
        ids: &[String],
    ) -> Result<Self> {
        let position = |name: &str, role: &str| {
            names.iter().position(|known| known == name).ok_or_else(|| {
                let found = listed(names.iter().map(String::as_str), SHOWN);
                let meant = did_you_mean(name, names);
                anyhow!("there is no column {name:?}{role}; the columns are {found}{meant}")
            })
        };
        let dropped = target.map(|name| position(name, " to drop as the target")).transpose()?;
        let ids: Vec<usize> = ids.iter().map(|name| position(name, " for --id")).collect::<Result<_>>()?;
        let is_feature = |name: &str| {
            features.has_names()
                && (0..features.len()).any(|index| features.name(FeatureId::new(index)) == name)
        };
        let is_input = |&column: &usize| {
            Some(column) != dropped && (!ids.contains(&column) || is_feature(&names[column]))
        };
        let inputs: Vec<usize> = (0..names.len()).filter(is_input).collect();
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for &column in &inputs {
            by_name.entry(&names[column]).or_default().push(column);
        }
        // A table has no more columns than names, so a huge declared number of features costs
        // nothing here.
        let known =
            (0..features.len()).take(inputs.len() + 1).map(|index| features.name(FeatureId::new(index)));
        let matched = known.filter(|name| by_name.contains_key(name.as_ref())).count();
        if matched == features.len() && !has_duplicates(features) {
            let columns = Self::by_name(features, names, &inputs, &by_name)?;
            return Ok(Self { target: dropped, ids, ..columns });
        }
        let any_match = features.has_names()
            && (0..features.len())
                .any(|index| by_name.contains_key(features.name(FeatureId::new(index)).as_ref()));
        if any_match && !has_duplicates(features) {
            return Err(missing(features, &by_name));
        }
        if inputs.len() != features.len() {
            return Err(wrong_count(features, names, &inputs, target));
        }
        Ok(Self { matching: Matching::ByOrder, positions: inputs, target: dropped, ids, ignored: Vec::new() })
    }

    fn by_name(
        features: &Features,
        names: &[String],
        inputs: &[usize],
        by_name: &HashMap<&str, Vec<usize>>,
    ) -> Result<Self> {
        let mut positions = Vec::with_capacity(features.len());
        let mut used = vec![false; names.len()];
        for index in 0..features.len() {
            let name = features.name(FeatureId::new(index));
            match by_name[name.as_ref()][..] {
                [column] => {
                    positions.push(column);
                    used[column] = true;
                }
                ref several => bail!("{} columns are called {name:?}; keep one of them", several.len()),
            }
        }
        let ignored = inputs.iter().filter(|&&column| !used[column]).map(|&column| names[column].clone());
        let ignored = ignored.collect();
        Ok(Self { matching: Matching::ByName, positions, target: None, ids: Vec::new(), ignored })
    }
}

/// Does the model give two features the same name? Then names cannot identify columns.
fn has_duplicates(features: &Features) -> bool {
    if !features.has_names() {
        return false;
    }
    let mut names: Vec<_> = (0..features.len()).map(|index| features.name(FeatureId::new(index))).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

fn missing(features: &Features, by_name: &HashMap<&str, Vec<usize>>) -> anyhow::Error {
    let known: HashSet<String> =
        (0..features.len()).map(|index| features.name(FeatureId::new(index)).into_owned()).collect();
    let all = (0..features.len()).map(|index| features.name(FeatureId::new(index)).into_owned());
    let missing: Vec<String> = all.filter(|name| !by_name.contains_key(name.as_str())).collect();
    let count = counted(missing.len() as u64, "feature has", "features have");
    let shown = listed(missing.iter().map(String::as_str), SHOWN);
    let mut unused: Vec<&str> = by_name.keys().copied().filter(|name| !known.contains(*name)).collect();
    unused.sort_unstable();
    let meant = did_you_mean(&missing[0], unused);
    anyhow!("{count} no column: {shown}; the table needs a column for every feature of the model{meant}")
}

fn wrong_count(
    features: &Features,
    names: &[String],
    inputs: &[usize],
    target: Option<&str>,
) -> anyhow::Error {
    let columns = counted(inputs.len() as u64, "column", "columns");
    let dropped = if target.is_some() { " besides the target" } else { "" };
    let wanted = counted(features.len() as u64, "feature", "features");
    let header = listed(inputs.iter().map(|&column| names[column].as_str()), SHOWN);
    let why = if features.has_names() {
        let first = features.name(FeatureId(0)).into_owned();
        format!("no column has a feature's name (the first feature is {first:?})")
    } else {
        "the model file has no feature names".to_owned()
    };
    let advice = match names {
        [only] if only.contains([';', '\t', '|', ' ']) => "; --separator says what stands between the fields",
        _ if target.is_none() && inputs.len() == features.len() + 1 => {
            "; is one of them the class? --target NAME drops it"
        }
        _ => "",
    };
    anyhow!("the table has {columns}{dropped} ({header}) and the model {wanted}; {why}{advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split_terminator(' ').map(str::to_owned).collect()
    }

    fn matched(model: &str, table: &str, target: Option<&str>) -> (Matching, Vec<usize>, Vec<String>) {
        let features = Features::named(names(model));
        let columns = Columns::matching(&features, &names(table), target, &[]).unwrap();
        (columns.matching, columns.positions, columns.ignored)
    }

    fn refused(features: &Features, table: &str, target: Option<&str>) -> String {
        Columns::matching(features, &names(table), target, &[]).unwrap_err().to_string()
    }

    #[test]
    fn names_match_in_any_order() {
        assert_eq!(matched("a b", "b x a", None), (Matching::ByName, vec![2, 0], names("x")));
        assert_eq!(matched("a b", "b x a", Some("x")), (Matching::ByName, vec![2, 0], names("")));
    }

    #[test]
    fn without_a_common_name_columns_match_by_order() {
        assert_eq!(matched("a b", "p q", None), (Matching::ByOrder, vec![0, 1], names("")));
        assert_eq!(matched("a b", "p y q", Some("y")), (Matching::ByOrder, vec![0, 2], names("")));
        let unnamed = Features::unnamed(2);
        let columns = Columns::matching(&unnamed, &names("f1 f0"), None, &[]).unwrap();
        assert_eq!((columns.matching, columns.positions), (Matching::ByName, vec![1, 0]));
        let columns = Columns::matching(&unnamed, &names("f1 other"), None, &[]).unwrap();
        assert_eq!((columns.matching, columns.positions), (Matching::ByOrder, vec![0, 1]));
    }

    #[test]
    fn names_that_repeat_in_the_model_tell_nothing() {
        assert_eq!(matched("a a", "a b", None), (Matching::ByOrder, vec![0, 1], names("")));
    }

    #[test]
    fn what_does_not_match_is_refused_with_advice() {
        let model = Features::named(names("a b c"));
        assert!(refused(&model, "a x y", None).contains("2 features have no column: \"b\", \"c\""));
        assert!(
            refused(&model, "p q", None).contains("has 2 columns (\"p\", \"q\") and the model 3 features")
        );
        assert!(refused(&model, "p q r y", None).contains("--target NAME"));
        assert!(refused(&model, "a;b;c", None).contains("--separator"));
        assert!(refused(&model, "a b c", Some("y")).contains("no column \"y\""));
        assert!(refused(&model, "a b c c", None).contains("2 columns are called \"c\""));
        let huge = Features::unnamed(1 << 24);
        assert!(refused(&huge, "a b", None).contains("16,777,216 features"));
    }
}
