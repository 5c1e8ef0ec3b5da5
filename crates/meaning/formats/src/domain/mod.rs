//! Domain files: which inputs can occur, as users write it in TOML or JSON.
//!
//! A [`DomainFile`] names columns; [`resolve`](DomainFile::resolve) looks them up in a model and
//! returns the [`Domain`] that claims are about. Columns are looked up by name, otherwise by number
//! (`"3"`). A file that contradicts itself or the model is refused with the place of the
//! contradiction. The keys are those of the guide (`docs/guide/domains.md`).

mod print;
mod raw;
mod scored;

use std::path::Path;

use secateur_model::{Column, Domain, DomainError, Ensemble, FeatureId, Features, Group, GroupKind, Label};
use serde_json::Value;
use thiserror::Error;

use crate::{ModelFile, did_you_mean};
use raw::{Place, Raw};
pub use scored::DigestOf;
use scored::NamedWhere;

/// An error in a domain file, with its place.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum DomainFileError {
    #[error("the file cannot be read: {0}")]
    Io(String),
    #[error("this is no TOML: {0}")]
    Syntax(String),
    #[error("{place}: {found} where {expected} is expected")]
    Type { place: String, expected: &'static str, found: &'static str },
    #[error("{place}: {value} is a whole number that no float holds exactly")]
    TooLarge { place: String, value: i64 },
    #[error("{place}: unknown key {key:?}; known are {known}{}", did_you_mean(key, known.split(", ")))]
    Key { place: String, key: String, known: &'static str },
    #[error("{place}: {key:?} is needed")]
    Needed { place: String, key: &'static str },
    #[error("{place}: unknown kind {kind:?}; known are one-hot, ordered and table")]
    Kind { place: String, kind: String },
    #[error("{place}: the model has no column {name:?}; it has {columns}")]
    Column { place: String, name: String, columns: String },
    #[error("{place}: column {name:?} of the model has no category labelled {label:?}")]
    Label { place: String, name: String, label: String },
    #[error("{place}: {message}")]
    Scorer { place: String, message: String },
    #[error("{place}: a digest is 64 hexadecimal digits")]
    Digest { place: String },
    #[error("{place}: {value} is no number that scores are counted by, from 0")]
    Count { place: String, value: String },
    #[error("{0}")]
    Domain(String),
}

/// A domain as it is written in a file: with the names of columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DomainFile {
    missing: Option<bool>,
    columns: Vec<(String, Limits)>,
    groups: Vec<NamedGroup>,
    wheres: Vec<NamedWhere>,
}

/// The limits of one column.
#[derive(Clone, Debug, Default, PartialEq)]
struct Limits {
    missing: Option<bool>,
    min: Option<f64>,
    max: Option<f64>,
    whole: bool,
    f32_only: bool,
    values: Option<Vec<Entry>>,
}

/// A value of a column: a number, or the label of a category.
#[derive(Clone, Debug, PartialEq)]
enum Entry {
    Number(f64),
    Label(String),
}

#[derive(Clone, Debug, PartialEq)]
struct NamedGroup {
    columns: Vec<String>,
    kind: GroupKind,
}

impl DomainFile {
    /// Every input without missing values: the short form `--no-missing`.
    pub fn no_missing() -> Self {
        Self { missing: Some(false), ..Self::default() }
    }

    /// Reads a file. Paths of models in it are relative to the file's folder.
    pub fn read(path: &Path) -> Result<Self, DomainFileError> {
        let text = std::fs::read_to_string(path).map_err(|error| DomainFileError::Io(error.to_string()))?;
        let file = Self::parse(&text)?;
        Ok(path.parent().map_or_else(|| file.clone(), |folder| file.below(folder)))
    }

    /// The same, with paths of models relative to this folder.
    pub fn below(&self, folder: &Path) -> Self {
        let mut file = self.clone();
        file.wheres.iter_mut().for_each(|own| own.below(folder));
        file
    }

    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self, DomainFileError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            DomainFileError::Syntax(error.to_string().trim_end().to_owned())
        })?;
        Self::of_raw(Raw::from_toml(toml::Value::Table(table)))
    }

    /// The same from JSON with the same keys; `null` is a missing value.
    pub fn from_json(value: &Value) -> Result<Self, DomainFileError> {
        Self::of_raw(Raw::from_json(value))
    }

    fn of_raw(raw: Raw) -> Result<Self, DomainFileError> {
        let mut file = Self::default();
        for (key, value) in raw.table(&Place::root())? {
            let place = Place::root().key(&key);
            match key.as_str() {
                "missing" => file.missing = Some(value.flag(&place)?),
                "columns" => {
                    for (name, limits) in value.table(&place)? {
                        let place = place.key(&name);
                        file.columns.push((name, Limits::of_raw(limits, &place)?));
                    }
                }
                "groups" => {
                    for (index, group) in value.list(&place)?.into_iter().enumerate() {
                        file.groups.push(NamedGroup::of_raw(group, &place.index(index))?);
                    }
                }
                "where" => {
                    for (index, own) in value.list(&place)?.into_iter().enumerate() {
                        file.wheres.push(NamedWhere::of_raw(own, &place.index(index))?);
                    }
                }
                _ => {
                    let known = "missing, columns, groups and where";
                    return Err(DomainFileError::Key { place: "the file".to_owned(), key, known });
                }
            }
        }
        Ok(file)
    }

    /// The domain over the columns of a model, which must accept some input of every part of it.
    /// Models whose scores the domain refers to are read from their files; `digest` computes the
    /// digest that stands for them in certificates.
    pub fn resolve(&self, model: &Ensemble, digest: DigestOf<'_>) -> Result<Domain, DomainFileError> {
        self.resolve_with(model, digest, &[])
    }

    /// As [`resolve`](Self::resolve), but a `where` may refer to one of the models in `given` by
    /// its position, for programs that make the file in memory.
    pub fn resolve_with(
        &self,
        model: &Ensemble,
        digest: DigestOf<'_>,
        given: &[&ModelFile],
    ) -> Result<Domain, DomainFileError> {
        let mut wheres = Vec::new();
        for (index, own) in self.wheres.iter().enumerate() {
            wheres.extend(own.resolve(&Place::root().key("where").index(index), model, digest, given)?);
        }
        let domain = self.over(model.features())?.with_wheres(wheres);
        domain.fits(model).map_err(|error| named(&error, model.features()))?;
        Ok(domain)
    }

    /// The domain in words, one string for each part, without reference to a model.
    pub fn words(&self) -> Result<Vec<String>, DomainFileError> {
        let mut names: Vec<String> = Vec::new();
        let own = self.columns.iter().map(|(name, _)| name);
        for name in own.chain(self.groups.iter().flat_map(|group| &group.columns)) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let features = Features::named(names);
        let mut words = self.over(&features)?.words(&|column| features.name(column).into_owned());
        words.extend(self.wheres.iter().flat_map(NamedWhere::words));
        Ok(words)
    }

    fn over(&self, features: &Features) -> Result<Domain, DomainFileError> {
        let missing = self.missing.unwrap_or(true);
        let mut columns = Vec::with_capacity(self.columns.len());
        for (name, limits) in &self.columns {
            let place = Place::root().key("columns").key(name);
            let feature = find(features, name, &place)?;
            columns.push((feature, limits.resolve(feature, missing, features, &place)?));
        }
        let mut groups = Vec::with_capacity(self.groups.len());
        for (index, group) in self.groups.iter().enumerate() {
            let place = Place::root().key("groups").index(index).key("columns");
            let columns: Result<Vec<FeatureId>, DomainFileError> =
                group.columns.iter().map(|name| find(features, name, &place)).collect();
            groups.push(Group { columns: columns?, kind: group.kind.clone() });
        }
        Domain::new(missing, columns, groups).map_err(|error| named(&error, features))
    }

    /// A domain in the form of a file.
    pub fn of(domain: &Domain, features: &Features) -> Self {
        let name = |column: FeatureId| features.name(column).into_owned();
        let limits = |column: &Column| Limits {
            missing: (column.missing != domain.missing()).then_some(column.missing),
            min: column.min,
            max: column.max,
            whole: column.whole,
            f32_only: column.f32_only,
            values: column.values.as_ref().map(|values| values.iter().map(|&v| Entry::Number(v)).collect()),
        };
        Self {
            missing: (!domain.missing()).then_some(false),
            columns: domain.columns().map(|(feature, column)| (name(feature), limits(column))).collect(),
            groups: domain
                .groups()
                .iter()
                .map(|group| NamedGroup {
                    columns: group.columns.iter().map(|&column| name(column)).collect(),
                    kind: group.kind.clone(),
                })
                .collect(),
            wheres: NamedWhere::of(domain),
        }
    }
}

/// The error of a domain, with the names of columns.
fn named(error: &DomainError, features: &Features) -> DomainFileError {
    let name = |column: FeatureId| format!("column {:?}", features.name(column));
    DomainFileError::Domain(error.message(&name))
}

/// A column by its name, otherwise by its number.
fn find(features: &Features, name: &str, place: &Place) -> Result<FeatureId, DomainFileError> {
    let ids = || (0..features.len()).map(FeatureId::new);
    if let Some(found) = features.called(name) {
        return Ok(found);
    }
    if let Some(number) = name.parse().ok().filter(|&number: &usize| number < features.len()) {
        return Ok(FeatureId::new(number));
    }
    let mut known: Vec<String> =
        ids().take(12).map(|feature| format!("{:?}", features.name(feature))).collect();
    if features.len() > known.len() {
        known.push(format!("... ({} in all)", features.len()));
    }
    let columns = known.join(", ") + &did_you_mean(name, ids().map(|feature| features.name(feature)));
    Err(DomainFileError::Column { place: place.to_string(), name: name.to_owned(), columns })
}

impl Limits {
    fn of_raw(raw: Raw, place: &Place) -> Result<Self, DomainFileError> {
        let mut limits = Self::default();
        for (key, value) in raw.table(place)? {
            let own = place.key(&key);
            match key.as_str() {
                "missing" => limits.missing = Some(value.flag(&own)?),
                "min" => limits.min = Some(value.number(&own)?),
                "max" => limits.max = Some(value.number(&own)?),
                "whole" => limits.whole = value.flag(&own)?,
                "f32" => limits.f32_only = value.flag(&own)?,
                "values" => {
                    let values = value.list(&own)?.into_iter().enumerate();
                    let entry = |(index, value): (usize, Raw)| match value {
                        Raw::Text(label) => Ok(Entry::Label(label)),
                        number => number.number(&own.index(index)).map(Entry::Number),
                    };
                    limits.values = Some(values.map(entry).collect::<Result<_, _>>()?);
                }
                _ => {
                    let known = "missing, min, max, whole, f32 and values";
                    return Err(DomainFileError::Key { place: place.to_string(), key, known });
                }
            }
        }
        Ok(limits)
    }

    fn resolve(
        &self,
        feature: FeatureId,
        missing: bool,
        features: &Features,
        place: &Place,
    ) -> Result<Column, DomainFileError> {
        let categories = features.categories(feature);
        let code = |label: &str| {
            let labels = categories?.labels.as_ref()?;
            let code = labels.iter().position(|own| matches!(own, Label::Text(text) if text == label))?;
            categories?.value(code as u32)
        };
        let number = |entry: &Entry| match entry {
            Entry::Number(number) => Ok(*number),
            Entry::Label(label) => code(label).ok_or_else(|| DomainFileError::Label {
                place: place.key("values").to_string(),
                name: features.name(feature).into_owned(),
                label: label.clone(),
            }),
        };
        let values = match &self.values {
            Some(values) => Some(values.iter().map(number).collect::<Result<Vec<f64>, _>>()?),
            None => None,
        };
        Ok(Column {
            missing: self.missing.unwrap_or(missing),
            min: self.min,
            max: self.max,
            whole: self.whole,
            f32_only: self.f32_only,
            values,
        })
    }
}

impl NamedGroup {
    fn of_raw(raw: Raw, place: &Place) -> Result<Self, DomainFileError> {
        let (mut kind, mut columns, mut none, mut rows) = (None, None, None, None);
        for (key, value) in raw.table(place)? {
            let own = place.key(&key);
            match key.as_str() {
                "kind" => kind = Some(value.text(&own)?),
                "columns" => {
                    let names = value.list(&own)?.into_iter().enumerate();
                    let name = |(index, name): (usize, Raw)| name.column(&own.index(index));
                    columns = Some(names.map(name).collect::<Result<Vec<String>, _>>()?);
                }
                "none" => none = Some(value.flag(&own)?),
                "rows" => {
                    let mut list = Vec::new();
                    for (index, row) in value.list(&own)?.into_iter().enumerate() {
                        let own = own.index(index);
                        let values = row.list(&own)?.into_iter().enumerate();
                        let value = |(index, value): (usize, Raw)| value.number_or_missing(&own.index(index));
                        list.push(values.map(value).collect::<Result<Vec<f64>, _>>()?);
                    }
                    rows = Some(list);
                }
                _ => {
                    let known = "kind, columns, none (of one-hot) and rows (of table)";
                    return Err(DomainFileError::Key { place: place.to_string(), key, known });
                }
            }
        }
        let needed = |key| DomainFileError::Needed { place: place.to_string(), key };
        let columns = columns.ok_or_else(|| needed("columns"))?;
        let unknown = |key: &str, known| {
            Err(DomainFileError::Key { place: place.to_string(), key: key.to_owned(), known })
        };
        let kind = match (kind.ok_or_else(|| needed("kind"))?.as_str(), none, rows) {
            ("one-hot", none, None) => GroupKind::OneHot { none: none.unwrap_or(false) },
            ("ordered", None, None) => GroupKind::Ordered,
            ("table", None, Some(rows)) => GroupKind::Table(rows),
            ("table", None, None) => return Err(needed("rows")),
            ("one-hot", ..) => return unknown("rows", "kind, columns and none for a one-hot group"),
            ("ordered", Some(_), _) => return unknown("none", "kind and columns for an ordered group"),
            ("ordered", ..) => return unknown("rows", "kind and columns for an ordered group"),
            ("table", ..) => return unknown("none", "kind, columns and rows for a table"),
            (other, ..) => {
                return Err(DomainFileError::Kind { place: place.to_string(), kind: other.to_owned() });
            }
        };
        Ok(Self { columns, kind })
    }
}
