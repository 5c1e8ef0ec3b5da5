//! What somebody asks of a claim: a certificate can be valid and say less than that.

use secateur_certificate::{BandClaim, Statement};
use secateur_model::{Domain, Ensemble};

use crate::covers::covers;
use crate::words::column_name;
use crate::{Proved, Reason, Unproved, Verdict};

/// What a claim has to say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// It is about decisions, and its band is no wider; 0 asks for one about exact sums.
    pub band: Option<f64>,
    /// It is about scores, and their distance is no larger.
    pub within: Option<f64>,
    /// No input is left out.
    pub every_input: bool,
    /// It is about every input of this domain.
    pub domain: Option<&'a Domain>,
}

impl Proved {
    /// Why this is less than was asked for; the original has the names of columns.
    pub fn lacks(&self, asked: &Asked<'_>, original: &Ensemble) -> Option<Reason> {
        match self.claim.statement {
            Statement::Decisions { .. } if asked.within.is_some() => {
                return Some(Unproved::ClaimKindAsked { about_scores: false }.into());
            }
            Statement::Scores { .. } if asked.band.is_some() => {
                return Some(Unproved::ClaimKindAsked { about_scores: true }.into());
            }
            Statement::Decisions { band, .. } => {
                if let Some(asked) = asked.band.filter(|&asked| !reaches(band, asked)) {
                    let claimed = match band {
                        BandClaim::Exact => None,
                        BandClaim::Score(score) => Some(score),
                    };
                    return Some(Unproved::ClaimBandAsked { claimed, asked }.into());
                }
            }
            Statement::Scores { within } => {
                if let Some(asked) = asked.within.filter(|&asked| within > asked) {
                    return Some(Unproved::ClaimWithinAsked { claimed: within, asked }.into());
                }
            }
        }
        let claimed = &self.claim.domain;
        let left_out = || self.accepted.left_out(claimed, &column_name(original));
        if let Some(inputs) = asked.every_input.then(left_out).flatten() {
            return Some(Unproved::ClaimScopeAsked { inputs }.into());
        }
        domain_not_covered(claimed, self.accepted.mixed, asked.domain?, original)
            .map(|why| Unproved::ClaimDomainAsked { why }.into())
    }
}

impl Verdict {
    /// The verdict where this is asked for: a valid certificate that says less is refused.
    #[must_use]
    pub fn asked_for(self, asked: &Asked<'_>, original: &Ensemble) -> Self {
        let Self::Valid(proved) = self else { return self };
        match proved.lacks(asked, original) {
            Some(reason) => Self::Invalid { reason, step: None },
            None => Self::Valid(proved),
        }
    }
}

/// Why a claim about one domain does not cover another, for inputs of this model; `None` where it
/// does. With `mixed` the claim is about f32 numbers alone
/// ([`Accepted`](secateur_model::Accepted)).
pub fn domain_not_covered(
    claimed: &Domain,
    mixed: bool,
    asked: &Domain,
    original: &Ensemble,
) -> Option<String> {
    let columns = original.features().len();
    let fits = |domain: &Domain| {
        if original.accepts_missing() { domain.clone() } else { domain.without_missing_values() }
    };
    covers(&fits(claimed), mixed, &fits(asked), columns).err()
}

/// Does a claim say what is asked for? One about exact sums says nothing of what a library decides,
/// and one about decisions nothing of ties.
fn reaches(band: BandClaim, asked: f64) -> bool {
    match band {
        BandClaim::Exact => asked == 0.0,
        BandClaim::Score(score) => asked > 0.0 && score <= asked,
    }
}
