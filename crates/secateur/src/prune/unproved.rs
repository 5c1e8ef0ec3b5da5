//! `secateur prune --method`: the paper's baselines. Their models have the size that was asked for and
//! decide otherwise than the original; everything printed says so.

use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use secateur_model::{ClassId, Predictor, Tree};
use secateur_prune::baseline::{Order, prune_unproved};
use serde_json::json;

use super::report::json_text;
use super::{Rows, write};
use crate::arguments::{Method, Prune};
use crate::failure::Ending;
use crate::model::Model;
use crate::output::{Output, print};
use crate::text::{counted, entry, grouped};

pub(super) fn run(
    command: &Prune,
    method: Method,
    original: &Model,
    rows: Rows,
    output: Output,
    started: Instant,
) -> Result<Ending> {
    let (Some(size), Some(data)) = (command.size, &command.data) else {
        unreachable!("the flags require each other")
    };
    if rows.classes.is_empty() {
        bail!("{}: --method chooses trees by labelled rows, and the table has none", data.display());
    }
    let read = started.elapsed().as_secs_f64();
    let (order, name) = match method {
        Method::Ic => (Order::Contribution, "ic"),
        Method::Imd => (Order::MarginDiversity, "imd"),
        Method::Drep => (Order::Diversity, "drep"),
    };
    let pruned = prune_unproved(&original.file, &rows.values, &rows.classes, order, size)
        .map_err(|error| anyhow!("{}: {error}", command.model.display()))?;
    let [before, after] = [original.file.ensemble(), pruned.file.ensemble()];
    let old = Predictor::new(before).classes(&rows.values)?;
    let new = Predictor::new(after).classes(&rows.values)?;
    let share = |a: &[ClassId], b: &[ClassId]| {
        a.iter().zip(b).filter(|(a, b)| a == b).count() as f64 / a.len() as f64
    };
    let fidelity = share(&old, &new);
    let accuracy = [share(&old, &rows.classes), share(&new, &rows.classes)];
    let mut bytes = Vec::new();
    pruned.file.write(&mut bytes)?;
    write(output, &bytes)?;
    let trees = [before, after].map(|model| model.trees().len());
    let leaves = [before, after].map(|model| model.trees().iter().map(Tree::leaf_count).sum::<usize>());
    let changed = old.iter().zip(&new).filter(|(old, new)| old != new).count();
    if command.json {
        print(&json_text(&json!({
            "outcome": "unproved",
            "method": name,
            "members": {"before": pruned.members, "after": size, "chosen": pruned.chosen},
            "trees": {"before": trees[0], "after": trees[1]},
            "leaves": {"before": leaves[0], "after": leaves[1]},
            "bytes": {"before": original.bytes, "after": bytes.len()},
            "lower_bound": 0,
            "minimal": false,
            "band": null,
            "fidelity": fidelity,
            "accuracy": {"before": accuracy[0], "after": accuracy[1]},
            "rows": old.len(),
            "seconds": {"read": read, "total": started.elapsed().as_secs_f64()},
            "output": command.output.display().to_string(),
            "certificate": null,
        }))?)?;
        return Ok(Ending::Done);
    }
    let mut text = format!(
        "NOT PROVED: {} -> {}, decisions change\n",
        trees[0],
        counted(trees[1] as u64, "tree", "trees")
    );
    let mut line = |key: &str, value: &str| text += &(entry(key, value) + "\n");
    line(
        "method",
        &format!("{name}, chosen by {}", counted(old.len() as u64, "labelled row", "labelled rows")),
    );
    line("leaves", &format!("{} -> {}", grouped(leaves[0] as u64), grouped(leaves[1] as u64)));
    line("bytes", &format!("{} -> {}", grouped(original.bytes), grouped(bytes.len() as u64)));
    line(
        "decisions",
        &format!(
            "{} of these rows decided otherwise, {:.2}% the same",
            grouped(changed as u64),
            100.0 * fidelity
        ),
    );
    line("accuracy", &format!("{:.2}% -> {:.2}% on these rows", 100.0 * accuracy[0], 100.0 * accuracy[1]));
    line("written", &command.output.display().to_string());
    line("instead", "without --method every decision stays, proved");
    print(&text)?;
    Ok(Ending::Done)
}
