//! A model file that is looked at with a threshold of the caller's: the search sees its decisions at that cut, and so
//! those of every candidate.

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
    /// `None` where the model has no such cut.
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

/// An edit changes trees and intercepts and never the rule that decides.
fn other_rule() -> EditError {
    EditError::ReadBack { reason: "another decision rule was written".to_owned() }
}
