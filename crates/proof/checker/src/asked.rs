//! The requirements of a caller on a claim: a certificate can be valid and still say less.

use secateur_certificate::{BandClaim, Statement};
use secateur_model::{Domain, Ensemble};

use crate::covers::covers;
use crate::reason::ClaimKind;
use crate::words::column_name;
use crate::{Proved, Reason, Unproved, Verdict};

/// What a claim has to say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The claim is about decisions, with a band no wider than this; 0 demands exact sums.
    pub band: Option<f64>,
    /// The claim is about scores, with a distance no larger than this.
    pub within: Option<f64>,
    /// The claim leaves no input out.
    pub every_input: bool,
    /// The claim covers every input of this domain.
    pub domain: Option<&'a Domain>,
}

impl Proved {
    /// Why the claim says less than was asked for; the original has the names of columns.
    pub fn lacks(&self, asked: &Asked<'_>, original: &Ensemble) -> Option<Reason> {
        let kind = ClaimKind::of(&self.claim);
        let wanted = [(asked.band, ClaimKind::Decisions), (asked.within, ClaimKind::Scores)];
        let other = wanted.into_iter().find(|(given, wanted)| given.is_some() && *wanted != kind);
        if let Some((_, asked)) = other {
            return Some(Unproved::ClaimKindAsked { found: kind, asked }.into());
        }
        match self.claim.statement {
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
            _ => {}
        }
        let claimed = &self.claim.domain;
        // A claim about inputs near a row covers no domain.
        if self.claim.near().is_some() {
            let near = "all but those nearer to a row than another row is".to_owned();
            if asked.every_input {
                return Some(Unproved::ClaimScopeAsked { inputs: near }.into());
            }
            if asked.domain.is_some() {
                return Some(
                    Unproved::ClaimDomainAsked { why: format!("the claim leaves out inputs: {near}") }.into(),
                );
            }
        }
        let left_out = || self.accepted.left_out(claimed, &column_name(original));
        if let Some(inputs) = asked.every_input.then(left_out).flatten() {
            return Some(Unproved::ClaimScopeAsked { inputs }.into());
        }
        domain_not_covered(claimed, self.accepted.mixed, asked.domain?, original)
            .map(|why| Unproved::ClaimDomainAsked { why }.into())
    }
}

impl Verdict {
    /// The verdict for a caller with these requirements: a valid certificate that says less is
    /// refused.
    #[must_use]
    pub fn asked_for(self, asked: &Asked<'_>, original: &Ensemble) -> Self {
        let Self::Valid(proved) = self else { return self };
        match proved.lacks(asked, original) {
            Some(reason) => Self::Invalid { reason, step: None },
            None => Self::Valid(proved),
        }
    }
}

/// Why a claim about one domain does not cover another, for inputs of this model; `None` if it
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

/// Does a claim's band meet the one that is asked for? A claim about exact sums says nothing about
/// a library's decisions, and a claim about decisions says nothing about ties.
fn reaches(band: BandClaim, asked: f64) -> bool {
    match band {
        BandClaim::Exact => asked == 0.0,
        BandClaim::Score(score) => asked > 0.0 && score <= asked,
    }
}
