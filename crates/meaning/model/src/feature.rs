//! Input columns: the values that a library accepts, and how it reads each before the first
//! comparison.

use crate::exact::Exact;
use crate::label::Label;

/// The float type of inputs or of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberType {
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl NumberType {
    /// `value` rounded to this type (nearest, ties to even), widened back.
    pub fn round(self, value: f64) -> f64 {
        match self {
            Self::F32 => f64::from(value as f32),
            Self::F64 => value,
        }
    }

    /// An exact number rounded once to this type (nearest, ties to even), widened back.
    pub fn round_exact(self, value: &Exact) -> f64 {
        match self {
            Self::F64 => value.to_f64(),
            Self::F32 => {
                // Rounding to f64 first would round twice. Instead the value is cut off to an f64
                // whose last bit is set if anything was cut off; this f64 rounds to the same f32 as
                // the value itself.
                let (down, up) = (value.to_f64_down(), value.to_f64_up());
                let odd = if down == up || down.to_bits() & 1 == 1 { down } else { up };
                f64::from(odd as f32)
            }
        }
    }

    /// The next value of this type above `value`, which must be of this type.
    pub fn next_up(self, value: f64) -> f64 {
        match self {
            Self::F32 => f64::from((value as f32).next_up()),
            Self::F64 => value.next_up(),
        }
    }

    /// The next value of this type below `value`, which must be of this type.
    pub fn next_down(self, value: f64) -> f64 {
        -self.next_up(-value)
    }

    /// The largest value of this type, infinities included, that is at most `value`.
    pub fn floor(self, value: f64) -> f64 {
        let near = self.round(value);
        if near > value { self.next_down(near) } else { near }
    }

    /// The largest finite value.
    pub fn max(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::MAX),
            Self::F64 => f64::MAX,
        }
    }

    /// The unit roundoff: half the gap between 1 and the next value.
    pub fn unit_roundoff(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::EPSILON) / 2.0,
            Self::F64 => f64::EPSILON / 2.0,
        }
    }

    /// The smallest positive value.
    pub fn smallest_positive(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::from_bits(1)),
            Self::F64 => f64::from_bits(1),
        }
    }
}

/// The values that a library accepts in every column, and what it does to them first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intake {
    /// The type inputs are rounded to before any comparison.
    pub number: NumberType,
    /// Is NaN accepted? It means "missing".
    pub missing: bool,
    /// Are infinities accepted? If not, values that round to an infinity are refused too.
    pub infinities: bool,
    /// Values of at most this magnitude are read as zero (LightGBM's dense input).
    pub zero_window: Option<f64>,
}

impl Intake {
    /// Every value, missing ones too, rounded to this type.
    pub const fn everything(number: NumberType) -> Self {
        Self { number, missing: true, infinities: true, zero_window: None }
    }

    /// The largest accepted value.
    pub fn max(&self) -> f64 {
        if self.infinities { f64::INFINITY } else { self.number.max() }
    }

    /// The value as the library's comparisons see it, or `None` if the library refuses it.
    pub fn read(&self, value: f64) -> Option<f64> {
        if value.is_nan() {
            return self.missing.then_some(value);
        }
        let value = self.number.round(value);
        if value.is_infinite() && !self.infinities {
            return None;
        }
        match self.zero_window {
            Some(window) if value.abs() <= window => Some(0.0),
            _ => Some(value),
        }
    }
}

/// One input column.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// The column's name; readers make one up (`f0`, `f1`, ...) if the file has none.
    pub name: String,
    /// Number or category.
    pub kind: FeatureKind,
}

impl Feature {
    /// A numeric column.
    pub fn numeric(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: FeatureKind::Numeric }
    }

    /// A categorical column.
    pub fn categorical(name: impl Into<String>, categories: Categories) -> Self {
        Self { name: name.into(), kind: FeatureKind::Categorical(categories) }
    }
}

/// How splits use a column.
#[derive(Clone, Debug, PartialEq)]
pub enum FeatureKind {
    /// Compared with thresholds.
    Numeric,
    /// Looked up in sets of category codes.
    Categorical(Categories),
}

/// How a column's value becomes a category code.
#[derive(Clone, Debug, PartialEq)]
pub struct Categories {
    /// From number to code.
    pub rule: CategoryRule,
    /// Is a value that is not a category treated as missing? Otherwise it is in no set.
    pub unseen_is_missing: bool,
    /// The labels of the codes 0, 1, ... if the file has a dictionary; tables may use labels
    /// instead of codes.
    pub labels: Option<Vec<Label>>,
}

/// The step from number to category code.
#[derive(Clone, Debug, PartialEq)]
pub enum CategoryRule {
    /// XGBoost: negative numbers and numbers from 2^24 are not categories; others lose their
    /// fraction.
    TruncateNonNegative,
    /// LightGBM: numbers are truncated toward zero first (so -0.5 is code 0); then negative codes
    /// and magnitudes from 2^31 are not categories.
    Truncate,
    /// ONNX's tests for equality: whole numbers from 0 to below 2^24, which an f32 holds exactly,
    /// are their own codes; all other numbers are not categories.
    Whole,
    /// scikit-learn's HistGradientBoosting: the position of the equal value in this list.
    Listed(Vec<f64>),
    /// CatBoost: users send text, the library hashes it, and the code is the position of that hash
    /// in the model's list, which is the list of labels ([`Label::Hash`]). Numeric rows hold codes:
    /// a whole number from 0 to below 2^24 is its own code; every other number stands for a text
    /// whose hash is not in the list.
    Hashed,
    /// Labels of two models that were mapped to a common list ([`LabelMatch`](crate::LabelMatch));
    /// no file has this rule. The code is the position of the equal value. The column accepts these
    /// values, the value for labels that neither model knows (which takes the path of missing
    /// values), and missing values if neither library refuses them; no others.
    Joined {
        /// The number that a row holds for each label.
        values: Vec<f64>,
        /// The number for any label that neither model knows; `None` if a library refuses such
        /// labels.
        unknown: Option<f64>,
        /// Do both libraries accept a missing value there?
        missing: bool,
    },
}

impl Categories {
    /// The code of a value that is not NaN; `None` if it is not a category.
    pub fn code(&self, value: f64) -> Option<u32> {
        match &self.rule {
            CategoryRule::TruncateNonNegative => (0.0..16_777_216.0).contains(&value).then_some(value as u32),
            CategoryRule::Truncate => {
                let whole = value.trunc();
                (whole >= 0.0 && value.abs() < 2_147_483_648.0).then_some(whole as u32)
            }
            CategoryRule::Whole | CategoryRule::Hashed => {
                ((0.0..16_777_216.0).contains(&value) && value.fract() == 0.0).then_some(value as u32)
            }
            CategoryRule::Listed(values) | CategoryRule::Joined { values, .. } => {
                values.iter().position(|&listed| listed == value).map(|code| code as u32)
            }
        }
    }

    /// Is this number, which is not NaN, accepted in such a column? scikit-learn's encoder refuses
    /// infinities; a column of matched labels accepts only its labels; elsewhere every number that
    /// is not a category is an unseen one.
    pub fn accepts(&self, value: f64) -> bool {
        match &self.rule {
            CategoryRule::Listed(_) => value.is_finite(),
            CategoryRule::Joined { values, unknown, .. } => {
                values.contains(&value) || *unknown == Some(value)
            }
            CategoryRule::TruncateNonNegative
            | CategoryRule::Truncate
            | CategoryRule::Whole
            | CategoryRule::Hashed => true,
        }
    }

    /// Is a missing value accepted in such a column, if the library accepts missing values at all?
    /// CatBoost refuses a row with a missing value in a categorical column.
    pub fn accepts_missing(&self) -> bool {
        match self.rule {
            CategoryRule::Hashed => false,
            CategoryRule::Joined { missing, .. } => missing,
            CategoryRule::TruncateNonNegative
            | CategoryRule::Truncate
            | CategoryRule::Whole
            | CategoryRule::Listed(_) => true,
        }
    }

    /// A number that reads back as this code; `None` if the rule has no such code.
    pub fn value(&self, code: u32) -> Option<f64> {
        let value = match &self.rule {
            CategoryRule::Listed(values) | CategoryRule::Joined { values, .. } => {
                *values.get(code as usize)?
            }
            _ => f64::from(code),
        };
        (self.code(value) == Some(code)).then_some(value)
    }

    /// A number that is not a category, for splits to treat as unseen; `None` if such values count
    /// as missing.
    pub fn unseen_value(&self) -> Option<f64> {
        (!self.unseen_is_missing).then_some(-1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_is_the_largest_f32_at_most_the_value() {
        let t = 0.1f64; // the nearest f32 lies above it
        let floor = NumberType::F32.floor(t);
        assert!(floor < t && NumberType::F32.next_up(floor) > t);
        assert_eq!(NumberType::F32.floor(1e300), f64::from(f32::MAX));
        assert_eq!(NumberType::F32.floor(f64::INFINITY), f64::INFINITY);
        assert_eq!(NumberType::F32.floor(-1e300), f64::NEG_INFINITY);
        assert_eq!(NumberType::F64.floor(0.1), 0.1);
    }

    #[test]
    fn an_exact_number_is_rounded_once() {
        // Just above the middle between two f32 neighbours, by less than an f64 can show.
        let middle = 1.0 + f64::from(f32::EPSILON) / 2.0;
        let above = &Exact::from_f64(middle).unwrap() + &Exact::from_f64(1e-30).unwrap();
        assert_eq!(NumberType::F32.round(middle), 1.0);
        assert_eq!(NumberType::F32.round_exact(&above), f64::from(1.0f32.next_up()));
        let below = &Exact::from_f64(-middle).unwrap() - &Exact::from_f64(1e-30).unwrap();
        assert_eq!(NumberType::F32.round_exact(&below), -f64::from(1.0f32.next_up()));
        assert_eq!(NumberType::F32.round_exact(&Exact::from_f64(1e300).unwrap()), f64::INFINITY);
    }

    #[test]
    fn reading_rounds_and_refuses() {
        let sklearn =
            Intake { number: NumberType::F32, missing: false, infinities: false, zero_window: None };
        assert_eq!(sklearn.read(0.1), Some(f64::from(0.1f32)));
        assert_eq!(sklearn.read(f64::NAN), None);
        assert_eq!(sklearn.read(1e39), None);
        assert_eq!(sklearn.read(-1e39), None);
        let window = f64::from(1e-35f32);
        let lightgbm =
            Intake { number: NumberType::F64, missing: true, infinities: true, zero_window: Some(window) };
        assert_eq!(lightgbm.read(-window), Some(0.0));
        assert_eq!(lightgbm.read(window.next_up()), Some(window.next_up()));
        assert!(lightgbm.read(f64::NAN).unwrap().is_nan());
        assert_eq!(lightgbm.read(f64::INFINITY), Some(f64::INFINITY));
    }

    #[test]
    fn category_codes_follow_each_library() {
        let make = |rule| Categories { rule, unseen_is_missing: false, labels: None };
        let xgboost = make(CategoryRule::TruncateNonNegative);
        assert_eq!(xgboost.code(-0.5), None);
        assert_eq!(xgboost.code(-0.0), Some(0));
        assert_eq!(xgboost.code(2.9), Some(2));
        assert_eq!(xgboost.code(16_777_216.0), None);
        assert_eq!(xgboost.code(f64::INFINITY), None);
        let lightgbm = make(CategoryRule::Truncate);
        assert_eq!(lightgbm.code(-0.5), Some(0));
        assert_eq!(lightgbm.code(-1.0), None);
        assert_eq!(lightgbm.code(16_777_216.0), Some(16_777_216));
        assert_eq!(lightgbm.code(2_147_483_648.0), None);
        assert_eq!(lightgbm.code(f64::NEG_INFINITY), None);
        let onnx = make(CategoryRule::Whole);
        assert_eq!(onnx.code(-0.0), Some(0));
        assert_eq!(onnx.code(3.0), Some(3));
        assert_eq!(onnx.code(3.0f64.next_up()), None);
        assert_eq!(onnx.code(-1.0), None);
        assert_eq!(onnx.code(16_777_216.0), None);
        assert_eq!(onnx.code(f64::INFINITY), None);
        let listed = make(CategoryRule::Listed(vec![3.0, 7.5]));
        assert_eq!(listed.code(7.5), Some(1));
        assert_eq!(listed.code(7.0), None);
        assert_eq!(listed.value(0), Some(3.0));
        assert!(listed.accepts(7.0) && !listed.accepts(f64::INFINITY) && !listed.accepts(f64::NEG_INFINITY));
        assert!(lightgbm.accepts(f64::INFINITY));
        assert_eq!(listed.value(2), None);
    }
}
