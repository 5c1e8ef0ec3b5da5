//! What the interfaces and tests of this workspace need beside the front door. Nothing here is promised to stay.

pub use crate::page::value_words;
pub use crate::prune::outcome_name;
