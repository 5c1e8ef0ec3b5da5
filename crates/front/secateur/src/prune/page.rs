//! The result of a run of `prune`, as the data that its HTML page is made from.

use secateur_prune::{Choice, Outcome};
use secateur_report as page;

use super::PruneReport;
use crate::domain::inputs_in_short;
use crate::page::{Pair, Seen, certificate, classes, now, pruning};
use crate::text::rounded_up;

impl PruneReport<'_> {
    /// An HTML page about the run. `rows` are the caller's, and may be empty. It shows the course
    /// of the run if [`PruneOptions::record`](crate::PruneOptions::record) asked for it.
    pub fn html(&self, rows: &[f64]) -> String {
        let bytes = self.bytes().map(|bytes| bytes.unwrap_or(0));
        let names =
            [self.places.original, self.places.pruned].map(|name| name.unwrap_or("a model in memory"));
        let files = [self.original, self.pruning.file()];
        page::html(&self.page(&Pair { names, files, bytes, rows }))
    }

    fn page(&self, pair: &Pair<'_>) -> page::Report {
        let ensemble = self.original.ensemble();
        let pruned = &self.pruning.pruned;
        let mut models = pair.models();
        // Trees of one zero leaf, which some formats need, are not counted.
        for (model, size) in models.iter_mut().zip(self.pruning.pruned.size) {
            (model.trees, model.leaves) = (size.trees, size.leaves);
        }
        let mut report = page::Report {
            outcome: match self.pruning.pruned.outcome {
                Outcome::Proved => page::Outcome::Reduced,
                Outcome::AlreadyMinimal => page::Outcome::AlreadyMinimal,
                Outcome::BudgetReached => page::Outcome::BudgetReached,
            },
            version: concat!("secateur ", env!("CARGO_PKG_VERSION")).to_owned(),
            date: now(),
            models,
            claim: page::Claim {
                band: self.pruning.pruned.band,
                exact: self.exact(),
                not_kept: self.probability_words(),
                rows: self.pruning.rows.as_ref().map(|seen| seen.words(self.exact())),
                probability: self.probability(),
                inputs: self.inputs(),
                threshold: self.options.threshold,
                limited_to: inputs_in_short(&self.accepted(), &pruned.domain).map(str::to_owned),
                matching: None,
                classes: classes(ensemble),
            },
            scores: self.score_page(),
            lower_bound: self.lower_bound(),
            minimal: self.pruning.minimal(),
            run: page::Run {
                seconds: self.pruning.seconds.total,
                phases: self.phases(),
                oracle_calls: Some(self.pruning.pruned.oracle_calls),
                points: Some(self.pruning.pruned.points as u64),
                ..page::Run::default()
            },
            certificate: self.certificate_page(),
            undecided: self.open_questions(),
            notes: self.original.notes(),
            not_certified: self.not_certified(),
            settings: self.settings(),
            ..page::Report::default()
        };
        let seen = match pruned.within {
            Some(_) => Seen::Scores,
            None => Seen::Decisions(self.options.cut(self.original).ok().flatten()),
        };
        pruning(pair, pruned, seen, self.pruning.history.clone(), &mut report);
        report
    }

    /// The claim about scores, if they are kept.
    fn score_page(&self) -> Option<page::Scores> {
        let within = self.pruning.pruned.within?;
        let averaged =
            if self.original.ensemble().accumulation().average.is_some() { ", averaged," } else { "" };
        Some(page::Scores {
            within: Some(within),
            at_most: Some(within),
            probability: self.score_probability(within),
            what: format!("the raw scores{averaged}"),
            ..page::Scores::default()
        })
    }

    /// What the proof does not cover.
    fn not_certified(&self) -> Vec<String> {
        let mut all = Vec::new();
        if let Some(words) = self.probability_words() {
            all.push(format!("What is not kept: {words}."));
        }
        if self.pruning.pruned.band > 0.0 {
            let band = rounded_up(self.pruning.pruned.band);
            all.push(format!(
                "Decisions where the original\u{2019}s winner leads by {band} or less, in score."
            ));
        }
        if let Some(inputs) = inputs_in_short(&self.accepted(), &self.pruning.pruned.domain) {
            all.push(format!("Inputs that are not among those of the claim: it is about {inputs}."));
        }
        if !self.pruning.checked() {
            all.push(
                "The independent checker has not seen a proof: this is the search\u{2019}s word.".to_owned(),
            );
        }
        all.push("What predictors on GPUs return, and what other programs than the model\u{2019}s library make of the file.".to_owned());
        all.push("Whether the model is right: the pruned model is wrong where the original is.".to_owned());
        all
    }

    fn certificate_page(&self) -> Option<page::Certificate> {
        let proof = self.pruning.certificate.as_ref()?;
        Some(certificate(self.places.certificate?, proof.bytes.len() as u64))
    }

    fn phases(&self) -> Vec<page::Phase> {
        let seconds = self.pruning.seconds;
        let parts = [
            ("read", seconds.read),
            ("fold", seconds.fold),
            ("points", seconds.points),
            ("lp", seconds.lp),
            ("oracle", seconds.oracle),
            ("bounds", seconds.bounds),
            ("certificate", seconds.certificate),
            ("write", seconds.write),
            ("rows", seconds.rows),
            ("pack", seconds.pack),
        ];
        parts.map(|(name, seconds)| page::Phase { name: name.to_owned(), seconds }).to_vec()
    }

    /// Questions that the run did not settle.
    fn open_questions(&self) -> Vec<String> {
        let (least, most) = (self.pruning.pruned.lower_bound, self.pruning.pruned.size[1].trees);
        let range = format!("the smallest size is somewhere from {least} to {most} trees");
        match self.pruning.pruned.outcome {
            // There is no lower bound if scores are kept.
            Outcome::BudgetReached if self.lower_bound().is_none() => {
                vec!["The time limit came first: fewer trees may do.".to_owned()]
            }
            _ if self.lower_bound().is_none() => Vec::new(),
            _ if self.pruning.minimal() => Vec::new(),
            _ if self.pruning.interrupted => vec![format!("The run was interrupted: {range}.")],
            Outcome::BudgetReached => vec![format!("The time limit came first: {range}.")],
            _ if self.pruning.pruned.irreducible => vec![format!(
                "No single tree can go, by the solver\u{2019}s word; by exchanging several, {range}."
            )],
            _ => vec![format!("Within these settings {range}.")],
        }
    }

    fn settings(&self) -> Vec<(String, String)> {
        let options = self.options;
        let settings = [
            ("effort", options.effort.name()),
            ("moves", options.moves.name()),
            ("objective", options.objective.name()),
            ("seed", &options.seed.to_string()),
        ];
        settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }
}
