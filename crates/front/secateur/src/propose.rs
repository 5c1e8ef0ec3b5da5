//! Proposes a domain from data: ranges, whole numbers, few values, one-hot and ordered groups,
//! missing values.
//!
//! Data can only suggest a domain, because a future row may lie outside of it. The result is
//! therefore a proposal for a person to read, correct and sign, with the number of rows that
//! support each line; nothing applies it automatically.
//!
//! Groups are searched for among neighbouring columns of zeros and ones. Exactly one 1 in every row
//! makes a one-hot group. Patterns that may well be chance (at most one 1, or each column implies
//! the next) are proposed only if the names of the columns begin alike, or for at least three
//! columns without names.

use std::collections::BTreeSet;

use secateur_formats::{DomainFile, DomainFileError};
use serde_json::{Map, Value, json};

use crate::text::{counted, grouped, printable};

/// The values of a column are listed if there are at most FEW_VALUES of them and at least
/// ROWS_PER_VALUE rows for each.
const FEW_VALUES: usize = 10;
const ROWS_PER_VALUE: usize = 10;
/// Characters that end the common part of the names of a group's columns.
const MARKS: [char; 4] = ['<', '>', '=', ':'];

/// A domain that rows suggest, and what supports it.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The domain.
    pub domain: DomainFile,
    /// What was seen in the data, one sentence for each part.
    pub support: Vec<String>,
    /// How many rows were examined.
    pub rows: usize,
}

impl Proposal {
    /// A TOML file, with the observations as comments.
    pub fn toml(&self) -> String {
        let mut text = format!(
            "# A domain that {} suggest. It is a proposal: whoever uses it vouches that no other inputs occur.\n",
            counted(self.rows as u64, "row", "rows")
        );
        for line in &self.support {
            text += &format!("# - {line}\n");
        }
        format!("{text}\n{}", self.domain.to_toml())
    }

    /// For scripts: `domain`, `support`, `rows`.
    pub fn json(&self) -> Value {
        json!({"domain": self.domain.to_json(), "support": self.support, "rows": self.rows})
    }
}

/// What is known of one column.
struct Seen {
    missing: usize,
    least: f64,
    greatest: f64,
    whole: bool,
    single: bool,
    /// The values, as long as there are few.
    values: Option<BTreeSet<u64>>,
}

/// Proposes a domain from `rows`, given row after row with one column for each of `names`; `named`
/// says whether these are real names.
///
/// ```
/// let names = ["red", "green", "size"].map(str::to_owned);
/// let rows = [1.0, 0.0, 3.0, 0.0, 1.0, 4.0, 1.0, 0.0, 7.0];
/// let proposal = secateur::propose(&names, true, &rows)?;
/// assert!(proposal.toml().contains("kind = \"one-hot\""));
/// # Ok::<(), secateur::domain::DomainFileError>(())
/// ```
pub fn propose(names: &[String], named: bool, rows: &[f64]) -> Result<Proposal, DomainFileError> {
    let width = names.len().max(1);
    let count = rows.len() / width;
    let columns: Vec<Seen> =
        (0..names.len()).map(|at| Seen::of(rows.iter().skip(at).step_by(width))).collect();
    let shown = |at: usize| printable(&names[at]).into_owned();
    let total = grouped(count as u64);
    let mut support = Vec::new();
    let any_missing = columns.iter().any(|column| column.missing > 0);
    if !any_missing && count > 0 {
        support.push(format!("no value is missing in {total} rows"));
    }
    let mut groups: Vec<Value> = Vec::new();
    let mut taken = vec![false; names.len()];
    let bits = Bits { rows, width, columns: &columns };
    let found = bits.groups(names, named);
    for group in found {
        group.columns.iter().for_each(|&at| taken[at] = true);
        let list: Vec<String> = group.columns.iter().map(|&at| shown(at)).collect();
        let what = match group.kind {
            Found::OneHot => "exactly one is 1",
            Found::AtMostOne => "at most one is 1",
            Found::Ordered => "each implies the next",
        };
        support.push(format!("{}: {what} in {total} of {total} rows", list.join(", ")));
        let own: Vec<&String> = group.columns.iter().map(|&at| &names[at]).collect();
        groups.push(match group.kind {
            Found::OneHot => json!({"kind": "one-hot", "columns": own}),
            Found::AtMostOne => json!({"kind": "one-hot", "columns": own, "none": true}),
            Found::Ordered => json!({"kind": "ordered", "columns": own}),
        });
    }
    let mut limits = Map::new();
    for (at, column) in columns.iter().enumerate().filter(|(at, _)| !taken[*at]) {
        let (own, words) = column.limits(count, any_missing);
        if !own.is_empty() {
            support.push(format!("{}: {words}", shown(at)));
            limits.insert(names[at].clone(), Value::Object(own));
        }
    }
    let mut file = json!({"columns": limits, "groups": groups});
    if count > 0 {
        file["missing"] = Value::Bool(false);
    }
    Ok(Proposal { domain: DomainFile::from_json(&file)?, support, rows: count })
}

impl Seen {
    fn of<'a>(values: impl Iterator<Item = &'a f64>) -> Self {
        let mut seen = Self {
            missing: 0,
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
            whole: true,
            single: true,
            values: Some(BTreeSet::new()),
        };
        for &value in values {
            if value.is_nan() {
                seen.missing += 1;
                continue;
            }
            (seen.least, seen.greatest) = (seen.least.min(value), seen.greatest.max(value));
            seen.whole &= value.fract() == 0.0 && value.is_finite();
            seen.single &= f64::from(value as f32) == value;
            if let Some(values) = &mut seen.values {
                values.insert((value + 0.0).to_bits());
                if values.len() > FEW_VALUES {
                    seen.values = None;
                }
            }
        }
        seen
    }

    /// Does the column hold both zeros and ones, nothing else, and no missing value?
    fn is_flag(&self) -> bool {
        let both = [0.0f64.to_bits(), 1.0f64.to_bits()];
        self.missing == 0 && self.values.as_ref().is_some_and(|values| values.iter().copied().eq(both))
    }

    /// The limits of one column, and the sentence that supports them.
    fn limits(&self, rows: usize, any_missing: bool) -> (Map<String, Value>, String) {
        let mut limits = Map::new();
        let numbers = rows - self.missing;
        let mut words = format!("{} of {} rows: ", grouped(numbers as u64), grouped(rows as u64));
        let finite = self.least.is_finite() && self.greatest.is_finite();
        if numbers == 0 || !finite {
            words = format!("{} numbers without finite limits", grouped(numbers as u64));
        } else if let Some(values) =
            self.values.as_ref().filter(|values| values.len() * ROWS_PER_VALUE <= numbers)
        {
            let list: Vec<Value> = {
                let mut list: Vec<f64> = values.iter().map(|&bits| f64::from_bits(bits)).collect();
                list.sort_by(f64::total_cmp);
                list.into_iter().map(Value::from).collect()
            };
            words += &counted(list.len() as u64, "value", "values");
            limits.insert("values".to_owned(), Value::Array(list));
        } else {
            let kind = if self.whole { "whole numbers" } else { "numbers" };
            words += &format!("{kind} from {} to {}", self.least, self.greatest);
            limits.insert("min".to_owned(), Value::from(self.least));
            limits.insert("max".to_owned(), Value::from(self.greatest));
            if self.whole {
                limits.insert("whole".to_owned(), Value::Bool(true));
            } else if self.single {
                words += " that a float32 holds";
                limits.insert("f32".to_owned(), Value::Bool(true));
            }
        }
        if any_missing && (self.missing > 0 || numbers == 0) {
            words += &format!("; missing in {}", grouped(self.missing as u64));
            limits.insert("missing".to_owned(), Value::Bool(true));
        }
        (limits, words)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Found {
    OneHot,
    AtMostOne,
    Ordered,
}

struct FoundGroup {
    kind: Found,
    columns: Vec<usize>,
}

/// The columns of zeros and ones.
struct Bits<'a> {
    rows: &'a [f64],
    width: usize,
    columns: &'a [Seen],
}

impl Bits<'_> {
    fn groups(&self, names: &[String], named: bool) -> Vec<FoundGroup> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < names.len() {
            let group = if self.columns[at].is_flag() { self.group_at(at, names, named) } else { None };
            match group {
                Some(group) => {
                    at += group.columns.len();
                    found.push(group);
                }
                None => at += 1,
            }
        }
        found
    }

    /// The group that begins with this column.
    fn group_at(&self, first: usize, names: &[String], named: bool) -> Option<FoundGroup> {
        let alike =
            |at: usize| named && stem(&names[at]).is_some() && stem(&names[at]) == stem(&names[first]);
        let run = |fits: &dyn Fn(usize, usize) -> bool| {
            let mut end = first + 1;
            while end < names.len() && self.columns[end].is_flag() && fits(first, end) {
                end += 1;
            }
            (first..end).collect::<Vec<usize>>()
        };
        // No row has two ones in these columns.
        let apart = run(&|from, next| {
            self.each_row(|row| row[next] == 0.0 || row[from..next].iter().all(|&value| value == 0.0))
        });
        let one = |columns: &[usize]| {
            let range = columns[0]..columns[columns.len() - 1] + 1;
            self.each_row(|row| row[range.clone()].contains(&1.0))
        };
        if apart.len() >= 2 && one(&apart) {
            return Some(FoundGroup { kind: Found::OneHot, columns: apart });
        }
        let enough = |columns: &[usize]| columns.len() >= if named { 2 } else { 3 };
        let down = run(&|_, next| (alike(next) || !named) && self.each_row(|row| row[next - 1] <= row[next]));
        let up = run(&|_, next| (alike(next) || !named) && self.each_row(|row| row[next - 1] >= row[next]));
        if enough(&down) && down.len() >= up.len() {
            return Some(FoundGroup { kind: Found::Ordered, columns: down });
        }
        if enough(&up) {
            let columns = up.into_iter().rev().collect();
            return Some(FoundGroup { kind: Found::Ordered, columns });
        }
        let columns: Vec<usize> = apart.into_iter().take_while(|&at| alike(at)).collect();
        (columns.len() >= 3).then_some(FoundGroup { kind: Found::AtMostOne, columns })
    }

    fn each_row(&self, holds: impl Fn(&[f64]) -> bool) -> bool {
        self.rows.chunks_exact(self.width).all(holds)
    }
}

/// The part of a name that the columns of one group share: `age` of `age<21`, `colour` of
/// `colour_red`.
fn stem(name: &str) -> Option<&str> {
    let end = name.find(MARKS).or_else(|| name.rfind('_'))?;
    Some(&name[..end]).filter(|stem| !stem.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal(names: &[&str], rows: &[&[f64]]) -> Proposal {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let rows: Vec<f64> = rows.iter().flat_map(|row| row.iter().copied()).collect();
        propose(&names, true, &rows).unwrap()
    }

    #[test]
    fn groups_ranges_and_missing_values_are_seen() {
        let rows: Vec<Vec<f64>> = (0..60)
            .map(|row| {
                let age = row % 4;
                let flag = |is: bool| f64::from(u8::from(is));
                vec![
                    flag(age < 1),
                    flag(age < 2),
                    flag(age < 3),
                    flag(row % 3 == 0),
                    flag(row % 3 == 1),
                    flag(row % 3 == 2),
                    f64::from(row) + 18.0,
                    if row == 7 { f64::NAN } else { f64::from(row) / 8.0 },
                ]
            })
            .collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let names = ["age<21", "age<23", "age<26", "c_red", "c_green", "c_blue", "count", "amount"];
        let found = proposal(&names, &rows);
        let text = found.toml();
        for part in [
            "missing = false\n",
            "kind = \"ordered\"\ncolumns = [\"age<21\", \"age<23\", \"age<26\"]\n",
            "kind = \"one-hot\"\ncolumns = [\"c_red\", \"c_green\", \"c_blue\"]\nnone = false\n",
            "[columns.count]\nmin = 18\nmax = 77\nwhole = true\n",
            "[columns.amount]\nmissing = true\nmin = 0\nmax = 7.375\nf32 = true\n",
            "# - c_red, c_green, c_blue: exactly one is 1 in 60 of 60 rows\n",
            "# - amount: 59 of 60 rows: numbers from 0 to 7.375 that a float32 holds; missing in 1\n",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert_eq!(DomainFile::parse(&text).unwrap(), found.domain);
    }

    #[test]
    fn what_may_be_chance_is_not_proposed() {
        // Two flags that are never both set: their names have nothing in common, and some rows have
        // neither.
        let rows: Vec<Vec<f64>> = (0..40)
            .map(|row| vec![f64::from(u8::from(row % 9 == 0)), f64::from(u8::from(row % 9 == 1))])
            .collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let found = proposal(&["smokes", "pregnant"], &rows);
        assert!(!found.toml().contains("[[groups]]"), "{}", found.toml());
        assert!(found.toml().contains("[columns.smokes]\nvalues = [0, 1]\n"), "{}", found.toml());
    }

    #[test]
    fn thermometers_in_the_other_direction_are_turned() {
        let rows: Vec<Vec<f64>> =
            (0..40).map(|row| (1..4).map(|at| f64::from(u8::from(row % 4 >= at))).collect()).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let found = proposal(&["x>1", "x>2", "x>3"], &rows);
        assert!(found.toml().contains("columns = [\"x>3\", \"x>2\", \"x>1\"]"), "{}", found.toml());
    }
}
