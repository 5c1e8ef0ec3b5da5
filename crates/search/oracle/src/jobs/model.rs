//! Encodes models for workers and decodes them: the canonical encoding that digests are computed
//! from.
//!
//! The encoding is that of [`canonical`] (section 3 of `docs/spec/certificate-v1.md`), so a model
//! that arrives either has the digest of the one that was sent, or is refused.

use secateur_certificate::canonical;
use secateur_model::{
    Accumulation, Average, Categories, CategoryRule, ClassLabels, Decision, Ensemble, EnsembleBuilder,
    FeatureId, Features, GroupId, Intake, InterceptPosition, Label, NodeId, NumberType, Order, Output,
    Softmax, Split, Test, Transform, TreeBuilder, Value,
};

use crate::jobs::wire::{In, WireError};

/// The bytes of a model, for all inputs that its library accepts and with the library's own
/// decisions.
pub(crate) fn encode_model(model: &Ensemble) -> Vec<u8> {
    let mut bytes = Vec::new();
    canonical(model, &mut |part| bytes.extend_from_slice(part));
    bytes
}

/// The model of these bytes.
pub(crate) fn decode_model(bytes: &[u8]) -> Result<Ensemble, WireError> {
    let mut input = Model(In::new(bytes));
    let model = input.model()?;
    // The encoding is canonical: bytes that decode to a model but differ from its encoding are
    // forged or damaged.
    if encode_model(&model) != bytes {
        return Err(WireError);
    }
    Ok(model)
}

struct Model<'a>(In<'a>);

impl Model<'_> {
    fn count(&mut self) -> Result<u64, WireError> {
        Ok(u64::from_le_bytes(self.0.array()?))
    }

    fn index(&mut self) -> Result<u32, WireError> {
        self.count()?.try_into().map_err(|_| WireError)
    }

    fn list<T>(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let count = self.count()?;
        // Allocate nothing in advance for entries that may not be there.
        let mut entries = Vec::new();
        for _ in 0..count {
            entries.push(each(self)?);
        }
        Ok(entries)
    }

    fn floats(&mut self) -> Result<Vec<f64>, WireError> {
        self.list(|input| input.0.float())
    }

    fn text(&mut self) -> Result<String, WireError> {
        let length = usize::try_from(self.count()?).map_err(|_| WireError)?;
        String::from_utf8(self.0.raw(length)?.to_vec()).map_err(|_| WireError)
    }

    fn option(&mut self) -> Result<Option<f64>, WireError> {
        self.0.option(In::float)
    }

    fn number_type(&mut self) -> Result<NumberType, WireError> {
        Ok(if self.0.flag()? { NumberType::F64 } else { NumberType::F32 })
    }

    fn model(&mut self) -> Result<Ensemble, WireError> {
        if self.text()? != "secateur model 1" {
            return Err(WireError);
        }
        let intake = Intake {
            number: self.number_type()?,
            missing: self.0.flag()?,
            infinities: self.0.flag()?,
            zero_window: self.option()?,
        };
        let mut features = self.features()?;
        let classes = self.classes()?;
        let number = self.number_type()?;
        let intercept = if self.0.flag()? { InterceptPosition::Last } else { InterceptPosition::First };
        let order = if self.0.flag()? { Order::Any } else { Order::File };
        let divisor = self.option()?;
        let in_raw_scores = self.0.flag()?;
        let average = divisor.map(|divisor| Average { divisor, in_raw_scores });
        let accumulation = Accumulation { number, intercept, order, average };
        let decision = self.decision()?;
        let intercepts = self.floats()?;
        let errors = self.floats()?;
        let trees = self.list(Self::tree)?;
        let mut scale = None;
        if self.0.end().is_err() {
            match self.0.byte()? {
                2 => scale = Some(self.0.float()?),
                moved @ (0 | 1) => {
                    let lists = self.list(Self::labels)?;
                    features.set_unplaced_labels(lists);
                    if moved == 1 {
                        features.forget_label_order();
                    }
                    if self.0.end().is_err() {
                        if self.0.byte()? != 2 {
                            return Err(WireError);
                        }
                        scale = Some(self.0.float()?);
                    }
                }
                _ => return Err(WireError),
            }
        }
        self.0.end()?;
        let builder = EnsembleBuilder::new(features, intake, classes, intercepts, accumulation, decision);
        let mut builder = builder.map_err(|_| WireError)?;
        builder.intercept_errors(errors).map_err(|_| WireError)?;
        if let Some(scale) = scale {
            builder.scale(scale).map_err(|_| WireError)?;
        }
        for (tree, output, weight) in trees {
            builder.tree(tree, output, weight).map_err(|_| WireError)?;
        }
        Ok(builder.build())
    }

    fn features(&mut self) -> Result<Features, WireError> {
        let count = self.index()?;
        let mut features = if self.0.flag()? {
            let mut names = Vec::new();
            for _ in 0..count {
                names.push(self.text()?);
            }
            Features::named(names)
        } else {
            Features::unnamed(count)
        };
        let categorical = self.count()?;
        for _ in 0..categorical {
            let feature = FeatureId(self.index()?);
            let categories = self.categories()?;
            features.set_categories(feature, categories);
        }
        Ok(features)
    }

    fn categories(&mut self) -> Result<Categories, WireError> {
        let rule = match self.0.byte()? {
            0 => CategoryRule::TruncateNonNegative,
            1 => CategoryRule::Truncate,
            2 => CategoryRule::Whole,
            3 => CategoryRule::Listed(self.floats()?),
            4 => CategoryRule::Joined {
                values: self.floats()?,
                unknown: self.option()?,
                missing: self.0.flag()?,
            },
            5 => CategoryRule::Hashed,
            _ => return Err(WireError),
        };
        let unseen_is_missing = self.0.flag()?;
        let labels = match self.0.byte()? {
            0 => None,
            tag => Some(self.labels_of(tag)?),
        };
        Ok(Categories { rule, unseen_is_missing, labels })
    }

    fn labels(&mut self) -> Result<Vec<Label>, WireError> {
        let tag = self.0.byte()?;
        self.labels_of(tag)
    }

    fn labels_of(&mut self, tag: u8) -> Result<Vec<Label>, WireError> {
        match tag {
            1 => self.list(|input| Ok(Label::Text(input.text()?))),
            2 => self.list(|input| {
                Ok(match input.0.byte()? {
                    0 => Label::Text(input.text()?),
                    1 => Label::Integer(input.count()? as i64),
                    2 => Label::Float(input.0.float()?),
                    3 => Label::Boolean(input.0.flag()?),
                    4 => Label::Unreadable(input.text()?),
                    5 => Label::Hash(input.index()?),
                    _ => return Err(WireError),
                })
            }),
            _ => Err(WireError),
        }
    }

    fn classes(&mut self) -> Result<ClassLabels, WireError> {
        let count = self.count()?;
        Ok(match self.0.byte()? {
            0 => ClassLabels::Unnamed(count.try_into().map_err(|_| WireError)?),
            1 => ClassLabels::Integers(self.entries(count, |input| Ok(input.count()? as i64))?),
            2 => ClassLabels::Floats(self.entries(count, |input| input.0.float())?),
            3 => ClassLabels::Booleans(self.entries(count, |input| input.0.flag())?),
            4 => ClassLabels::Strings(self.entries(count, Self::text)?),
            _ => return Err(WireError),
        })
    }

    fn entries<T>(
        &mut self,
        count: u64,
        mut each: impl FnMut(&mut Self) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let mut entries = Vec::new();
        for _ in 0..count {
            entries.push(each(self)?);
        }
        Ok(entries)
    }

    fn decision(&mut self) -> Result<Decision, WireError> {
        Ok(match self.0.byte()? {
            0 => Decision::Threshold {
                group: GroupId(self.index()?),
                threshold: self.0.float()?,
                strict: self.0.flag()?,
            },
            1 => Decision::Argmax,
            2 => Decision::ArgmaxSoftmax(Softmax::XgBoost),
            3 => Decision::ArgmaxSoftmax(Softmax::LightGbm),
            4 => Decision::ArgmaxSigmoid { scale: self.0.float()? },
            5 => Decision::Scores(match self.0.byte()? {
                0 => Value::Score,
                1 => Value::SignedSquare,
                2 => Value::NotFixed(Transform::Exp),
                3 => Value::NotFixed(Transform::Logistic),
                4 => Value::NotFixed(Transform::LogOnePlusExp),
                5 => Value::NotFixed(Transform::Sorted),
                6 => Value::ScoreAsF32,
                7 => Value::Above { threshold: self.0.float()? },
                8 => Value::NotFixed(Transform::MeanAndVariance),
                9 => Value::NotFixed(Transform::PathLength),
                _ => return Err(WireError),
            }),
            _ => return Err(WireError),
        })
    }

    fn tree(&mut self) -> Result<(TreeBuilder, Output, f64), WireError> {
        let output = match self.0.byte()? {
            0 => Output::Group(GroupId(self.index()?)),
            1 => Output::All,
            _ => return Err(WireError),
        };
        let weight = self.0.float()?;
        let nodes = self.count()?;
        let mut tree = TreeBuilder::new();
        for _ in 0..nodes {
            match self.0.byte()? {
                0 => drop(tree.unused()),
                1 => drop(tree.leaf(&self.floats()?)),
                2 => self.split(&mut tree)?,
                _ => return Err(WireError),
            }
        }
        Ok((tree, output, weight))
    }

    fn split(&mut self, tree: &mut TreeBuilder) -> Result<(), WireError> {
        let feature = FeatureId(self.index()?);
        let missing_left = self.0.flag()?;
        let set;
        let test = match self.0.byte()? {
            0 => Test::Less { threshold: self.0.float()? },
            1 => Test::LessOrEqual { threshold: self.0.float()? },
            2 => Test::LessOrEqualButZero { threshold: self.0.float()?, zero_left: self.0.flag()? },
            3 => Test::Equal { value: self.0.float()? },
            4 => {
                let members_left = self.0.flag()?;
                set = self.list(Self::index)?;
                Test::Member { set: &set, members_left }
            }
            _ => return Err(WireError),
        };
        let [left, right] = [NodeId(self.index()?), NodeId(self.index()?)];
        tree.split(Split { feature, missing_left, test }, left, right);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use secateur_testkit::{Shape, ensemble, mutate};

    #[test]
    fn a_model_arrives_as_it_was_sent_and_nothing_else_does() {
        let (mut refused, mut cuts) = (0, 0);
        for seed in 0..600 {
            let mut rng = Rng::with_seed(seed);
            let shape = Shape::any(&mut rng);
            let model = ensemble(&mut rng, &shape);
            for model in [mutate(&mut rng, &model), model] {
                let bytes = encode_model(&model);
                assert_eq!(decode_model(&bytes).as_ref(), Ok(&model), "seed {seed}");
                // Damaged bytes are refused or decode to another model; they never cause a panic.
                for _ in 0..20 {
                    let mut other = bytes.clone();
                    let at = rng.usize(..other.len());
                    other[at] ^= 1 << rng.u8(..8);
                    match decode_model(&other) {
                        Err(WireError) => refused += 1,
                        Ok(other) => assert_ne!(encode_model(&other), bytes, "seed {seed}"),
                    }
                    let cut = rng.usize(..bytes.len());
                    if decode_model(&bytes[..cut]).is_err() {
                        cuts += 1;
                    }
                }
            }
        }
        assert!(refused > 1000 && cuts > 20_000, "{refused} {cuts}");
    }
}
