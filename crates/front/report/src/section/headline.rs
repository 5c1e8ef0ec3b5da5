//! The top of the page: the outcome, and the claim in a sentence and in numbers.

use crate::description::{Claim, Model, Outcome, Report, Scores};
use crate::number::{self, counted, grouped};
use crate::{escape, section};

/// The window's title.
pub(crate) fn title(report: &Report) -> String {
    let file = report.models[0].file.rsplit(['/', '\\']).next().unwrap_or_default();
    format!("{}: {}", badge(report), file)
}

pub(crate) fn html(report: &Report) -> String {
    let (tone, sign) = match report.outcome {
        Outcome::Reduced if is_unchanged(report) => ("wait", "M6 9h12M6 15h12"),
        Outcome::Reduced | Outcome::Identical | Outcome::Within | Outcome::Measured => {
            ("good", "M5 13l4.5 4.5L19 7")
        }
        Outcome::AlreadyMinimal => ("good", "M6 9h12M6 15h12"),
        Outcome::BudgetReached => ("wait", "M12 3.5a8.5 8.5 0 1 0 .1 0M12 7.5v5l3.2 2"),
        Outcome::Different | Outcome::Exceeds => ("bad", "M7 7l10 10M17 7L7 17"),
        Outcome::Undecided => ("wait", "M9 9.5a3 3 0 1 1 4 3c-.8.4-1 .9-1 2M12 17.5v.1"),
    };
    format!(
        "<header class=\"{tone}\">\n<p class=\"brand\">secateur <span>{}</span></p>\n\
         <p class=\"badge\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"{sign}\"/></svg>{}</p>\n\
         <h1>{}</h1>\n<p class=\"lead\">{}</p>\n{}</header>\n",
        if report.outcome.is_pruning() { "pruning report" } else { "comparison report" },
        badge(report),
        report.scores.as_ref().map_or_else(|| headline(report), |scores| score_headline(report, scores)),
        report.scores.as_ref().map_or_else(|| claim(report), |scores| score_claim(report, scores)),
        facts(report),
    )
}

/// Are the sizes of the two models equal?
pub(crate) fn is_unchanged(report: &Report) -> bool {
    let size = |model: &Model| (model.trees, model.leaves, model.bytes);
    report.outcome.is_pruning() && size(&report.models[0]) == size(&report.models[1])
}

fn badge(report: &Report) -> &'static str {
    match report.outcome {
        Outcome::Reduced if is_unchanged(report) => "Unchanged",
        Outcome::Reduced | Outcome::Identical | Outcome::Within | Outcome::Measured => "Proved",
        Outcome::AlreadyMinimal => "Unchanged",
        Outcome::BudgetReached => "Budget reached",
        Outcome::Different => "Different",
        Outcome::Exceeds => "Exceeded",
        Outcome::Undecided => "Undecided",
    }
}

fn headline(report: &Report) -> String {
    let [before, after] = [report.models[0].trees as u64, report.models[1].trees as u64];
    let smaller = before != after;
    let decide = if after == 1 { "decides" } else { "decide" };
    let exact = report.claim.exact;
    match report.outcome {
        // The claim does not cover the library's rounding of these sums.
        Outcome::Reduced | Outcome::BudgetReached if smaller && exact => format!(
            "The exact sums of {} decide as those of {} did",
            counted(after, "tree", "trees"),
            grouped(before)
        ),
        Outcome::Identical if exact => "The exact sums of both models decide alike".to_owned(),
        Outcome::Different if exact => "The exact sums of the two models do not decide alike".to_owned(),
        Outcome::Reduced if smaller => {
            format!("{} {decide} as {} did", counted(after, "tree", "trees"), grouped(before))
        }
        Outcome::Reduced if report.models[0].leaves != report.models[1].leaves => {
            format!("{} with fewer leaves {decide} as before", counted(after, "tree", "trees"))
        }
        Outcome::Reduced => "No smaller model was found".to_owned(),
        Outcome::AlreadyMinimal => {
            format!("None of the {} can go: each is needed", counted(before, "tree", "trees"))
        }
        Outcome::BudgetReached if smaller => {
            format!("{} {decide} as {} did; fewer may do", counted(after, "tree", "trees"), grouped(before))
        }
        Outcome::BudgetReached => "No smaller model was proved in the time given".to_owned(),
        Outcome::Identical => "Both models decide alike".to_owned(),
        Outcome::Different => "The two models do not decide alike".to_owned(),
        Outcome::Undecided => "Not decided in the time given".to_owned(),
        // These outcomes have a headline of their own.
        Outcome::Within | Outcome::Exceeds | Outcome::Measured => String::new(),
    }
}

fn score_headline(report: &Report, scores: &Scores) -> String {
    let limit = scores.within.map(number::short).unwrap_or_default();
    let [before, after] = [report.models[0].trees as u64, report.models[1].trees as u64];
    match (report.outcome, scores.at_most) {
        _ if report.outcome.is_pruning() && after < before => format!(
            "{} {} every score of {} up to {limit}",
            counted(after, "tree", "trees"),
            if after == 1 { "keeps" } else { "keep" },
            grouped(before)
        ),
        _ if report.outcome.is_pruning() => "No smaller model was found".to_owned(),
        (Outcome::Within, _) => format!("The scores are at most {limit} apart"),
        (Outcome::Exceeds, _) => format!("The scores can be more than {limit} apart"),
        (_, Some(most)) => format!("The scores are at most {} apart", number::short_up(most)),
        _ => "Not decided in the time given".to_owned(),
    }
}

/// The question about scores, and its answer.
fn score_claim(report: &Report, scores: &Scores) -> String {
    let claim = &report.claim;
    let every_input = escape::sentence(claim.limited_to.as_deref().unwrap_or("every input"));
    let inputs = format!("{every_input} ({})", escape::sentence(&claim.inputs));
    let what = escape::sentence(&scores.what);
    let statement = |limit: String| {
        format!("On {inputs} {what} of the two libraries are at most {limit} apart, their rounding included.")
    };
    match (report.outcome, scores.within, scores.at_most) {
        (Outcome::Exceeds, Some(within), _) => format!(
            "On the input below they are farther apart. The claim that was tested and is false: “{}”",
            statement(number::short(within))
        ),
        (Outcome::Within | Outcome::Reduced | Outcome::AlreadyMinimal, Some(within), _) => {
            statement(number::short(within))
        }
        (Outcome::BudgetReached, Some(within), _) => format!(
            "{} That much is proved; the search for a smaller model ended with its budget.",
            statement(number::short(within))
        ),
        (Outcome::Measured, _, Some(most)) => {
            let open = match scores.ended {
                true => "",
                false => " That much is proved; the search for a smaller bound ended with its budget.",
            };
            format!("{}{open}", statement(number::short_up(most)))
        }
        (_, Some(within), _) => format!(
            "Neither a proof nor an input that exceeds the limit was found. The question: “{}”",
            statement(number::short(within))
        ),
        _ => format!("How far {what} of the two libraries can be apart on {inputs} was not found out."),
    }
}

/// The claim in a sentence that says no more than was proved.
fn claim(report: &Report) -> String {
    let claim = &report.claim;
    let names = if report.outcome.is_pruning() { ["original", "pruned"] } else { ["first", "second"] };
    let every_input = escape::sentence(claim.limited_to.as_deref().unwrap_or("every input"));
    let inputs = format!("{every_input} ({})", escape::sentence(&claim.inputs));
    let class = match claim.threshold {
        Some(threshold) => format!(
            "the same side of the probability {} (of the class {}), and the library’s own <code>predict</code> may change",
            number::full(threshold, false),
            claim.classes.get(1).map_or_else(String::new, |class| escape::text(class))
        ),
        None => "the same class".to_owned(),
    };
    let statement = if claim.exact {
        format!(
            "On {inputs} the {} model’s sums, computed without rounding, decide for {class} as the {} \
             model’s, with ties broken by each library’s own rule. Where a library’s rounding decides, its \
             classes can differ.",
            names[1], names[0]
        )
    } else if claim.band == 0.0 {
        format!(
            "On {inputs} where the {} model’s scores do not tie, the {} file, loaded by its library, decides for \
             {class}.",
            names[0], names[1]
        )
    } else {
        format!(
            "On {inputs} where the {} model’s winning class leads by more than {}{}, the {} file, \
             loaded by its library, decides for {class}.",
            names[0],
            number::short(claim.band),
            claim.probability.map(|interval| format!(" {}", probability(interval))).unwrap_or_default(),
            names[1]
        )
    };
    match report.outcome {
        Outcome::Reduced | Outcome::Identical => statement,
        Outcome::AlreadyMinimal => format!(
            "Every tree is needed: without any one of them some decision changes, however the others are \
             reweighted. {statement}"
        ),
        Outcome::BudgetReached => {
            format!("{statement} That much is proved; the search for a smaller model ended with its budget.")
        }
        Outcome::Different => {
            let [first, second] = report.counterexample.as_ref().map_or_else(Default::default, |example| {
                [escape::text(&example.classes[0]), escape::text(&example.classes[1])]
            });
            format!(
                "On the input below the first model decides for <strong>{first}</strong>, the second for \
                 <strong>{second}</strong>. The claim that was tested and is false: “{statement}”"
            )
        }
        Outcome::Undecided => {
            format!("Neither a proof nor an input that differs was found. The question: “{statement}”")
        }
        Outcome::Within | Outcome::Exceeds | Outcome::Measured => String::new(),
    }
}

/// `(a probability more than 1e-7 away from 0.5)`: where the claim holds, as the sentence says.
fn probability([low, high]: [f64; 2]) -> String {
    let middle = (low + high) / 2.0;
    let half = (high - low) / 2.0;
    if half < 1e-3 {
        format!("(a probability more than {} away from {})", number::short(half), number::short(middle))
    } else {
        format!("(a probability outside {} to {})", number::short(low), number::short(high))
    }
}

fn facts(report: &Report) -> String {
    let mut facts: Vec<(&str, String)> = Vec::new();
    let claim = &report.claim;
    match &report.scores {
        None => facts.push(("Band", number::value("band.score", claim.band, &band_words(claim)))),
        Some(scores) => score_facts(scores, &mut facts),
    }
    if let Some(threshold) = claim.threshold {
        facts.push((
            "Decided at",
            number::value("threshold.probability", threshold, &number::full(threshold, false)),
        ));
    }
    if let Some([low, high]) = claim.probability {
        let text = format!(
            "{} to {}",
            number::value("band.probability.0", low, &number::full(low, false)),
            number::value("band.probability.1", high, &number::full(high, false))
        );
        facts.push(("As probability", text));
    }
    if let Some(words) = &claim.not_kept {
        facts.push(("Not kept", escape::sentence(words)));
    }
    if let Some(rows) = &claim.rows {
        facts.push(("Given rows", escape::sentence(rows)));
    }
    if claim.exact {
        facts.push(("Not claimed", "what the library returns where its rounding decides".to_owned()));
    }
    if let Some(inputs) = &claim.limited_to {
        let these = inputs
            .strip_prefix("every input ")
            .map_or_else(|| inputs.clone(), |these| format!("those {these}"));
        facts.push(("Not claimed", format!("other inputs than {}", escape::sentence(&these))));
    }
    if let Some(bound) = report.lower_bound {
        let count = number::count("lower_bound", bound as u64);
        let text = match (report.minimal, bound) {
            (true, _) => format!("{count}, reached: no fewer can do"),
            (false, 0) if report.evidence.indispensable_trees > 0 => {
                format!("{count} by the run; the examples below show some that must stay")
            }
            (false, 0) => format!("{count}: nothing is known"),
            (false, _) => format!("{count} (not reached: fewer than now may do)"),
        };
        facts.push(("Trees needed at least", text));
    }
    let classes = claim.classes.len();
    if classes > 0 {
        let shown: Vec<String> = claim.classes.iter().take(12).map(|class| escape::text(class)).collect();
        let rest = if classes > 12 { format!(" and {} more", classes - 12) } else { String::new() };
        facts.push(("Classes", format!("{classes}: {}{rest}", shown.join(", "))));
    }
    if let Some(matching) = &claim.matching {
        facts.push(("Columns matched", escape::sentence(matching)));
    }
    if let Some(certificate) = &report.certificate {
        let state =
            if certificate.checked { "accepted by the independent checker" } else { "not yet checked" };
        facts.push(("Certificate", format!("{} ({state})", escape::sentence(&certificate.file))));
    } else if report.outcome.is_pruning() {
        facts.push(("Certificate", "none was written; <code>--certificate FILE</code> makes one".to_owned()));
    }
    facts.push(("Time", number::time("seconds.total", report.run.seconds)));
    let mut html = "<dl class=\"facts\">\n".to_owned();
    for (name, value) in facts {
        html += &format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n");
    }
    html += "</dl>\n";
    if !report.undecided.is_empty() {
        html += "<div class=\"open\"><h2>What is open</h2><ul>";
        for sentence in report.undecided.iter().take(section::SENTENCES) {
            html += &format!("<li>{}</li>", escape::sentence(sentence));
        }
        html += "</ul>";
        if report.undecided.len() > section::SENTENCES {
            html +=
                &format!("<p>and {} more</p>", grouped((report.undecided.len() - section::SENTENCES) as u64));
        }
        html += "</div>\n";
    }
    html
}

fn score_facts(scores: &Scores, facts: &mut Vec<(&str, String)>) {
    let mut fact = |name, key: &str, value: Option<f64>| {
        if let Some(value) = value {
            facts.push((name, number::value(key, value, &number::short_up(value))));
        }
    };
    fact("Asked", "scores.within", scores.within);
    fact("At most, proved", "scores.at_most", scores.at_most);
    fact("Of which rounding", "scores.rounding", scores.rounding);
    fact("As probabilities, at most", "scores.probability", scores.probability);
}

fn band_words(claim: &Claim) -> String {
    match claim.band {
        _ if claim.exact => "0 (exact sums, not the library’s rounding)".to_owned(),
        0.0 => "0 (the library’s sums are exact)".to_owned(),
        band => format!("{} in score", number::short(band)),
    }
}
