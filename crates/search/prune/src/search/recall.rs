//! What a run takes from a journal: answers that the oracle gave an earlier run, and that run's
//! best model.

use secateur_certificate::{Digest, FileDigest};
use secateur_model::Ensemble;
use secateur_oracle::{Out, StopReason};

use crate::candidate::plan::Editable;
use crate::journal::{Answered, Best, Key, Said};
use crate::search::{Candidate, Judged, Search, size_of};

impl<'a, M: Editable> Search<'a, M> {
    /// The journal's answer to this question, or the oracle's if the journal has none, with the
    /// boxes that the answer cost.
    pub(super) fn recall_or_compare(
        &mut self,
        model: &Ensemble,
        starts: &[Vec<f64>],
        nodes: u64,
    ) -> (Judged, u64) {
        self.recalled = false;
        let Some(journal) = &self.problem.config.journal else { return self.compare(model, starts, nodes) };
        let key = self.question(model, starts, nodes);
        if let Some(known) = journal.answer(&key).filter(|known| self.could_be(known)) {
            self.recalled = true;
            let judged = match known.said {
                Said::Proved => Judged::Proved,
                Said::Refuted(rows) => Judged::Refuted(rows),
                Said::Hard(reason) => Judged::Stopped(reason),
            };
            return (judged, known.boxes);
        }
        let (judged, boxes) = self.compare(model, starts, nodes);
        let said = match &judged {
            Judged::Proved => Some(Said::Proved),
            Judged::Refuted(rows) => Some(Said::Refuted(rows.clone())),
            Judged::Stopped(reason @ (StopReason::Nodes | StopReason::Memory)) => Some(Said::Hard(*reason)),
            // Not noted: with more time there may be an answer.
            Judged::Refused | Judged::Stopped(_) => None,
        };
        if let Some(said) = said {
            journal.note(key, Answered { said, boxes });
        }
        (judged, boxes)
    }

    /// A digest of everything that the answer depends on, apart from the original, the claim and
    /// the options, which the journal's subject covers.
    fn question(&self, model: &Ensemble, starts: &[Vec<f64>], nodes: u64) -> Key {
        let mut out = Out::default();
        out.raw(&Digest::of(model).0);
        out.number(nodes);
        out.number(self.oracle_calls);
        out.list(starts, |out, row| out.list(row, |out, &value| out.float(value)));
        FileDigest::of(&out.0).0
    }

    /// Could the oracle have given this answer? Counterexamples must be inputs of the domain.
    fn could_be(&self, known: &Answered) -> bool {
        let width = self.problem.model.features().len();
        match &known.said {
            Said::Refuted(rows) => {
                let is_input = |row: &Vec<f64>| row.len() == width && self.problem.model.accepts(row);
                !rows.is_empty() && rows.iter().all(is_input)
            }
            Said::Proved | Said::Hard(_) => true,
        }
    }

    /// The journal's best model, if this run could have made it: the plan has as many columns as
    /// this run, and gives the model with the noted digest.
    pub(super) fn saved_best(&self) -> Option<Candidate<M>> {
        let Best { model, plan } = self.problem.config.journal.as_ref()?.best()?;
        if plan.weights.len() != self.points.columns().len() {
            return None;
        }
        let draft = self.writer().draft(&plan).ok()?;
        let file = self.problem.file.edit(&draft.edit).ok()?;
        if Digest::of(&draft.model).0 != model || *file.ensemble() != draft.model {
            return None;
        }
        let (size, bytes) = (size_of(&draft.model), file.bytes().unwrap_or(0));
        Some(Candidate { file, made: Some((draft.edit, plan)), size, bytes, recalled: true })
    }

    /// Notes the best model in the journal, unless the model there is at least as small.
    pub(super) fn save_best(&self) {
        let Some(journal) = &self.problem.config.journal else { return };
        let rank = |candidate: &Candidate<M>| self.rank(candidate.size, candidate.bytes);
        if self.saved.as_ref().is_some_and(|saved| rank(saved) <= rank(&self.best)) {
            return;
        }
        if let Some((_, plan)) = &self.best.made {
            let model = Digest::of(self.best.file.ensemble()).0;
            journal.set_best(Best { model, plan: plan.clone() });
        }
    }

    /// Takes the journal's best model if it is smaller than this run's best, for a run that ended
    /// before it got that far.
    pub(crate) fn take_saved_best(&mut self) {
        let Some(saved) = self.saved.take() else { return };
        if self.rank(saved.size, saved.bytes) < self.rank(self.best.size, self.best.bytes) {
            self.problem.watch.update(|status| status.best = Some(saved.size.trees));
            self.best = saved;
        }
    }
}
