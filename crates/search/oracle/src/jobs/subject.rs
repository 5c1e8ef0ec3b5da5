//! The subject of a job: two models, their inputs, and whether decisions or scores are compared. It
//! is sent once to each worker, and jobs name it by the digest of its bytes.

use std::sync::Arc;

use secateur_certificate::{BandClaim, Claim, Digest, FileDigest, Reader, Statement, Writer};
use secateur_model::{Cut, Domain, Ensemble};

use crate::compare::Comparison;
use crate::jobs::model::{decode_model, encode_model};
use crate::jobs::wire::{In, Out, WireError};
use crate::outline::{Band, CompareError, Outline};
use crate::scores::ScoreComparison;
use crate::stop::SearchBudget;

/// The first bytes. A worker of another version refuses them.
const MAGIC: &[u8] = concat!("secateur subject ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

/// Two models and what is compared, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) id: [u8; 32],
    pub(crate) bytes: Arc<Vec<u8>>,
}

/// Two models as a worker received them.
pub(crate) struct Arrived {
    models: [Ensemble; 2],
    kind: Kind,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Decisions, with this band; `None` for exact arithmetic.
    Decisions(Option<f64>),
    /// Scores.
    Scores,
}

/// Two models laid out, ready to answer questions.
pub(crate) enum Laid<'a> {
    Decisions(Box<Comparison<'a>>),
    Scores(Box<ScoreComparison<'a>>),
}

impl Subject {
    /// Decisions of two models; `None` if the models would not arrive unchanged.
    pub(crate) fn decisions(models: [&Ensemble; 2], band: Option<f64>) -> Option<Self> {
        Self::new(models, Kind::Decisions(band))
    }

    /// Scores of two models; `None` if the models would not arrive unchanged.
    pub(crate) fn scores(models: [&Ensemble; 2]) -> Option<Self> {
        Self::new(models, Kind::Scores)
    }

    fn new(models: [&Ensemble; 2], kind: Kind) -> Option<Self> {
        let mut out = Out::default();
        out.raw(MAGIC);
        match kind {
            Kind::Decisions(band) => out.option(Some(band), |out, band| out.option(band, Out::float)),
            Kind::Scores => out.flag(false),
        }
        for model in models {
            out.bytes(&encode_model(model));
            out.option(model.cut(), |out, cut| {
                out.float(cut.score);
                out.float(cut.gap);
            });
            out.bytes(&domain_bytes(model.domain())?);
            let scorers: Vec<(&str, &Ensemble)> = (model.domain().wheres().iter())
                .map(|own| Some((own.name()?, own.model()?)))
                .collect::<Option<_>>()?;
            out.list(&scorers, |out, (name, model)| {
                out.bytes(name.as_bytes());
                out.bytes(&encode_model(model));
            });
        }
        let subject = Self { id: FileDigest::of(&out.0).0, bytes: Arc::new(out.0) };
        // If the encoding left something out, the worker would search other models, so decode it
        // and compare.
        let arrived = Arrived::decode(&subject.bytes).ok()?;
        (arrived.kind == kind && arrived.models.iter().eq(models)).then_some(subject)
    }
}

impl Arrived {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let mut input = In::new(bytes);
        if input.raw(MAGIC.len())? != MAGIC {
            return Err(WireError);
        }
        let kind = match input.option(|input| input.option(In::float))? {
            Some(band) => Kind::Decisions(band),
            None => Kind::Scores,
        };
        let models = [read_model(&mut input)?, read_model(&mut input)?];
        input.end()?;
        Ok(Self { models, kind })
    }

    /// Lays the models out as the sender did.
    pub(crate) fn lay_out(&self) -> Result<Laid<'_>, CompareError> {
        let [first, second] = &self.models;
        let budget = SearchBudget::unlimited();
        Ok(match self.kind {
            Kind::Decisions(band) => {
                let band = band.map_or(Band::Exact, Band::Score);
                Laid::Decisions(Box::new(Outline::new(first, second, band)?.lay_out(&budget)?))
            }
            Kind::Scores => Laid::Scores(Box::new(ScoreComparison::new(first, second, &budget)?)),
        })
    }
}

fn read_model(input: &mut In<'_>) -> Result<Ensemble, WireError> {
    let mut model = decode_model(input.bytes()?)?;
    let cut = input.option(|input| Ok(Cut { score: input.float()?, gap: input.float()? }))?;
    if let Some(cut) = cut {
        model = model.cut_at(cut).ok_or(WireError)?;
    }
    let domain = read_domain(input.bytes()?)?;
    let scorers = input.list(|input| {
        let name = String::from_utf8(input.bytes()?.to_vec()).map_err(|_| WireError)?;
        Ok((name, decode_model(input.bytes()?)?))
    })?;
    let mut wheres = domain.wheres().to_vec();
    if wheres.len() != scorers.len() {
        return Err(WireError);
    }
    for (own, (name, scorer)) in wheres.iter_mut().zip(scorers) {
        *own = own.with_model(scorer, &name).map_err(|_| WireError)?;
    }
    let domain = domain.without_wheres().with_wheres(wheres);
    let within = model.within(&domain).map_err(|_| WireError)?;
    Ok(within.into_owned())
}

/// A domain is sent as a certificate without steps, whose header encodes it.
fn domain_bytes(domain: &Domain) -> Option<Vec<u8>> {
    let statement = Statement::Decisions { band: BandClaim::Exact, local_rounding: false, cuts: None };
    let nobody = Digest([0; 32]);
    let claim = Claim { original: nobody, pruned: nobody, statement, domain: domain.clone() };
    Writer::new(Vec::new(), &claim).ok()?.finish(false).ok()
}

fn read_domain(bytes: &[u8]) -> Result<Domain, WireError> {
    Ok(Reader::new(bytes).map_err(|_| WireError)?.claim().domain.clone())
}
