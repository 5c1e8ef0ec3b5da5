//! Judges the inputs that the search found, with the libraries' own arithmetic.

use std::sync::Mutex;

use secateur_model::{CellId, ClassId, Ensemble, Exact, LeafId, Predictor};

use super::{Comparison, Counterexample, Lead};

/// Decides with the libraries' own arithmetic whether an input is a counterexample.
pub(super) struct Judge<'a> {
    comparison: &'a Comparison<'a>,
    first: Predictor<'a>,
    second: Predictor<'a>,
    /// The lead that the second model's decision rule itself needs; set only if its decisions vary
    /// with last bits.
    gap: Option<f64>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(comparison: &'a Comparison<'a>) -> Self {
        let (first, second) = (Predictor::new(comparison.first()), Predictor::new(comparison.second()));
        let second_model = comparison.second();
        let gap = if second_model.decisions_vary() { second_model.decision_gap() } else { None };
        Self { comparison, first, second, gap }
    }

    pub(super) fn refuted_by(&self, row: &[f64]) -> Option<Counterexample> {
        let domain = self.comparison.layout.grid().intake();
        // Columns that no split uses count too: a counterexample is an input of the claim.
        let models = self.comparison.models();
        if row.iter().any(|&value| domain.read(value).is_none())
            || !models.iter().all(|model| model.accepts(row))
        {
            return None;
        }
        // Columns of labels accept only their labels.
        self.comparison.layout.cells_of(row)?;
        let first = self.comparison.first();
        let winner = exact_class(first, row);
        if let Some(band) = self.comparison.band.map(Exact::finite) {
            let read: Vec<f64> =
                row.iter().map(|&value| first.intake().read(value)).collect::<Option<_>>()?;
            let sums = first.exact_sums(first.leaves(&read));
            let leads = |other: ClassId| {
                let lead = Lead::of(first, winner, other);
                lead.total(&sums) > &band * &lead.divisor
            };
            let classes = (0..self.comparison.classes.len() as u32).map(ClassId);
            if !classes.filter(|&class| class != winner).all(leads) {
                return None;
            }
        }
        let found = self.counterexample(row.to_vec(), winner);
        let differ = self.comparison.classes[found.classes[0].index()] != found.classes[1];
        differ.then_some(found)
    }

    /// Is a solution of a system a counterexample? If only last bits that vary could make a
    /// difference, its input is noted in `open`.
    pub(super) fn differs(&self, cells: &[CellId], open: &Mutex<Option<Vec<f64>>>) -> bool {
        let grid = self.comparison.layout.grid();
        if !grid.scores_hold(cells) {
            return false;
        }
        if self.comparison.band.is_none() {
            return true;
        }
        let row = grid.witness(cells);
        let [first, second] = self.library_classes(&row);
        let model = self.comparison.second();
        let certain = || self.gap.is_some_and(|gap| certain_in_any_order(model, &row, gap));
        // Within the gap of a cut it is unknown on which side of the caller's threshold the
        // probability is.
        let either_side = || model.cut().is_some_and(|cut| cut.gap > 0.0) && !certain();
        if self.comparison.classes[first.index()] != second && !either_side() {
            return true;
        }
        if model.decisions_vary() && !certain() {
            open.lock().expect("no thread panics while it holds the lock").get_or_insert(row);
        }
        false
    }

    fn library_classes(&self, row: &[f64]) -> [ClassId; 2] {
        let class = |predictor: &Predictor<'_>| {
            predictor.classes(row).expect("a witness is in the domain of both models")[0]
        };
        [class(&self.first), class(&self.second)]
    }

    pub(super) fn counterexample(&self, row: Vec<f64>, winner: ClassId) -> Counterexample {
        let library = self.library_classes(&row);
        let in_libraries = self.comparison.classes[library[0].index()] != library[1];
        let scores = [&self.first, &self.second]
            .map(|predictor| predictor.raw_scores(&row).expect("a witness is in the domain of both models"));
        let classes = match self.comparison.band {
            Some(_) => library,
            None => [winner, exact_class(self.comparison.second(), &row)],
        };
        Counterexample { row, classes, scores, in_libraries }
    }
}

/// The class of a row in exact arithmetic; ties follow the library's rule.
pub fn exact_class(model: &Ensemble, row: &[f64]) -> ClassId {
    let read: Vec<f64> = row
        .iter()
        .map(|&value| model.intake().read(value).expect("the row is in the model's domain"))
        .collect();
    let sums = model.exact_sums(model.leaves(&read));
    let beats = |winner: ClassId, other: ClassId| {
        let lead = Lead::of(model, winner, other);
        match lead.total(&sums).signum() {
            0 => lead.wins_ties,
            sign => sign > 0,
        }
    };
    let classes = || model.classes().ids();
    classes()
        .find(|&winner| classes().all(|other| other == winner || beats(winner, other)))
        .expect("leads order the classes")
}

/// Is the decision on this row the same for every order in which the library may add?
fn certain_in_any_order(model: &Ensemble, row: &[f64], gap: f64) -> bool {
    let read: Vec<f64> = row
        .iter()
        .map(|&value| model.intake().read(value).expect("the row is in the model's domain"))
        .collect();
    let leaves: Vec<LeafId> = model.leaves(&read).collect();
    let Some(margin) = model.certain_margin_at(&leaves, gap).map(Exact::finite) else { return false };
    let sums = model.exact_sums(leaves);
    let winner = exact_class(model, row);
    let others = model.classes().ids().filter(|&other| other != winner);
    others.into_iter().all(|other| {
        let lead = Lead::of(model, winner, other);
        lead.total(&sums) > &margin * &lead.divisor
    })
}
