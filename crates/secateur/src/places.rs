//! Where the files of a result are, for who tells of it.

/// Where the files of a result are, as they are to be shown; `None` for what is in memory only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'a> {
    /// The file of the original, or of the first model.
    pub original: Option<&'a str>,
    /// Its size in bytes.
    pub original_bytes: Option<u64>,
    /// The file of the pruned model, or of the second.
    pub pruned: Option<&'a str>,
    /// Its size in bytes, where the result does not know it.
    pub pruned_bytes: Option<u64>,
    /// The file of the certificate.
    pub certificate: Option<&'a str>,
}
