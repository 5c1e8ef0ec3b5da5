//! The result of a run of `prune`, as what the HTML page is made from.

use secateur_prune::{Outcome, Scope};
use secateur_report as page;

use super::report::Report;
use crate::arguments::{Effort, Moves, Objective};
use crate::report::{History, Pair, certificate, classes, pruning};
use crate::verify::domain_words;

impl Report<'_> {
    pub(super) fn page(&self, pair: &Pair<'_>, history: History) -> page::Report {
        let ensemble = self.original.file.ensemble();
        let mut models = pair.models();
        // Trees of one zero leaf, which some formats need, are not counted.
        for (model, size) in models.iter_mut().zip(self.pruned.size) {
            (model.trees, model.leaves) = (size.trees, size.leaves);
        }
        let mut report = page::Report {
            outcome: match self.pruned.outcome {
                Outcome::Proved => page::Outcome::Reduced,
                Outcome::AlreadyMinimal => page::Outcome::AlreadyMinimal,
                Outcome::BudgetReached => page::Outcome::BudgetReached,
            },
            version: concat!("secateur ", env!("CARGO_PKG_VERSION")).to_owned(),
            models,
            claim: page::Claim {
                band: self.pruned.band,
                probability: self.probability(),
                inputs: domain_words(ensemble.within(self.pruned.scope).domain(), self.pruned.scope),
                missing_left_out: self.pruned.scope == Scope::NoMissing,
                matching: None,
                classes: classes(ensemble),
            },
            lower_bound: Some(self.pruned.lower_bound),
            minimal: self.minimal(),
            run: page::Run {
                seconds: self.seconds.total,
                phases: self.phases(),
                oracle_calls: Some(self.pruned.oracle_calls),
                points: Some(self.pruned.points as u64),
                ..page::Run::default()
            },
            certificate: self.certificate.as_deref().map(certificate),
            undecided: self.open_questions(),
            notes: self.original.file.notes(),
            settings: self.settings(),
            ..page::Report::default()
        };
        pruning(pair, self.pruned, history, &mut report);
        report
    }

    fn phases(&self) -> Vec<page::Phase> {
        let pruning = self.pruned.seconds;
        let parts = [
            ("read", self.seconds.read),
            ("fold", pruning.fold),
            ("lp", pruning.lp),
            ("oracle", pruning.oracle),
            ("certificate", self.seconds.certificate),
            ("write", self.seconds.write),
        ];
        parts.map(|(name, seconds)| page::Phase { name: name.to_owned(), seconds }).to_vec()
    }

    /// What the run leaves open.
    fn open_questions(&self) -> Vec<String> {
        let (least, most) = (self.pruned.lower_bound, self.pruned.size[1].trees);
        let range = format!("the smallest size is somewhere from {least} to {most} trees");
        match self.pruned.outcome {
            _ if self.minimal() => Vec::new(),
            _ if self.interrupted => vec![format!("The run was interrupted: {range}.")],
            Outcome::BudgetReached => vec![format!("The time limit came first: {range}.")],
            _ if self.pruned.irreducible => vec![format!(
                "No single tree can go, by the solver\u{2019}s word; by exchanging several, {range}."
            )],
            _ => vec![format!("Within these settings {range}.")],
        }
    }

    fn settings(&self) -> Vec<(String, String)> {
        let command = self.command;
        let effort = match command.effort {
            Effort::Fast => "fast",
            Effort::Thorough => "thorough",
            Effort::Minimum => "minimum",
        };
        let moves = match command.moves {
            Moves::Leaves => "leaves",
            Moves::Weights => "weights",
        };
        let objective = match command.objective {
            Objective::Trees => "trees",
            Objective::Leaves => "leaves",
            Objective::Bytes => "bytes",
        };
        let settings = [
            ("effort", effort),
            ("moves", moves),
            ("objective", objective),
            ("seed", &command.seed.to_string()),
        ];
        settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }
}
