//! The `where` of a domain file: inputs on which the score of another model, in a file of its own,
//! is at least or at most a bound.
//!
//! Paths are relative to the domain file. The model is read when the domain is resolved. Its
//! columns are put in the order of the domain's model if both have names, and if the file states a
//! digest, the model's digest has to equal it. A program that already holds the model passes it
//! instead of a path.
//!
//! The bound of an isolation forest is a bound on `score_samples`, which NumPy computes from the
//! raw score, a sum of path lengths, by a power whose last bits differ between processors. It is
//! turned into a bound on the raw score that every input reaches whose `score_samples` reaches the
//! given bound, on any processor. With `raw = true` the bound is already one on the raw score.

use std::path::{Path, PathBuf};

use secateur_model::{Domain, Ensemble, Side, Where};
use serde_json::{Map, Value, json};

use super::print::{line, number, quoted};
use super::raw::{Place, Raw};
use super::{DomainFileError, named};
use crate::ModelFile;

/// Computes the digest that stands for a model in certificates; the caller that resolves a domain
/// passes it.
pub type DigestOf<'a> = &'a dyn Fn(&Ensemble) -> [u8; 32];

/// One `where` as it is written in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NamedWhere {
    /// The path of the model, or its name if a program passes it.
    model: String,
    /// The folder that the path is relative to.
    folder: Option<PathBuf>,
    /// Its position among the models that a program passes.
    given: Option<u32>,
    digest: Option<[u8; 32]>,
    output: Option<u32>,
    /// Are the bounds raw scores, whatever the library outputs?
    raw: bool,
    at_least: Option<f64>,
    at_most: Option<f64>,
}

impl NamedWhere {
    pub(super) fn of_raw(raw: Raw, place: &Place) -> Result<Self, DomainFileError> {
        let mut own = Self {
            model: String::new(),
            folder: None,
            given: None,
            digest: None,
            output: None,
            raw: false,
            at_least: None,
            at_most: None,
        };
        let mut named = false;
        for (key, value) in raw.table(place)? {
            let at = place.key(&key);
            match key.as_str() {
                "model" => (own.model, named) = (value.text(&at)?, true),
                "at_least" => own.at_least = Some(value.number(&at)?),
                "at_most" => own.at_most = Some(value.number(&at)?),
                "raw" => own.raw = value.flag(&at)?,
                "output" => own.output = Some(value.count(&at)?),
                "digest" => {
                    let bytes = bytes_of(&value.text(&at)?);
                    let digest = bytes.and_then(|bytes| bytes.try_into().ok());
                    own.digest = Some(digest.ok_or(DomainFileError::Digest { place: at.to_string() })?);
                }
                "given" => own.given = Some(value.count(&at)?),
                _ => {
                    let known = "model, at_least, at_most, output, raw and digest";
                    return Err(DomainFileError::Key { place: place.to_string(), key, known });
                }
            }
        }
        let needed = |key| DomainFileError::Needed { place: place.to_string(), key };
        if !named {
            return Err(needed("model"));
        }
        if own.at_least.is_none() && own.at_most.is_none() {
            return Err(needed("at_least"));
        }
        Ok(own)
    }

    /// Makes the path relative to this folder.
    pub(super) fn below(&mut self, folder: &Path) {
        self.folder = Some(folder.to_owned());
    }

    /// The conditions on scores, one for each bound.
    pub(super) fn resolve(
        &self,
        place: &Place,
        model: &Ensemble,
        digest: DigestOf<'_>,
        given: &[&ModelFile],
    ) -> Result<Vec<Where>, DomainFileError> {
        let refused = |message: String| DomainFileError::Scorer { place: place.to_string(), message };
        let told = |error: crate::ReadError| refused(format!("{}: {error}", self.model));
        let read;
        let file = match self.given {
            Some(at) => {
                let found = given.get(at as usize).copied();
                found.ok_or_else(|| refused(format!("the model {} is not given", self.model)))?
            }
            None => {
                let path = Path::new(&self.model);
                let path = self.folder.as_ref().map_or_else(|| path.to_owned(), |folder| folder.join(path));
                read = ModelFile::read(&path).map_err(told)?;
                &read
            }
        };
        let scorer = file.ensemble();
        let scorer = scorer.with_column_order(model.features()).unwrap_or_else(|| scorer.clone());
        let found = digest(&scorer);
        if let Some(asked) = self.digest.filter(|&asked| asked != found) {
            let (asked, found) = (hex(&asked), hex(&found));
            return Err(refused(format!("{} has the digest {found}, not {asked}", self.model)));
        }
        let output = match (self.output, scorer.group_count()) {
            (Some(output), _) => output,
            (None, 1) => 0,
            (None, outputs) => {
                return Err(refused(format!(
                    "{} has {outputs} scores: say which one is meant (output, counted from 0)",
                    self.model
                )));
            }
        };
        let bounds = [(Side::AtLeast, self.at_least), (Side::AtMost, self.at_most)];
        let mut wheres = Vec::new();
        for (side, bound) in bounds.into_iter().filter_map(|(side, bound)| Some((side, bound?))) {
            let expected = file.expected_path_lengths().filter(|_| !self.raw);
            let bound = match expected {
                Some(expected) => path_lengths(side, bound, expected).map_err(refused)?,
                None => bound,
            };
            let own = Where::of_digest(found, output, side, bound)
                .and_then(|own| own.with_model(scorer.clone(), &self.model))
                .map_err(|error| refused(named(&error, model.features()).to_string()))?;
            wheres.push(own);
        }
        Ok(wheres)
    }

    /// In words.
    pub(super) fn words(&self) -> Vec<String> {
        let which = self.output.map_or_else(|| "the score".to_owned(), |output| format!("score {output}"));
        let bounds = [("at least", self.at_least), ("at most", self.at_most)];
        let told = |(side, bound): (&str, Option<f64>)| {
            Some(format!("{which} of {} is {side} {}", self.model, bound?))
        };
        bounds.into_iter().filter_map(told).collect()
    }

    /// The conditions of a domain in the form of a file.
    pub(super) fn of(domain: &Domain) -> Vec<Self> {
        let one = |own: &Where| Self {
            model: own.name().map_or_else(|| hex(&own.digest()), str::to_owned),
            folder: None,
            given: None,
            digest: Some(own.digest()),
            output: Some(own.output()),
            raw: own.is_path_length(),
            at_least: (own.side() == Side::AtLeast).then_some(own.bound()),
            at_most: (own.side() == Side::AtMost).then_some(own.bound()),
        };
        domain.wheres().iter().map(one).collect()
    }

    pub(super) fn print(&self, text: &mut String) {
        line(text, "model", &quoted(&self.model));
        if let Some(output) = self.output {
            line(text, "output", &output.to_string());
        }
        if self.raw {
            line(text, "raw", "true");
        }
        if let Some(bound) = self.at_least {
            line(text, "at_least", &number(bound));
        }
        if let Some(bound) = self.at_most {
            line(text, "at_most", &number(bound));
        }
        if let Some(digest) = &self.digest {
            line(text, "digest", &quoted(&hex(digest)));
        }
    }

    pub(super) fn to_json(&self) -> Value {
        // The path is written relative to the current folder, so that the file can be found.
        let path =
            self.folder.as_ref().filter(|_| self.given.is_none()).map(|folder| folder.join(&self.model));
        let model = path.map_or_else(|| self.model.clone(), |path| path.to_string_lossy().into_owned());
        let mut object = Map::from_iter([("model".to_owned(), json!(model))]);
        let mut set = |key: &str, value: Option<Value>| {
            object.extend(value.map(|value| (key.to_owned(), value)));
        };
        set("output", self.output.map(Value::from));
        set("raw", self.raw.then_some(Value::Bool(true)));
        set("at_least", self.at_least.map(Value::from));
        set("at_most", self.at_most.map(Value::from));
        set("digest", self.digest.map(|digest| Value::from(hex(&digest))));
        set("given", self.given.map(Value::from));
        Value::Object(object)
    }
}

/// NumPy's, C libraries' and this program's logarithms, powers and quotients differ by far less
/// than this share.
const AGREE: f64 = 1e-12;

/// The bound on the sum of path lengths for a bound on `score_samples`: every input whose
/// `score_samples` is on this side of its bound is on this side of the result, however the last
/// bits were computed.
fn path_lengths(side: Side, bound: f64, expected: f64) -> Result<f64, String> {
    if bound >= 0.0 {
        return Err(format!(
            "{bound} is no score of an isolation forest: score_samples gives numbers below 0"
        ));
    }
    let sum = -(-bound).log2() * expected;
    let room = AGREE * (sum.abs() + expected);
    Ok(match side {
        Side::AtLeast => sum - room,
        Side::AtMost => sum + room,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes for a text of two hexadecimal digits each.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    (digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit))
        .then(|| digits.chunks(2).map(pair).collect())
        .flatten()
}
