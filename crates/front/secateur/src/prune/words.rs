//! The report of a run of `prune`, for every interface: one JSON object, or words for people.

use secateur_certificate::Intercept;
use secateur_formats::{Framework, ModelFile};
use secateur_model::{Accepted, ClassId, Cut, Decision, Ensemble, FeatureId};
use secateur_oracle::Band;
use secateur_prune::{Certificate, Claim, Editable, Effort, Fate, Moves, Outcome, Pair, Relevant};
use serde_json::{Value, json};

use super::{PruneOptions, Pruning};
use crate::domain::{accepted, begin, inputs_in_short, inputs_words};
use crate::logistic;
use crate::places::Places;
use crate::probabilities::Probabilities;
use crate::text::{counted, entry, grouped, number, plain, printable, rounded_up};
use crate::verify::{ROUNDING_NOTE, rounding_words, rows_json, score_probability, upper};

/// How many pairs of inputs are shown as examples.
const PAIRS: usize = 2;

/// The report of a run of [`prune`](crate::prune), as words, as JSON, or as a page.
#[derive(Clone, Copy, Debug)]
pub struct PruneReport<'a> {
    /// The model that was pruned.
    pub original: &'a ModelFile,
    /// What was asked for.
    pub options: &'a PruneOptions,
    /// The result.
    pub pruning: &'a Pruning,
    /// The paths of the files.
    pub places: Places<'a>,
}

impl PruneReport<'_> {
    /// The probabilities at the ends of the band, for logistic models.
    pub fn probability(&self) -> Option<[f64; 2]> {
        match self.options.claim {
            Claim::Decisions { .. } => match self.cut() {
                Some(cut) => logistic::around(self.original, cut, self.pruning.pruned.band),
                None => logistic::probabilities(self.original, self.pruning.pruned.band),
            },
            Claim::Scores { .. } => None,
        }
    }

    /// The cut of the scores that corresponds to the caller's threshold.
    fn cut(&self) -> Option<Cut> {
        self.options.cut(self.original).ok().flatten()
    }

    fn threshold_json(&self) -> Option<Value> {
        let (threshold, cut) = (self.options.threshold?, self.cut()?);
        Some(json!({"probability": threshold, "score": cut.score, "gap": cut.gap}))
    }

    /// Is the claim about exact sums, and not about the library's rounded ones?
    pub(super) fn exact(&self) -> bool {
        self.options.claim.band() == Some(Band::Exact)
    }

    /// The sizes of the two files; `None` for a model without a file.
    pub(super) fn bytes(&self) -> [Option<u64>; 2] {
        let before = self.places.original_bytes.or_else(|| Editable::bytes(self.original));
        [before, self.pruning.bytes.as_ref().map(|bytes| bytes.len() as u64)]
    }

    /// One JSON object; its keys are part of the interface (`secateur prune --json`).
    pub fn json(&self) -> Value {
        let pruned = &self.pruning.pruned;
        let [before, after] = pruned.size;
        let bytes = self.bytes();
        let data = self.pruning.rows.as_ref().map(rows_json);
        json!({
            "outcome": outcome_name(pruned.outcome),
            "unchanged": self.pruning.unchanged(),
            "interrupted": self.pruning.interrupted,
            "met_standard_limit": self.pruning.met_standard_limit,
            "checked": self.pruning.checked(),
            "trees": {"before": before.trees, "after": after.trees, "empty": empty_trees(pruned.file.ensemble()),
                "unused": self.original.unused_trees()},
            "leaves": {"before": before.leaves, "after": after.leaves},
            "bytes": {"before": bytes[0], "after": bytes[1]},
            "lower_bound": self.lower_bound(),
            "minimal": self.pruning.minimal(),
            "irreducible": self.pruning.pruned.irreducible,
            "cut_short": self.pruning.pruned.cut_short,
            "dialect": pruned.file.dialect(),
            "scope": self.accepted().scope(&pruned.domain),
            "domain": self.domain_json(),
            "rows_outside_domain":
                self.pruning.outside.as_ref().map(|rows| rows.json(self.original.ensemble())),
            "band": self.options.claim.band().map(|_| json!({
                "score": pruned.band,
                "probability": self.probability(),
                "exact": self.exact(),
            })),
            "threshold": self.threshold_json(),
            "within": pruned.within,
            "oracle_calls": self.pruning.pruned.oracle_calls,
            "points": self.pruning.pruned.points,
            "seconds": self.seconds_json(),
            "output": self.places.pruned,
            "certificate": self.places.certificate,
            "proof": self.pruning.certificate.as_ref().map(proof_json),
            "data": data,
            "score_shift": self.pruning.score_rows.map(|rows| rows.json()),
            "probability_shift": self.pruning.probability_shift.map(|shift| shift.json()),
            "relevant_thresholds": self.pruning.pruned.relevant.as_ref().map(|relevant| {
                json!({"count": relevant.count(), "total": relevant.total()})
            }),
            "pack": self.pruning.pack.as_ref().map(|size| size.json()),
            "fates": self.pruning.pruned.fates.iter().map(fate_json).collect::<Vec<_>>(),
        })
    }

    fn seconds_json(&self) -> Value {
        let seconds = self.pruning.seconds;
        json!({
            "read": seconds.read,
            "fold": seconds.fold,
            "points": seconds.points,
            "lp": seconds.lp,
            "oracle": seconds.oracle,
            "bounds": seconds.bounds,
            "certificate": seconds.certificate,
            "write": seconds.write,
            "rows": seconds.rows,
            "pack": seconds.pack,
            "total": seconds.total,
        })
    }

    /// The result for people, one line for each fact; with `verbose`, what became of each tree.
    pub fn words(&self, verbose: bool) -> String {
        let pruned = &self.pruning.pruned;
        let [before, after] = pruned.size;
        let kept = format!(
            "{} -> {}, {}{}{}{}",
            grouped(before.trees as u64),
            counted(after.trees as u64, "tree", "trees"),
            match (pruned.within, pruned.band) {
                (Some(within), _) => format!("no score moved by more than {}", plain(within)),
                _ if self.exact() => "the exact sums decide the same".to_owned(),
                (None, 0.0) => "every decision but exact ties unchanged".to_owned(),
                (None, _) => format!("every decision unchanged, except where {}", self.near_words()),
            },
            self.options
                .threshold
                .map_or_else(String::new, |threshold| format!(" at the threshold {threshold}")),
            inputs_in_short(&self.accepted(), &pruned.domain)
                .map_or_else(String::new, |inputs| format!(" for {inputs}")),
            if self.moves_scores() { "; scores and probabilities change" } else { "" }
        );
        let mut text = match self.pruning.pruned.outcome {
            _ if self.pruning.unchanged() => self.unchanged_words(),
            _ if self.pruning.interrupted => format!("interrupted: {kept}\n"),
            Outcome::Proved if after.trees == before.trees => format!("no tree less, but smaller: {kept}\n"),
            Outcome::Proved | Outcome::AlreadyMinimal => format!("proved: {kept}\n"),
            Outcome::BudgetReached => format!("the time is up{}: {kept}\n", self.limit_words()),
        };
        let mut line = |key: &str, value: &str| text += &(entry(key, value) + "\n");
        let change = |before: u64, after: u64| {
            let share = if before == 0 { 0.0 } else { 100.0 - 100.0 * after as f64 / before as f64 };
            let words = format!("{} -> {}", grouped(before), grouped(after));
            if after < before { format!("{words} ({share:.0}% fewer)") } else { words }
        };
        line("trees", &change(before.trees as u64, after.trees as u64));
        let empty = empty_trees(pruned.file.ensemble());
        if empty > 0 {
            let (all, empty) = (grouped((after.trees + empty) as u64), grouped(empty as u64));
            line(
                "in the file",
                &format!("{all}, {empty} of them empty (a leaf of zero that fills a round up)"),
            );
        }
        line("leaves", &change(before.leaves as u64, after.leaves as u64));
        if let [Some(before), Some(after)] = self.bytes() {
            line("bytes", &change(before, after));
        }
        if self.original.framework() == Framework::CatBoost {
            // Its trees may be symmetric before and not after, or the other way round, depending on
            // which is smaller.
            let (old, new) = (self.original.dialect(), pruned.file.dialect());
            line("format", &if old == new { new } else { format!("{new} (the original: {old})") });
        }
        if let Some(removed) = self.removed_words() {
            line("removed", &removed);
        }
        line("smallest", &self.bound_words());
        let relevant = self.pruning.pruned.relevant.as_ref();
        if let Some(relevant) = relevant.filter(|relevant| verbose && relevant.count() > 0) {
            line("thresholds", &relevant_words(relevant));
            relevant.pairs().take(PAIRS).for_each(|(_, pair)| line("for example", &self.pair_words(pair)));
        }
        if self.original.unused_trees() > 0 {
            let unused = counted(self.original.unused_trees() as u64, "tree", "trees");
            line(
                "early stopping",
                &format!("{unused} behind the best round, which the library does not use, left out"),
            );
        }
        line("claim", &self.claim_words());
        line("inputs", &self.inputs());
        if self.exact() {
            line("rounding", &rounding_words([self.original, &pruned.file].map(|file| file.ensemble())));
        }
        if let Some(seen) = &self.pruning.rows {
            line("data", &seen.words(self.exact()));
        }
        if let Some(rows) = &self.pruning.score_rows {
            line("data", &rows.words());
        }
        if let Some(words) = self.probability_words() {
            line("not kept", &words);
        }
        if let Some(outside) = &self.pruning.outside {
            line("outside", &outside.words(self.original.ensemble()));
        }
        if verbose {
            let calls = counted(
                self.pruning.pruned.oracle_calls,
                "question to the oracle",
                "questions to the oracle",
            );
            if self.options.claim.band().is_some() {
                line("the bound", &format!("is about {}", family_words(pruned.evidence.intercept)));
            }
            line(
                "work",
                &format!("{calls}, {}", counted(self.pruning.pruned.points as u64, "point", "points")),
            );
            for (tree, fate) in self.pruning.pruned.fates.iter().enumerate() {
                line(&format!("tree {tree}"), &fate_words(fate));
            }
        }
        line("time", &format!("{:.3} s", self.pruning.seconds.total));
        if let Some(output) = self.places.pruned {
            line("written", output);
        }
        if let Some(certificate) = self.places.certificate {
            line("certificate", certificate);
        }
        if let Some(command) = self.check_words() {
            line("check", &command);
        }
        if let Some(size) = &self.pruning.pack {
            let call = match self.places.original {
                Some(model) => format!("`secateur pack {model} -o model.spk`"),
                None => "`secateur.pack(model)`".to_owned(),
            };
            line("pack", &format!("{call}: {}", size.words(self.bytes()[0])));
        }
        text
    }

    /// The inputs so near to the boundary that the claim leaves them out.
    fn near_words(&self) -> String {
        match self.probability() {
            Some([low, high]) => {
                let middle = self.options.threshold.unwrap_or(0.5);
                let near = one_digit_up((middle - low).max(high - middle));
                format!("the probability is within {near} of {middle}")
            }
            None => format!("the winner leads by at most {}", rounded_up(self.pruning.pruned.band)),
        }
    }

    /// Names the limit if the caller gave none.
    fn limit_words(&self) -> &'static str {
        match self.pruning.met_standard_limit {
            true => " (5 minutes, unless --time-limit says otherwise)",
            false => "",
        }
    }

    /// The words for a model that is unchanged.
    fn unchanged_words(&self) -> String {
        let pruned = &self.pruning.pruned;
        let trees = counted(pruned.size[0].trees as u64, "tree", "trees");
        let why = match pruned.outcome {
            _ if self.pruning.interrupted => "interrupted before anything smaller was found".to_owned(),
            _ if self.pruning.minimal() && self.options.claim.band().is_some() => {
                match pruned.size[0].trees {
                    1 => "its one tree is needed (proved)".to_owned(),
                    _ => format!("every one of the {trees} is needed (proved)"),
                }
            }
            Outcome::BudgetReached => {
                format!("nothing smaller than {trees} was found within the time limit{}", self.limit_words())
            }
            _ if pruned.cut_short => {
                format!("nothing smaller than {trees} was found with the work that was done")
            }
            _ if pruned.irreducible => format!("no tree of {trees} can go on its own (by the solver's word)"),
            _ => format!("nothing smaller than {trees} was found"),
        };
        let also = match self.original.unused_trees() as u64 {
            0 => String::new(),
            1 => "; the tree behind the best round, which does not count, is gone".to_owned(),
            unused => {
                format!("; the {} trees behind the best round, which do not count, are gone", grouped(unused))
            }
        };
        format!("unchanged: {why}{also}\n")
    }

    /// Does any tree contribute differently to the scores than before? Trees that were only folded
    /// into each other add up to the same, except for rounding.
    fn moves_scores(&self) -> bool {
        // If scores are kept, the claim says how far they move.
        self.options.claim.within().is_none()
            && self.pruning.pruned.fates.iter().any(|fate| match *fate {
                Fate::Kept | Fate::Constant => false,
                Fate::Scaled(weight) | Fate::Rewritten(weight) | Fate::Merged { weight, .. } => weight != 1.0,
                Fate::Dropped => true,
            })
    }

    /// What the result does not keep, if there is anything.
    pub(super) fn probability_words(&self) -> Option<String> {
        if !self.moves_scores() {
            return None;
        }
        let elsewhere = match self.options.threshold {
            Some(_) => "decisions at other thresholds, the library's own predict among them; ",
            None => "",
        };
        let advice = "where they are used (ranking, calibration, stacking), --keep scores keeps them up to rounding, \
                      --within EPS up to EPS, and pack keeps every bit";
        Some(match (&self.pruning.probability_shift, Probabilities::are_known(self.original)) {
            (Some(shift), _) => format!("{elsewhere}probabilities: {}; {advice}", shift.words()),
            (None, true) => {
                format!("{elsewhere}probabilities: --data TABLE measures how far they move; {advice}")
            }
            (None, false) => format!("scores; {advice}"),
        })
    }

    /// What became of the trees, those that were removed and those that stayed.
    fn removed_words(&self) -> Option<String> {
        let fates = &self.pruning.pruned.fates;
        let count = |matching: fn(&Fate) -> bool| fates.iter().filter(|fate| matching(fate)).count();
        let part = |count: usize, words: &str| (count > 0).then(|| format!("{count} {words}"));
        let without = match self.options.claim {
            Claim::Decisions { .. } => "dropped: the others decide without them",
            Claim::Scores { .. } => "dropped: the others make up for them",
        };
        let gone: Vec<String> = [
            part(count(|fate| matches!(fate, Fate::Dropped)), without),
            part(count(|fate| matches!(fate, Fate::Merged { .. })), "merged into others"),
            part(count(|fate| matches!(fate, Fate::Constant)), "constant"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let stay: Vec<String> = [
            part(count(|fate| matches!(fate, Fate::Kept)), "as they were"),
            part(count(|fate| matches!(fate, Fate::Scaled(_))), "with a new weight"),
            part(count(|fate| matches!(fate, Fate::Rewritten(_))), "with new leaves"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let stay = match stay.is_empty() {
            true => String::new(),
            false => format!("; those that stay: {}", stay.join(", ")),
        };
        (!gone.is_empty()).then(|| gone.join(", ") + &stay)
    }

    /// A lower bound on the size of any smaller model.
    fn bound_words(&self) -> String {
        if self.options.claim.within().is_some() {
            return self.score_bound_words();
        }
        let trees = grouped(self.pruning.pruned.size[1].trees as u64);
        let moves = match self.options.moves {
            Moves::Leaves => "by merging, scaling and dropping trees",
            Moves::Weights => "by weights on the model's own trees",
        };
        let least = grouped(self.pruning.pruned.lower_bound as u64);
        if self.pruning.minimal() {
            return format!("proved: {moves}, no fewer than {trees} can decide the same");
        }
        let more = match (self.pruning.interrupted, self.pruning.pruned.outcome, self.options.effort) {
            (true, ..) | (_, Outcome::BudgetReached, _) => "more time may find less",
            _ if self.pruning.pruned.cut_short => {
                "the model is large, so not every tree was tried; with --time-limit more are"
            }
            (_, _, Effort::Fast) => "--effort thorough may find less",
            (_, _, Effort::Thorough) if self.pruning.pruned.irreducible => {
                "no tree can go on its own, says the solver; --effort minimum may find less"
            }
            (_, _, Effort::Thorough) => "--effort minimum may find less",
            (_, _, Effort::Minimum) => "nothing smaller was found",
        };
        format!("between {least} and {trees} trees {moves}; {more}")
    }

    /// The proved lower bound on the number of trees, within the allowed moves; `None` if scores
    /// are kept, because nothing is claimed then.
    pub(super) fn lower_bound(&self) -> Option<usize> {
        self.options.claim.band().map(|_| self.pruning.pruned.lower_bound)
    }

    /// The same if scores are kept: there is no bound.
    fn score_bound_words(&self) -> String {
        let more = match (self.pruning.interrupted, self.pruning.pruned.outcome, self.options.effort) {
            (true, ..) | (_, Outcome::BudgetReached, _) => "more time may find less",
            _ if self.pruning.pruned.cut_short => {
                "the model is large, so not every tree was tried; with --time-limit more are"
            }
            (_, _, Effort::Fast) => "--effort thorough may find less",
            _ if self.pruning.pruned.irreducible => "no tree can go on its own, says the solver",
            _ => "not every question was settled; more trees may be able to go",
        };
        format!("not claimed, where scores are kept; {more}")
    }

    /// Two inputs that a threshold tells apart.
    fn pair_words(&self, pair: &Pair) -> String {
        let model = self.original.ensemble();
        let (features, classes) = (model.features(), model.classes());
        let shown = |value: f64| match value.is_nan() {
            true => "missing".to_owned(),
            false => number(value, model.intake().number),
        };
        let mut changed = String::new();
        let mut rest = Vec::new();
        for (index, (&below, &above)) in pair.rows[0].iter().zip(&pair.rows[1]).enumerate() {
            let name = features.name(FeatureId::new(index));
            if below.to_bits() != above.to_bits() {
                changed = format!("{} from {} to {}", printable(&name), shown(below), shown(above));
            } else {
                rest.push(format!("{} {}", printable(&name), shown(below)));
            }
        }
        let [below, above] = pair.classes.map(|class| printable(&classes.text(class)).into_owned());
        let at = if rest.is_empty() { String::new() } else { format!(", at {}", rest.join(", ")) };
        format!("{changed} turns class {below} into {above}{at}")
    }

    /// The proved claim, in one sentence.
    pub fn claim_words(&self) -> String {
        let words = match self.options.claim {
            Claim::Decisions { band } if self.options.threshold.is_some() => self.threshold_claim_words(band),
            Claim::Decisions { band } => {
                claim_words(self.original, band, self.pruning.pruned.band, self.probability())
            }
            Claim::Scores { within } => self.score_claim_words(within),
        };
        begin(&self.accepted(), &self.pruning.pruned.domain) + &words
    }

    fn threshold_claim_words(&self, asked: Band) -> String {
        let (Some(threshold), Some(cut)) = (self.options.threshold, self.cut()) else { return String::new() };
        let class = self.original.ensemble().classes().text(ClassId(1)).into_owned();
        let class = printable(&class);
        if asked == Band::Exact {
            return format!(
                "the exact sums of both files are on the same side of {:?}, the score at which the probability of class \
                 {class} is {threshold}; {ROUNDING_NOTE}",
                cut.score
            );
        }
        let band = rounded_up(self.pruning.pruned.band);
        let probability = self.probability().map_or_else(String::new, |interval| {
            format!(", which is a probability of {}", logistic::words(interval))
        });
        format!(
            "with either file the library's probability of class {class} is on the same side of {threshold} (> or >=, \
             however the exponential function rounds), wherever the original's score is more than {band} from {}{probability}",
            rounded(cut.score)
        )
    }

    /// How far probabilities can move if scores move by at most `within`.
    pub(super) fn score_probability(&self, within: f64) -> Option<f64> {
        score_probability([self.original, &self.pruning.pruned.file], within)
    }

    fn score_claim_words(&self, within: f64) -> String {
        let averaged = match self.original.ensemble().accumulation().average {
            Some(_) => " (averaged as the library does)",
            None => "",
        };
        let probability = self.score_probability(within).map_or_else(String::new, |most| {
            format!(" (probabilities at most {}, before the library rounds those)", upper(most))
        });
        format!(
            "the library's raw scores{averaged} with either file are at most {} apart, rounding \
             included{probability}",
            plain(within)
        )
    }

    /// The inputs that the claim is about, in words.
    pub(super) fn inputs(&self) -> String {
        inputs_words(&self.accepted(), &self.pruning.pruned.domain, self.original.ensemble())
    }

    /// The inputs that the library and the models whose scores the domain refers to accept.
    pub(super) fn accepted(&self) -> Accepted {
        accepted(self.original.ensemble(), &self.pruning.pruned.domain)
    }

    fn domain_json(&self) -> Value {
        let (original, domain) = (self.original.ensemble(), &self.pruning.pruned.domain);
        original.within(domain).map_or(Value::Null, |narrowed| crate::domain::json(domain, &[&narrowed]))
    }

    fn threshold_flag(&self) -> String {
        self.options.threshold.map_or_else(String::new, |threshold| format!(" --threshold {threshold}"))
    }

    fn band_flag(&self) -> String {
        match self.options.claim.band() {
            Some(Band::Exact) => " --band 0".to_owned(),
            Some(Band::Score(band)) => format!(" --band {}", plain(band)),
            Some(Band::Auto) | None => String::new(),
        }
    }

    fn scope_flag(&self) -> &'static str {
        match self.accepted().scope(&self.pruning.pruned.domain) {
            "all" => "",
            "no_missing" => " --no-missing",
            _ => " --domain FILE",
        }
    }

    /// The command that checks the result, if all of it is in files.
    fn check_words(&self) -> Option<String> {
        let (model, output) = (self.places.original?, self.places.pruned?);
        Some(match self.places.certificate {
            Some(certificate) => {
                let (band, threshold) = (self.band_flag(), self.threshold_flag());
                format!("secateur-check {model} {output} {certificate}{band}{threshold}")
            }
            None => {
                let scores = self.options.claim.within();
                let scores =
                    scores.map_or_else(String::new, |within| format!(" --scores --within {}", plain(within)));
                let (band, threshold, scope) = (self.band_flag(), self.threshold_flag(), self.scope_flag());
                format!("secateur verify {model} {output}{scores}{band}{threshold}{scope}")
            }
        })
    }
}

/// A positive number rounded up to one digit, without an exponent unless it is tiny.
fn one_digit_up(value: f64) -> String {
    let mut exponent = value.log10().floor() as i32;
    let mut digit = (value / 10f64.powi(exponent)).ceil();
    loop {
        // Ten of one power are one of the next.
        if digit >= 10.0 {
            (digit, exponent) = (1.0, exponent + 1);
        }
        let number = digit * 10f64.powi(exponent);
        let shown = match exponent {
            -9..0 => format!("{number:.*}", exponent.unsigned_abs() as usize),
            _ => format!("{number:e}"),
        };
        // People read the text, so the text is what must not be below the value.
        if !shown.parse().is_ok_and(|shown: f64| shown < value) {
            return shown;
        }
        digit += 1.0;
    }
}

/// A score with six decimals.
fn rounded(score: f64) -> String {
    format!("{score:.6}")
}

/// Trees that only fill up a round; no size counts them.
fn empty_trees(model: &Ensemble) -> usize {
    model.trees().iter().filter(|tree| tree.is_empty()).count()
}

/// The outcome in one word.
fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Proved => "proved",
        Outcome::BudgetReached => "budget_reached",
        Outcome::AlreadyMinimal => "already_minimal",
    }
}

fn proof_json(proof: &Certificate) -> Value {
    json!({
        "bytes": proof.bytes.len(),
        "steps": proof.proved.steps,
        "boxes": proof.nodes,
        "columns": proof.proved.columns.map(|columns| columns.bound),
        "cost": proof.proved.cost.map(|cost| cost.bound),
        "thresholds": proof.proved.thresholds,
        "search_seconds": proof.search_seconds,
        "check_seconds": proof.check_seconds,
    })
}

fn claim_words(original: &ModelFile, asked: Band, band: f64, probability: Option<[f64; 2]>) -> String {
    if asked == Band::Exact {
        return format!(
            "the exact sums of both files decide the same, ties by the library's rule; {ROUNDING_NOTE}"
        );
    }
    if band == 0.0 {
        return "the library decides the same with either file wherever the original's scores do not tie; its sums \
                are exact"
            .to_owned();
    }
    let probability = probability.map(|interval| format!(" (probability {})", logistic::outside(interval)));
    let probability = probability.unwrap_or_default();
    let band = rounded_up(band);
    match original.ensemble().decision() {
        Decision::Threshold { .. } => format!(
            "the library decides the same with either file wherever the original's score is more than {band} \
             from its threshold{probability}"
        ),
        _ => format!(
            "the library decides the same with either file wherever the original's winner leads by more than \
             {band}"
        ),
    }
}

fn relevant_words(relevant: &Relevant) -> String {
    let (count, total) = (relevant.count() as u64, relevant.total() as u64);
    format!(
        "{} of {} {}: {} there are two inputs that differ in nothing else and get different classes, so any ensemble of \
         trees that decides the same has at least {}",
        grouped(count),
        counted(total, "threshold", "thresholds"),
        if count == 1 { "decides" } else { "decide" },
        if count == 1 { "for it" } else { "for each of them" },
        counted(count, "inner node", "inner nodes")
    )
}

/// The models that a lower bound is about.
fn family_words(intercept: Intercept) -> String {
    let constant = match intercept {
        Intercept::None => "",
        Intercept::Scaled => ", and the original's constant times such a weight",
        Intercept::Free => ", and any constant",
        Intercept::Counted => ", and any constant, which counts as a tree",
    };
    format!(
        "all models whose scores add up the original's trees, merged ones as one, each with a weight of at least \
         0{constant}; models that tie and are decided by the tie rule count, too"
    )
}

fn fate_words(fate: &Fate) -> String {
    match fate {
        Fate::Kept => "as it was".to_owned(),
        Fate::Scaled(weight) => format!("times {weight}"),
        Fate::Rewritten(weight) => format!("new leaves, times {weight}"),
        Fate::Merged { into, weight } => format!("added into tree {into}, times {weight}"),
        Fate::Constant => "a constant".to_owned(),
        Fate::Dropped => "dropped".to_owned(),
    }
}

fn fate_json(fate: &Fate) -> Value {
    match fate {
        Fate::Kept => json!({"fate": "kept", "weight": 1.0}),
        Fate::Scaled(weight) => json!({"fate": "scaled", "weight": weight}),
        Fate::Rewritten(weight) => json!({"fate": "rewritten", "weight": weight}),
        Fate::Merged { into, weight } => json!({"fate": "merged", "into": into.index(), "weight": weight}),
        Fate::Constant => json!({"fate": "constant"}),
        Fate::Dropped => json!({"fate": "dropped"}),
    }
}

#[cfg(test)]
mod tests {
    use super::one_digit_up;

    #[test]
    fn a_distance_from_one_half_is_rounded_up_to_a_digit() {
        let shown = [1.962e-5, 2e-5, 0.0999, 1e-3, 0.3, 4.2e-12].map(one_digit_up);
        assert_eq!(shown, ["0.00002", "0.00002", "0.1", "0.001", "0.3", "5e-12"]);
        for value in [9.5e-7, 1.0000001e-4, 0.49, 3e-300] {
            let shown: f64 = one_digit_up(value).parse().unwrap();
            assert!(shown >= value && shown <= value * 2.1, "{value}: {shown}");
        }
    }
}
