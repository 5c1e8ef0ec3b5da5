//! The lines before the first tree, and the objective's decision rule.

use std::collections::BTreeMap;

use secateur_model::{ClassLabels, Decision, GroupId, Softmax, Transform, Value};

use super::sections::shown;
use crate::error::{FormatError, Place, Problem};

/// The content of the header.
#[derive(Debug)]
pub(super) struct Header<'a> {
    pub(super) version: Option<&'a str>,
    pub(super) objective: Objective,
    /// The number of trees of each round, which is the number of sums.
    pub(super) groups: usize,
    pub(super) average: bool,
    pub(super) feature_names: Vec<&'a str>,
    pub(super) feature_infos: Vec<&'a str>,
    pub(super) tree_sizes: Option<&'a str>,
}

/// The objectives.
///
/// `LGBMClassifier.predict` takes the first class with the highest probability, and so does the
/// model built here. For two classes that is `p > 1/2` with `p = 1/(1+exp(-z))`,
/// `z = sigmoid * score` in f64, and holds iff `z > 1.5 * 2^-53`: below that, `exp(-z)` is within
/// one unit of 1 and the sum with 1 rounds to 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Objective {
    Binary {
        sigmoid: f64,
    },
    /// As binary with a sigmoid of 1, trained on probabilities as labels.
    CrossEntropy,
    Multiclass,
    OneAgainstAll {
        sigmoid: f64,
    },
    /// A regressor or ranker: one score, and the value that `predict` computes from it.
    Regression {
        value: Value,
    },
}

/// The largest `sigmoid * score` that is still class 0.
const DEAD_ZONE: f64 = 3.0 / 18_014_398_509_481_984.0; // 1.5 * 2^-53

impl Objective {
    /// The rule from scores to class.
    pub(super) fn decision(self) -> Decision {
        match self {
            Self::Binary { sigmoid } => {
                Decision::Threshold { group: GroupId(0), threshold: dead_zone(sigmoid), strict: true }
            }
            Self::CrossEntropy => {
                Decision::Threshold { group: GroupId(0), threshold: DEAD_ZONE, strict: true }
            }
            Self::Multiclass => Decision::ArgmaxSoftmax(Softmax::LightGbm),
            Self::OneAgainstAll { sigmoid } => Decision::ArgmaxSigmoid { scale: sigmoid },
            Self::Regression { value } => Decision::Scores(value),
        }
    }

    /// The factor of the score in the probability of class 1, if there are two classes.
    pub(super) fn logistic_scale(self) -> Option<f64> {
        match self {
            Self::Binary { sigmoid } => Some(sigmoid),
            Self::CrossEntropy => Some(1.0),
            Self::Multiclass | Self::OneAgainstAll { .. } | Self::Regression { .. } => None,
        }
    }

    /// LightGBM's files have no class labels.
    pub(super) fn classes(self, groups: usize) -> ClassLabels {
        match self {
            Self::Binary { .. } | Self::CrossEntropy => ClassLabels::Unnamed(2),
            // There are at most as many sums as trees.
            Self::Multiclass | Self::OneAgainstAll { .. } => ClassLabels::Unnamed(groups as u32),
            Self::Regression { .. } => ClassLabels::Unnamed(0),
        }
    }

    fn parse(line: &str) -> Result<Self, FormatError> {
        let place = || Place::Field("objective".to_owned());
        let mut words = line.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        let root = words.clone().any(|word| word == "sqrt");
        let mut sigmoid = None;
        for word in words {
            if let Some(text) = word.strip_prefix("sigmoid:")
                && sigmoid.replace(text).is_some()
            {
                let key = "sigmoid".to_owned();
                return Err(FormatError::new(place(), Problem::DuplicateKey { key }));
            }
        }
        let sigmoid = || {
            let text = sigmoid.unwrap_or_default();
            library_number(text).filter(|&value| value > 0.0 && value.is_finite()).ok_or_else(|| {
                let found = format!("a sigmoid of {}", shown(text));
                FormatError::new(place(), Problem::Value { found, expected: "a positive number" })
            })
        };
        match name {
            "binary" => Ok(Self::Binary { sigmoid: sigmoid()? }),
            "cross_entropy" => Ok(Self::CrossEntropy),
            "multiclass" => Ok(Self::Multiclass),
            "multiclassova" => Ok(Self::OneAgainstAll { sigmoid: sigmoid()? }),
            "regression" if root => Ok(Self::Regression { value: Value::SignedSquare }),
            _ if root => {
                let what = format!("the objective {}", shown(line));
                let advice =
                    "the square root of the target (reg_sqrt) goes with the objective regression only";
                Err(FormatError::new(place(), Problem::Unsupported { what, advice }))
            }
            "regression" | "regression_l1" | "huber" | "fair" | "quantile" | "mape" | "lambdarank"
            | "rank_xendcg" => Ok(Self::Regression { value: Value::Score }),
            "poisson" | "gamma" | "tweedie" => {
                Ok(Self::Regression { value: Value::NotFixed(Transform::Exp) })
            }
            "cross_entropy_lambda" => {
                Ok(Self::Regression { value: Value::NotFixed(Transform::LogOnePlusExp) })
            }
            _ => {
                let what = format!("the objective {}", shown(name));
                let advice = "supported are binary, cross_entropy, multiclass, multiclassova, regression, \
                              regression_l1, huber, fair, quantile, mape, poisson, gamma, tweedie, \
                              cross_entropy_lambda, lambdarank and rank_xendcg; for a custom objective write the \
                              one whose rule applies into the file";
                Err(FormatError::new(place(), Problem::Unsupported { what, advice }))
            }
        }
    }
}

impl<'a> Header<'a> {
    /// Reads the header's lines.
    pub(super) fn parse(text: &'a str) -> Result<Self, FormatError> {
        let mut fields = Fields { lines: BTreeMap::new() };
        for (index, line) in text.split_terminator('\n').enumerate() {
            let place = || Place::Line(index as u64 + 1);
            if line.is_empty() && index > 0 {
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            if index == 0 && line != "tree" {
                return Err(FormatError::new(
                    place(),
                    Problem::Syntax { expected: "the word tree", found: shown(line) },
                ));
            }
            if fields.lines.insert(key, value).is_some() {
                return Err(FormatError::new(place(), Problem::DuplicateKey { key: key.to_owned() }));
            }
        }
        let Some(objective_line) = fields.get("objective") else {
            let what = "a model without an objective line".to_owned();
            let advice = "the line says how scores become classes: add, for example, \
                          \"objective=binary sigmoid:1\" or \"objective=multiclass num_class:3\"";
            return Err(FormatError::new(Place::File, Problem::Unsupported { what, advice }));
        };
        let objective = Objective::parse(objective_line)?;
        let classes = fields.count("num_class")?;
        let groups = match fields.get("num_tree_per_iteration") {
            Some(_) => fields.count("num_tree_per_iteration")?,
            None => classes,
        };
        check_classes(objective, objective_line, classes, groups)?;
        fields.required("label_index")?;
        let features = fields.count_from("max_feature_idx", 0)?;
        let list = |key: &'static str| -> Result<Vec<&'a str>, FormatError> {
            let items: Vec<&str> = fields.required(key)?.split(' ').filter(|item| !item.is_empty()).collect();
            // `features` is the highest index.
            if items.len() != features.saturating_add(1) {
                let problem = Problem::Length { expected: features.saturating_add(1), found: items.len() };
                return Err(FormatError::new(Place::Field(key.to_owned()), problem));
            }
            Ok(items)
        };
        Ok(Self {
            version: fields.get("version"),
            objective,
            groups,
            average: fields.get("average_output").is_some(),
            feature_names: list("feature_names")?,
            feature_infos: list("feature_infos")?,
            tree_sizes: fields.get("tree_sizes"),
        })
    }
}

/// The header's `key=value` lines.
struct Fields<'a> {
    lines: BTreeMap<&'a str, &'a str>,
}

impl<'a> Fields<'a> {
    fn get(&self, key: &str) -> Option<&'a str> {
        self.lines.get(key).copied()
    }

    fn required(&self, key: &str) -> Result<&'a str, FormatError> {
        self.get(key).ok_or_else(|| FormatError::new(Place::Field(key.to_owned()), Problem::Missing))
    }

    fn count(&self, key: &str) -> Result<usize, FormatError> {
        self.count_from(key, 1)
    }

    fn count_from(&self, key: &str, least: u32) -> Result<usize, FormatError> {
        let text = self.required(key)?;
        match text.parse::<u32>() {
            Ok(value) if value >= least && value <= i32::MAX as u32 => Ok(value as usize),
            _ => {
                let expected = if least == 0 { "a number from 0 on" } else { "a positive number" };
                let problem = Problem::Value { found: shown(text), expected };
                Err(FormatError::new(Place::Field(key.to_owned()), problem))
            }
        }
    }
}

/// LightGBM trusts three places to agree on the number of classes; if they do not, it returns
/// garbage from memory.
fn check_classes(objective: Objective, line: &str, classes: usize, groups: usize) -> Result<(), FormatError> {
    let wrong = |field: &str, found: String, expected| {
        Err(FormatError::new(Place::Field(field.to_owned()), Problem::Value { found, expected }))
    };
    if groups != classes {
        let found = format!("{groups} for {classes} in num_class");
        return wrong("num_tree_per_iteration", found, "the number of scores");
    }
    match objective {
        Objective::Binary { .. } | Objective::CrossEntropy | Objective::Regression { .. } if classes != 1 => {
            wrong("num_class", classes.to_string(), "1, the number of scores of this objective")
        }
        Objective::Binary { .. } | Objective::CrossEntropy | Objective::Regression { .. } => Ok(()),
        Objective::Multiclass | Objective::OneAgainstAll { .. } => {
            let declared = line.split_ascii_whitespace().filter_map(|word| word.strip_prefix("num_class:"));
            match declared.clone().count() {
                1 if declared.clone().all(|count| count.parse() == Ok(classes)) && classes >= 2 => Ok(()),
                _ => wrong("objective", shown(line), "in agreement with num_class, with two classes or more"),
            }
        }
    }
}

/// The largest score of class 0, for which `sigmoid * score`, rounded to f64, is at most
/// [`DEAD_ZONE`]. The product grows with the score, so this is a search over the positive floats in
/// order.
fn dead_zone(sigmoid: f64) -> f64 {
    let (mut low, mut high) = (0u64, f64::INFINITY.to_bits());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if sigmoid * f64::from_bits(middle) <= DEAD_ZONE {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::from_bits(low)
}

/// A number as LightGBM's simple parser reads it, with digits collected in f64 and a rounding at
/// each step. It is used for the objective's parameters; numbers in trees are rounded correctly.
fn library_number(text: &str) -> Option<f64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let gather = |digits: &str| -> Option<f64> {
        digits.bytes().try_fold(0.0, |value, digit| {
            digit.is_ascii_digit().then(|| value * 10.0 + f64::from(digit - b'0'))
        })
    };
    // Powers of ten up to this exponent are exact, so it does not matter how the library multiplies
    // them.
    const EXACT_POWERS: usize = 22;
    if whole.len() + fraction.len() == 0 || fraction.len() > EXACT_POWERS {
        return None;
    }
    let power = (0..fraction.len()).fold(1.0, |power, _| power * 10.0);
    let mut value = gather(whole)? + gather(fraction)? / power;
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let mut left = digits.parse::<u32>().ok().filter(|&value| value <= 308)?;
        let mut scale = 1.0;
        for (step, factor) in [(50, 1e50), (8, 1e8), (1, 10.0)] {
            while left >= step {
                scale *= factor;
                left -= step;
            }
        }
        value = if exponent.starts_with('-') { value / scale } else { value * scale };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dead_zone_is_the_last_score_of_class_zero() {
        assert_eq!(DEAD_ZONE.to_bits(), 0x3CA8_0000_0000_0000);
        // Observed in LightGBM 4.7 on both sides of each.
        let seen: [(&str, u64); 6] = [
            ("1", 0x3CA8_0000_0000_0000),
            ("0.7", 0x3CB1_2492_4924_9249),
            ("1.3", 0x3CA2_7627_6276_2762),
            ("3", 0x3C90_0000_0000_0000),
            ("0.123457", 0x3CD8_4CCA_17BC_00AC),
            ("1e-300", 0x7AF1_EB2D_6600_5838),
        ];
        for (sigmoid, bits) in seen {
            assert_eq!(dead_zone(library_number(sigmoid).unwrap()).to_bits(), bits, "{sigmoid}");
        }
        assert_eq!(dead_zone(1e308), 0.0);
    }

    #[test]
    fn parameters_are_read_as_roughly_as_the_library_does() {
        assert_eq!(library_number("0.7"), Some(0.7));
        assert_eq!(library_number("2.5e-05"), Some(2.5e-5));
        // 7 + 0.82 rounds away from the f64 nearest to 7.82.
        let differs = (0..1000).filter(|n| {
            let text = format!("{}.{:02}", n / 100, n % 100);
            library_number(&text).unwrap() != text.parse::<f64>().unwrap()
        });
        assert!(differs.count() > 0);
        for text in ["", ".", "-1", "abc", "1e", "1e400", "0x1", "1.0.0", "nan", "inf", "1e-"] {
            assert_eq!(library_number(text), None, "{text}");
        }
    }
}
