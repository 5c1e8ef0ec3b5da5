//! Items that the interfaces and tests of this workspace need besides the public API. They may
//! change at any time.

pub use crate::budget::watch_while;
pub use crate::describe::decision::transform_words;
pub use secateur_certificate::FileDigest;

/// Text for people: escaped, grouped, wrapped.
pub mod text {
    pub use crate::text::*;
    pub use secateur_formats::did_you_mean;
}
