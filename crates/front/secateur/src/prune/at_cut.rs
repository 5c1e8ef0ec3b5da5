//! A model file that decides at the caller's threshold: the search sees its decisions at that cut,
//! and the decisions of every candidate too.

use secateur_formats::{Edit, EditError, ModelFile};
use secateur_model::{Cut, Ensemble};
use secateur_prune::Editable;

/// A file and its model at the cut.
#[derive(Clone, Debug)]
pub(super) struct AtCut {
    pub(super) file: ModelFile,
    ensemble: Ensemble,
    cut: Cut,
}

impl AtCut {
    /// `None` if the model cannot have this cut.
    pub(super) fn new(file: ModelFile, cut: Cut) -> Option<Self> {
        let ensemble = file.ensemble().cut_at(cut)?;
        Some(Self { file, ensemble, cut })
    }
}

impl Editable for AtCut {
    fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        Self::new(self.file.edit(edit)?, self.cut).ok_or_else(other_rule)
    }

    fn draft(&self, edit: &Edit) -> Result<Ensemble, EditError> {
        self.file.draft(edit)?.cut_at(self.cut).ok_or_else(other_rule)
    }

    fn votes_only(&self) -> bool {
        self.file.votes_only()
    }

    fn bytes(&self) -> Option<u64> {
        Editable::bytes(&self.file)
    }
}

/// The error for an edit that wrote another decision rule: an edit may only change trees and
/// intercepts.
fn other_rule() -> EditError {
    EditError::ReadBack { reason: "another decision rule was written".to_owned() }
}
