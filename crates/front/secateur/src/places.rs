//! The paths of a result's files, for reports.

/// The paths of a result's files, as reports show them; `None` for what is only in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'a> {
    /// The file of the original, or of the first model.
    pub original: Option<&'a str>,
    /// Its size in bytes.
    pub original_bytes: Option<u64>,
    /// The file of the pruned model, or of the second.
    pub pruned: Option<&'a str>,
    /// Its size in bytes, if the result does not know it.
    pub pruned_bytes: Option<u64>,
    /// The file of the certificate.
    pub certificate: Option<&'a str>,
}
