//! Errors in a model file, with their places.

use std::fmt;

use secateur_model::{BuildError, NodeId, TreeId};
use thiserror::Error;

/// A file that cannot be read as a model: where, and what.
#[derive(Debug, Error)]
#[error("{place}{problem}")]
pub struct FormatError {
    /// The place in the file.
    pub place: Place,
    /// What is wrong there.
    pub problem: Problem,
}

impl FormatError {
    /// An error at a place.
    pub fn new(place: Place, problem: Problem) -> Self {
        Self { place, problem }
    }
}

/// A place in a model file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The file as a whole.
    File,
    /// A byte position, from 0.
    Byte(u64),
    /// A line, from 1.
    Line(u64),
    /// A field, by its path in the document (`learner.objective.name`).
    Field(String),
    /// A field of a tree.
    TreeField {
        /// Which tree.
        tree: TreeId,
        /// The field's name.
        field: &'static str,
    },
    /// A node of a tree.
    Node {
        /// Which tree.
        tree: TreeId,
        /// Which node.
        node: NodeId,
    },
    /// A member of an archive.
    Entry(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => Ok(()),
            Self::Byte(byte) => write!(f, "byte {byte}: "),
            Self::Line(line) => write!(f, "line {line}: "),
            Self::Field(path) => write!(f, "field {}: ", Short(path)),
            Self::TreeField { tree, field } => write!(f, "tree {tree}, field {field}: "),
            Self::Node { tree, node } => write!(f, "tree {tree}, node {node}: "),
            Self::Entry(name) => write!(f, "archive member {}: ", Short(name)),
        }
    }
}

/// What is wrong at a place.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum Problem {
    #[error("the file ends here, inside {inside}")]
    Truncated { inside: &'static str },
    #[error("{expected} expected, found {}", Short(found))]
    Syntax { expected: &'static str, found: String },
    #[error("the field is missing")]
    Missing,
    #[error("the key {:?} stands here twice", Short(key))]
    DuplicateKey { key: String },
    #[error("nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("{found} values where {expected} are needed")]
    Length { expected: usize, found: usize },
    #[error("{} is not {expected}", Short(found))]
    Value { found: String, expected: &'static str },
    #[error("{declared} {what} are declared, but only {bytes} bytes of the file are left")]
    DeclaredTooMany { what: &'static str, declared: u64, bytes: u64 },
    #[error("{} is not supported; {advice}", Short(what))]
    Unsupported { what: String, advice: &'static str },
    #[error("the packed model contradicts its format: {what}")]
    Packed { what: &'static str },
    #[error("{0}")]
    Model(#[from] BuildError),
}

/// Words of the file in a message, cut to a length that a reader can take in.
struct Short<'a>(&'a str);

impl Short<'_> {
    const LONGEST: usize = 120;

    /// The words that are shown, and a sign if some are left out.
    fn parts(&self) -> (&str, &'static str) {
        match self.0.char_indices().nth(Self::LONGEST) {
            Some((end, _)) => (&self.0[..end], "..."),
            None => (self.0, ""),
        }
    }
}

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, rest) = self.parts();
        write!(f, "{text}{rest}")
    }
}

impl fmt::Debug for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, rest) = self.parts();
        write!(f, "{text:?}{rest}")
    }
}

impl From<BuildError> for FormatError {
    fn from(error: BuildError) -> Self {
        // A build error names its own tree and node.
        Self::new(Place::File, Problem::Model(error))
    }
}

/// Why an edit cannot be carried out on a file.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum EditError {
    #[error("tree {tree} is not in the model, which has {trees}")]
    NoSuchTree { tree: TreeId, trees: usize },
    #[error("tree {tree} is named out of order or twice; name the kept trees in the order of the file")]
    TreeOrder { tree: TreeId },
    #[error("tree {tree}: a leaf would be {value}, which the file's number type cannot hold")]
    LeafValue { tree: TreeId, value: f64 },
    #[error("tree {tree}: the new tree has other outputs than the one it stands for")]
    TreeOutput { tree: TreeId },
    #[error("tree {tree}: this format cannot hold {what}")]
    TreeContent { tree: TreeId, what: &'static str },
    #[error("{found} intercepts for {expected} scores")]
    InterceptCount { expected: usize, found: usize },
    #[error("intercept {value} cannot be held by the file's number type")]
    InterceptValue { value: f64 },
    #[error("this format cannot hold an intercept for {model}")]
    NoIntercept { model: &'static str },
    #[error("a {model} needs at least one tree")]
    NoTrees { model: &'static str },
    #[error("a packed model cannot be changed: change the model that it was packed from, and pack that")]
    Packed,
    #[error("an {model} is only read, to say which inputs a claim is about; it cannot be changed")]
    ReadOnly { model: &'static str },
    #[error("the edited file does not read back: {reason}")]
    ReadBack { reason: String },
}
