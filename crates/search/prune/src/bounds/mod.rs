//! Lower bounds: why no model that the moves allow has fewer trees. Every bound rests on exact
//! arithmetic over a few inputs, and its evidence is written into the certificate.

pub(crate) mod constant_needed;
pub(crate) mod cover;
pub(crate) mod cut;
pub(crate) mod evidence;
pub(crate) mod exact_multipliers;
pub(crate) mod indispensable;
pub(crate) mod known;
