//! A CatBoost model as both of its file formats hold it: features, a numbering of tests, and trees
//! over these numbers.

use secateur_model::{FeatureId, MAX_FEATURES, TreeId};

use super::info::Info;
use crate::error::{FormatError, Place, Problem};

/// CatBoost's own limit on the depth of symmetric trees.
const DEEPEST: usize = 16;

/// Beyond this number of hashes in a column, numeric rows could not hold their codes.
const MOST_HASHES: usize = 1 << 24;

/// The content of a file.
#[derive(Clone, Debug)]
pub(super) struct Core {
    /// The number of scores.
    pub(super) dimension: usize,
    pub(super) floats: Vec<FloatFeature>,
    pub(super) categories: Vec<CategoryFeature>,
    pub(super) one_hots: Vec<OneHot>,
    /// All trees of a file are of one kind.
    pub(super) symmetric: bool,
    pub(super) trees: Vec<CoreTree>,
    pub(super) scale: f64,
    /// One for each score.
    pub(super) bias: Vec<f64>,
    pub(super) info: Info,
}

/// A numeric column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FloatFeature {
    /// Its place among the numeric columns.
    pub(super) index: i32,
    /// Its place in a row.
    pub(super) flat: i32,
    pub(super) borders: Vec<f32>,
    pub(super) has_nans: bool,
    pub(super) treatment: Treatment,
    pub(super) id: String,
}

/// How a missing value compares, if the column had missing values in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "the names that files use")]
pub(super) enum Treatment {
    AsIs,
    AsFalse,
    AsTrue,
}

/// A column of categories.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CategoryFeature {
    /// Its place among the columns of categories.
    pub(super) index: i32,
    /// Its place in a row.
    pub(super) flat: i32,
    pub(super) id: String,
    /// Does CatBoost state that the model uses it?
    pub(super) used: bool,
}

/// The hashes that a column of categories is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OneHot {
    /// The column's place among those of categories.
    pub(super) index: i32,
    pub(super) hashes: Vec<i32>,
}

/// A tree over numbers of tests.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CoreTree {
    pub(super) shape: Shape,
    /// `dimension` for each leaf.
    pub(super) values: Vec<f64>,
    /// The rows of training in each leaf; empty where the file has none.
    pub(super) weights: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// The answer to test `d` is bit `d` of the leaf's number.
    Symmetric(Vec<u32>),
    /// Nodes, the root first.
    Nodes(Vec<CoreNode>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CoreNode {
    Split { test: u32, no: u32, yes: u32 },
    Leaf(u32),
}

/// The test that a number stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CoreTest {
    /// Is the number above this border?
    Above { feature: FeatureId, border: f32, missing_is_above: bool },
    /// Is the category the one of this code?
    Is { feature: FeatureId, code: u32 },
}

impl FloatFeature {
    /// Is a missing value above a border? Depending on the treatment it counts as plus infinity, as
    /// minus infinity, or as above no border.
    pub(super) fn missing_is_above(&self, border: f32) -> bool {
        self.has_nans && self.treatment == Treatment::AsTrue && border < f32::INFINITY
    }
}

fn fail<T>(field: &str, found: impl ToString, expected: &'static str) -> Result<T, FormatError> {
    let problem = Problem::Value { found: found.to_string(), expected };
    Err(FormatError::new(Place::Field(field.to_owned()), problem))
}

impl Core {
    /// The tests in the order of their numbers: borders of the numeric columns in their order, then
    /// hashes.
    pub(super) fn tests(&self) -> Vec<CoreTest> {
        let above = self.floats.iter().flat_map(|float| {
            float.borders.iter().map(|&border| CoreTest::Above {
                feature: FeatureId(float.flat as u32),
                border,
                missing_is_above: float.missing_is_above(border),
            })
        });
        let is = self.one_hots.iter().flat_map(|one_hot| {
            let feature = self.category_column(one_hot).unwrap_or(FeatureId(0));
            (0..one_hot.hashes.len() as u32).map(move |code| CoreTest::Is { feature, code })
        });
        above.chain(is).collect()
    }

    /// The number of tests.
    pub(super) fn test_count(&self) -> usize {
        let borders: usize = self.floats.iter().map(|float| float.borders.len()).sum();
        borders + self.one_hots.iter().map(|one_hot| one_hot.hashes.len()).sum::<usize>()
    }

    /// The position in a row of the column with these hashes.
    pub(super) fn category_column(&self, one_hot: &OneHot) -> Option<FeatureId> {
        let column = self.categories.iter().find(|category| category.index == one_hot.index)?;
        u32::try_from(column.flat).ok().map(FeatureId)
    }

    /// The number of columns of a row.
    pub(super) fn width(&self) -> usize {
        let flats = self.floats.iter().map(|float| float.flat);
        let flats = flats.chain(self.categories.iter().map(|category| category.flat));
        flats.max().map_or(0, |last| last as usize + 1)
    }

    /// Checks what CatBoost assumes without checking, and what its faster evaluation methods depend
    /// on.
    pub(super) fn check(&self) -> Result<(), FormatError> {
        self.check_features()?;
        if self.dimension == 0 {
            return fail("ApproxDimension", 0, "a number of scores");
        }
        if self.bias.len() != self.dimension {
            let problem = Problem::Length { expected: self.dimension, found: self.bias.len() };
            return Err(FormatError::new(Place::Field("bias".to_owned()), problem));
        }
        if self.trees.is_empty() {
            let what = "a model without trees".to_owned();
            let advice = "CatBoost cannot predict with it either: train it for one round at least";
            return Err(FormatError::new(Place::File, Problem::Unsupported { what, advice }));
        }
        let tests = self.test_count();
        for (index, tree) in self.trees.iter().enumerate() {
            self.check_tree(TreeId::new(index), tree, tests)?;
        }
        Ok(())
    }

    fn check_features(&self) -> Result<(), FormatError> {
        let mut flats = Vec::new();
        let floats = self.floats.iter().map(|float| (float.index, float.flat, "FloatFeatures"));
        let categories =
            self.categories.iter().map(|category| (category.index, category.flat, "CatFeatures"));
        let mut last = (-1, -1, "");
        for (index, flat, field) in floats.chain(categories) {
            if last.2 != field {
                last = (-1, -1, field);
            }
            // CatBoost walks both numberings at once.
            if index <= last.0 || flat <= last.1 {
                return fail(field, format!("column {flat}, number {index}"), "in ascending order");
            }
            if flat as usize >= MAX_FEATURES || index > flat {
                return fail(field, format!("column {flat}, number {index}"), "a column of a table");
            }
            last = (index, flat, field);
            flats.push(flat);
        }
        flats.sort_unstable();
        if flats.windows(2).any(|pair| pair[0] == pair[1]) {
            return fail("FlatIndex", "a column that is numeric and categorical", "one kind of column");
        }
        for float in &self.floats {
            // CatBoost counts the borders below a value; this equals the comparisons only if the
            // borders are sorted.
            let sorted = float.borders.iter().all(|border| !border.is_nan())
                && float.borders.windows(2).all(|pair| pair[0] <= pair[1]);
            if !sorted {
                return fail("Borders", format!("the list of column {}", float.flat), "sorted");
            }
        }
        let mut seen = Vec::new();
        for one_hot in &self.one_hots {
            if self.category_column(one_hot).is_none() || seen.contains(&one_hot.index) {
                return fail("OneHotFeatures", one_hot.index, "a column of categories, each once");
            }
            seen.push(one_hot.index);
            let mut hashes = one_hot.hashes.clone();
            hashes.sort_unstable();
            let repeated = hashes.windows(2).any(|pair| pair[0] == pair[1]);
            if repeated || hashes.len() >= MOST_HASHES {
                return fail("OneHotFeatures", "a list of hashes", "short, each hash once");
            }
        }
        Ok(())
    }

    fn check_tree(&self, tree: TreeId, content: &CoreTree, tests: usize) -> Result<(), FormatError> {
        let wrong = |field, found: usize, expected: usize| {
            Err(FormatError::new(Place::TreeField { tree, field }, Problem::Length { expected, found }))
        };
        let leaves = match &content.shape {
            Shape::Symmetric(splits) if splits.len() > DEEPEST => {
                let found = format!("a depth of {}", splits.len());
                let problem = Problem::Value { found, expected: "at most 16" };
                return Err(FormatError::new(Place::TreeField { tree, field: "splits" }, problem));
            }
            Shape::Symmetric(splits) => 1 << splits.len(),
            Shape::Nodes(nodes) => nodes.iter().filter(|node| matches!(node, CoreNode::Leaf(_))).count(),
        };
        if content.values.len() != leaves * self.dimension {
            return wrong("leaf values", content.values.len(), leaves * self.dimension);
        }
        if !content.weights.is_empty() && content.weights.len() != leaves {
            return wrong("leaf weights", content.weights.len(), leaves);
        }
        let splits: Vec<u32> = match &content.shape {
            Shape::Symmetric(splits) => splits.clone(),
            Shape::Nodes(nodes) => nodes.iter().filter_map(|node| node.test()).collect(),
        };
        if let Some(test) = splits.into_iter().find(|&test| test as usize >= tests) {
            let problem =
                Problem::Value { found: format!("test {test}"), expected: "one of the model's tests" };
            return Err(FormatError::new(Place::TreeField { tree, field: "splits" }, problem));
        }
        Ok(())
    }
}

impl CoreNode {
    fn test(&self) -> Option<u32> {
        match self {
            Self::Split { test, .. } => Some(*test),
            Self::Leaf(_) => None,
        }
    }
}
