//! The inputs that a claim about several models covers, and the words for them. Every interface,
//! including the checker, takes its words from here, so that none of them claims more than was
//! examined.

use crate::domain::Domain;
use crate::feature::{Intake, NumberType};
use crate::ids::FeatureId;

/// The inputs that the libraries of one or more models have in common, before a domain leaves any
/// of them out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accepted {
    /// The values that all the libraries accept in every column.
    pub values: Intake,
    /// Do the libraries read different number types? Then one rounds to f32 the values that another
    /// reads as f64. The claim covers only numbers that an f32 holds, which all of the libraries
    /// read exactly; nothing is claimed about any other number.
    pub mixed: bool,
}

impl Accepted {
    /// The words for these inputs if the models are unknown: a certificate alone does not contain
    /// its files.
    pub const OF_UNKNOWN_MODELS: &str = "every input that both libraries accept, of f32 numbers where one of them reads \
                                         f32 and the other f64";

    /// One word for the inputs of a claim: `all`, `no_missing` or `domain`; for models that read
    /// different number types `f32`, `f32_no_missing` or `f32_domain`. Only `all` covers every
    /// input that the libraries accept.
    pub fn scope(&self, domain: &Domain) -> &'static str {
        match (domain.is_everything(), domain.is_no_missing(), self.mixed) {
            (true, _, false) => "all",
            (true, _, true) => "f32",
            (_, true, false) => "no_missing",
            (_, true, true) => "f32_no_missing",
            (_, _, false) => "domain",
            (_, _, true) => "f32_domain",
        }
    }

    /// The inputs of a claim in a few words.
    pub fn in_short(&self, domain: &Domain) -> &'static str {
        match self.scope(domain) {
            "all" => "every input",
            "f32" => "every input of f32 numbers",
            "no_missing" => "every input without missing values",
            "f32_no_missing" => "every input of f32 numbers without missing values",
            "domain" => "every input of the domain",
            _ => "every input of f32 numbers of the domain",
        }
    }

    /// The inputs of a claim in full: those that the libraries accept, restricted to the domain.
    pub fn words(&self, domain: &Domain, name: &dyn Fn(FeatureId) -> String) -> String {
        let number = match (self.values.number, self.mixed) {
            (_, true) => {
                "every f32 number (no others: one library reads f64 and another f32, and would see different numbers)"
            }
            (NumberType::F32, _) => "every f32 number",
            (NumberType::F64, _) => "every f64 number",
        };
        let infinities = if self.values.infinities { ", infinities" } else { "" };
        let missing = if self.values.missing { ", missing values" } else { "" };
        let text = format!("{number}{infinities}{missing}, in every column");
        match domain {
            domain if domain.is_everything() => text,
            domain if domain.is_no_missing() => format!("{text}; no missing values"),
            domain => format!("{text}; of those: {}", domain.words(name).join("; ")),
        }
    }

    /// For a claim that should cover more: the inputs that it leaves out, and what to do about
    /// them. `None` if it covers everything that the libraries accept.
    pub fn left_out(&self, domain: &Domain, name: &dyn Fn(FeatureId) -> String) -> Option<String> {
        let limits = (!domain.is_everything()).then(|| domain.words(name).join("; "));
        let mixed = self.mixed.then(|| {
            "numbers that an f32 holds, since one library reads f64 and the other f32, and they see different numbers in \
             any other; if all your inputs are f32 numbers, ask for a --domain that says f32 = true of every column"
                .to_owned()
        });
        let parts: Vec<String> = limits.into_iter().chain(mixed).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
