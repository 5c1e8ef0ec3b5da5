//! What can go wrong: a file that is no packed model, and rows that the model's library would
//! refuse.

use core::fmt;

/// Why bytes are not a packed model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The first bytes are not those of a packed model.
    NotPacked,
    /// The file has a version that this program does not know.
    Version(u8),
    /// The checksum does not fit: the file was cut or changed.
    Checksum,
    /// The file ends inside its content.
    Truncated,
    /// There are bytes after the content.
    Trailing,
    /// Something in the file contradicts the format; the text says what.
    Invalid(&'static str),
    /// The model needs more of something than this program supports; the text says of what.
    TooLarge(&'static str),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPacked => f.write_str("this is not a packed model (.spk)"),
            Self::Version(version) => write!(f, "version {version} of packed models is not known here"),
            Self::Checksum => f.write_str("the checksum does not fit: the file was cut or changed"),
            Self::Truncated => f.write_str("the file ends inside its content"),
            Self::Trailing => f.write_str("there are bytes behind the content"),
            Self::Invalid(what) => write!(f, "the file contradicts its format: {what}"),
            Self::TooLarge(what) => write!(f, "the model is too large: {what}"),
        }
    }
}

impl core::error::Error for LoadError {}

/// Why there is no prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PredictError {
    /// The rows have a different number of columns than the model.
    Width {
        /// Columns of the rows.
        found: usize,
        /// Columns of the model.
        expected: usize,
    },
    /// The number of values does not fit the shape of the rows.
    Shape,
    /// The output has a different length than the rows need.
    Output {
        /// Length of the output.
        found: usize,
        /// Length that is needed.
        expected: usize,
    },
    /// The library does not accept this value as an input of this model.
    Refused {
        /// The index of the row.
        row: usize,
        /// The index of the column.
        feature: usize,
        /// The value.
        value: f64,
    },
    /// The processor does not have the requested instruction set.
    NoSuchPath,
    /// The model's file does not say how scores become probabilities.
    NoProbabilities,
    /// The model chooses no class: it is a regressor or ranker, or a row may get several labels.
    NoClasses,
    /// The model is a classifier: it predicts classes, not values.
    NoValues,
    /// Versions of the model's library make different predictions of the same scores.
    ValuesVary,
    /// The library computes the values from the scores and from numbers that the file does not
    /// have.
    ValuesUnknown,
    /// The file has no covers of its nodes, without which there are no contributions.
    NoCovers,
    /// A path asks about more different columns than contributions are computed for.
    TooDeep,
    /// The result needs the exponential function, which is missing without the features `std` and
    /// `libm`.
    NeedsStd,
}

impl fmt::Display for PredictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width { found, expected } => {
                write!(f, "the rows have {found} columns, the model has {expected}")
            }
            Self::Shape => f.write_str("the values given are fewer than the shape of the rows needs"),
            Self::Output { found, expected } => {
                write!(f, "the output has room for {found} numbers where {expected} are needed")
            }
            Self::Refused { row, feature, value } => {
                write!(f, "row {row}, feature {feature}: the library does not accept ")?;
                match value {
                    _ if value.is_nan() => f.write_str("NaN")?,
                    &f64::INFINITY => f.write_str("inf")?,
                    &f64::NEG_INFINITY => f.write_str("-inf")?,
                    #[cfg(feature = "std")]
                    _ => write!(f, "{value}")?,
                    // Code that formats floats would be larger than a kernel.
                    #[cfg(not(feature = "std"))]
                    _ => f.write_str("a number as large as this")?,
                }
                f.write_str(" as an input of this model")
            }
            Self::NoSuchPath => f.write_str("this processor does not have the instruction set asked for"),
            Self::NoProbabilities => {
                f.write_str("the file of this model does not say how its scores become probabilities")
            }
            Self::NoClasses => f.write_str(
                "this model is a regressor or ranker and has no classes, or gives a row several labels and chooses none",
            ),
            Self::NoValues => f.write_str("this model is a classifier: ask for its classes"),
            Self::ValuesVary => f.write_str(
                "versions of the library make different predictions of the same scores (some sort them); ask for the raw scores",
            ),
            Self::ValuesUnknown => f.write_str(
                "the scores of an isolation forest are sums of path lengths, and what its library makes of them is not in the file; ask \
                 for the raw scores",
            ),
            Self::NoCovers => f.write_str(
                "this packed file has no covers, without which there are no contributions; pack the model with \
                 contributions=True (--contributions)",
            ),
            Self::TooDeep => {
                f.write_str("a path of this model has more than 4096 steps or asks about more than 128 columns, too many for contributions")
            }
            Self::NeedsStd => {
                f.write_str("this needs the exponential function (feature std)")
            }
        }
    }
}

impl core::error::Error for PredictError {}
