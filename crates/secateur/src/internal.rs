//! What the interfaces and tests of this workspace need beside the front door. Nothing here is promised to stay.

pub use crate::describe::transform_words;
pub use secateur_certificate::FileDigest;

/// Text for people: escaped, grouped, wrapped.
pub mod text {
    pub use crate::text::*;
}
