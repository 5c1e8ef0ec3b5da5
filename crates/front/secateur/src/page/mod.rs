//! Turns results into the plain data that an HTML page is made from.
//!
//! The facts that the page adds to the result (which splits stay, why trees must stay, prediction
//! times) are computed here from the two files. Everything that the page calls known was evaluated
//! exactly.

mod crossing;
mod splits;

use std::time::{Duration, Instant};

use std::time::{SystemTime, UNIX_EPOCH};

use secateur_certificate::{Digest, FileDigest};
use secateur_formats::ModelFile;
use secateur_model::{ClassId, Cut, Ensemble, NumberType, Predictor, Tree, TreeId};
use secateur_prune::{Fate, Pruned, Status};
use secateur_report as page;

use crossing::Crossings;
use splits::SplitTable;

/// Rows whose prediction is timed.
const TIMED_ROWS: usize = 2_000;
/// How long the prediction of one model is measured.
const TIMED: Duration = Duration::from_millis(60);
/// The most moments of a run that are recorded.
const MOMENTS: usize = 20_000;

/// The course of a run: the sizes known at each moment.
#[derive(Clone, Debug)]
pub(crate) struct History {
    started: Instant,
    moments: Vec<page::Moment>,
    trees: usize,
}

impl History {
    pub(crate) fn start(trees: usize) -> Self {
        Self { started: Instant::now(), moments: Vec::new(), trees }
    }

    /// Records the status if it has changed.
    pub(crate) fn note(&mut self, status: &Status) {
        let moment = page::Moment {
            seconds: self.started.elapsed().as_secs_f64(),
            points: status.points as u64,
            best: status.best.unwrap_or(self.trees),
            candidate: status.candidate,
            lower_bound: status.lower_bound,
        };
        let same = |last: &page::Moment| page::Moment { seconds: moment.seconds, ..*last } == moment;
        if self.moments.len() < MOMENTS && !self.moments.last().is_some_and(same) {
            self.moments.push(moment);
        }
    }

    fn finish(mut self, pruned: &Pruned) -> Vec<page::Moment> {
        self.moments.push(page::Moment {
            seconds: self.started.elapsed().as_secs_f64(),
            points: pruned.points as u64,
            best: pruned.size[1].trees,
            candidate: None,
            lower_bound: pruned.lower_bound,
        });
        self.moments
    }
}

/// Two model files with the names and sizes that a page shows.
pub(crate) struct Pair<'a> {
    pub(crate) names: [&'a str; 2],
    pub(crate) files: [&'a ModelFile; 2],
    pub(crate) bytes: [u64; 2],
    /// The user's rows, one after the other; may be empty.
    pub(crate) rows: &'a [f64],
}

impl Pair<'_> {
    pub(crate) fn models(&self) -> [page::Model; 2] {
        let first = self.files[0].ensemble();
        let rows = timed_rows(first, self.rows);
        [0, 1].map(|index| {
            let file = self.files[index];
            let ensemble = file.ensemble();
            let table = SplitTable::of(ensemble);
            page::Model {
                file: self.names[index].to_owned(),
                framework: file.dialect(),
                trees: ensemble.trees().len(),
                leaves: ensemble.trees().iter().map(Tree::leaf_count).sum(),
                splits: table.len(),
                features_used: table.features(),
                bytes: self.bytes[index],
                digests: digests(file),
                timing: timing(ensemble, &rows),
                single_precision: ensemble.accumulation().number == NumberType::F32,
            }
        })
    }
}

/// The model digest that certificates use, and the digest of its file if it has one.
fn digests(file: &ModelFile) -> Vec<(String, String)> {
    let mut digests = vec![("model, as in certificates".to_owned(), Digest::of(file.ensemble()).to_string())];
    let mut bytes = Vec::new();
    if file.write(&mut bytes).is_ok() {
        digests.push(("file, BLAKE3".to_owned(), FileDigest::of(&bytes).to_string()));
    }
    digests
}

/// The current time, in words.
pub(crate) fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    // Years are counted from March, so that the day of a leap year comes last (the inverse of the
    // days-from-civil algorithm).
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{date:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

/// A certificate that was written and accepted by the checker.
pub(crate) fn certificate(path: &str, bytes: u64) -> page::Certificate {
    page::Certificate { file: path.to_owned(), bytes, checked: true }
}

/// The classes' names.
pub(crate) fn classes(ensemble: &Ensemble) -> Vec<String> {
    let classes = ensemble.classes();
    (0..classes.len()).map(|class| classes.text(ClassId::new(class)).into_owned()).collect()
}

/// The subject of a claim.
#[derive(Clone, Copy)]
pub(crate) enum Seen {
    /// Decisions; with a cut, at that cut instead of the library's own threshold.
    Decisions(Option<Cut>),
    Scores,
}

/// Adds the parts of the page that only `prune` has: fates, weights, splits, evidence, history.
pub(crate) fn pruning(
    pair: &Pair<'_>,
    pruned: &Pruned,
    seen: Seen,
    history: Option<History>,
    report: &mut page::Report,
) {
    let [original, smaller] = pair.files.map(ModelFile::ensemble);
    let cut = match seen {
        Seen::Decisions(Some(cut)) => original.cut_at(cut),
        _ => None,
    };
    let original = cut.as_ref().unwrap_or(original);
    // The page shows the model within the domain of the claim.
    let narrowed = original.within(&pruned.domain);
    let original = narrowed.as_deref().unwrap_or(original);
    let crossings = match seen {
        Seen::Decisions(_) => Crossings::find(original, pair.rows, pruned.band, pruned.relevant.as_ref()),
        // A pair of inputs that are decided differently shows nothing about scores.
        Seen::Scores => Crossings::default(),
    };
    let [before, after] = [original, smaller].map(SplitTable::of);
    report.features = before.features_beside(&after, &crossings, original);
    report.trees = pruned
        .fates
        .iter()
        .enumerate()
        .map(|(index, fate)| tree_fate(original, TreeId::new(index), fate, &before, &after))
        .collect();
    report.spreads = spreads(original, smaller, &pruned.fates);
    report.evidence = crossings.evidence(original, &pruned.fates);
    report.run.history = history.map(|history| history.finish(pruned)).unwrap_or_default();
    let constants = smaller.trees().iter().filter(|tree| tree.leaf_count() == 1).count();
    if constants > original.trees().iter().filter(|tree| tree.leaf_count() == 1).count() {
        report.notes.push(format!(
            "The pruned file holds {}: a constant for which its format has no other place.",
            crate::text::counted(constants as u64, "tree of a single leaf", "trees of a single leaf")
        ));
    }
}

fn tree_fate(
    original: &Ensemble,
    tree: TreeId,
    fate: &Fate,
    before: &SplitTable,
    after: &SplitTable,
) -> page::TreeFate {
    match *fate {
        Fate::Kept => page::TreeFate::Kept,
        Fate::Scaled(_) | Fate::Rewritten(_) => page::TreeFate::Reweighted,
        Fate::Merged { into, .. } if before.same_splits(original.tree(tree), original.tree(into)) => {
            page::TreeFate::Merged(into.index())
        }
        Fate::Merged { into, .. } => page::TreeFate::Absorbed(into.index()),
        Fate::Constant => page::TreeFate::Constant,
        Fate::Dropped if after.holds_none_of(original.tree(tree)) => page::TreeFate::Irrelevant,
        Fate::Dropped => page::TreeFate::Eliminated,
    }
}

/// The largest change that each tree makes to a score, before and after. The pruned file has the
/// kept trees in their old order; if their number does not match (some formats add trees), the
/// tree's weight is used instead.
fn spreads(original: &Ensemble, smaller: &Ensemble, fates: &[Fate]) -> Vec<page::Spread> {
    let kept = |fate: &Fate| matches!(fate, Fate::Kept | Fate::Scaled(_) | Fate::Rewritten(_));
    let stay = fates.iter().filter(|fate| kept(fate)).count();
    let grown: Vec<f64> = smaller
        .trees()
        .iter()
        .filter(|tree| tree.leaf_count() > 1)
        .map(|tree| spread(smaller, tree))
        .collect();
    let mut own = (grown.len() == stay).then(|| grown.into_iter());
    let one = |(tree, fate): (&Tree, &Fate)| {
        let before = spread(original, tree);
        let after = match fate {
            Fate::Kept | Fate::Scaled(_) | Fate::Rewritten(_) => {
                let weight = match *fate {
                    Fate::Scaled(weight) | Fate::Rewritten(weight) => weight,
                    _ => 1.0,
                };
                own.as_mut().and_then(Iterator::next).unwrap_or(before * weight)
            }
            _ => 0.0,
        };
        page::Spread { before, after }
    };
    original.trees().iter().zip(fates).map(one).collect()
}

/// The largest difference between two leaves in one score, weight included.
fn spread(ensemble: &Ensemble, tree: &Tree) -> f64 {
    let width = match tree.output() {
        secateur_model::Output::Group(_) => 1,
        secateur_model::Output::All => ensemble.group_count(),
    };
    let column = |group: usize| {
        let values = || tree.leaf_values().iter().skip(group).step_by(width.max(1)).copied();
        values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
    };
    (0..width).map(column).filter(|spread| spread.is_finite()).fold(0.0, f64::max) * tree.weight().abs()
}

/// Rows for timing predictions: the user's, or invented ones if there are none.
fn timed_rows(ensemble: &Ensemble, rows: &[f64]) -> Vec<f64> {
    let width = ensemble.features().len();
    if rows.is_empty() {
        crossing::invented_rows(ensemble, TIMED_ROWS).concat()
    } else {
        rows[..rows.len().min(TIMED_ROWS * width)].to_vec()
    }
}

fn timing(ensemble: &Ensemble, rows: &[f64]) -> Option<page::Timing> {
    let count = rows.len() / ensemble.features().len().max(1);
    if count == 0 {
        return None;
    }
    let predictor = Predictor::new(ensemble);
    let (started, mut best) = (Instant::now(), f64::INFINITY);
    while best.is_infinite() || started.elapsed() < TIMED {
        let pass = Instant::now();
        std::hint::black_box(predictor.classes(rows).ok()?);
        best = best.min(pass.elapsed().as_secs_f64());
    }
    Some(page::Timing { seconds_per_row: best / count as f64, rows: count as u64 })
}
