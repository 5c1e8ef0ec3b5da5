//! Which input nearest to a row is decided otherwise?
//!
//! An input of another class is found first, or proved not to exist. Then it is asked whether one that is
//! nearer is decided otherwise, until that is proved not to be: each answer is nearer than the one before,
//! and there are finitely many distances. The last proof says that the last answer is nearest.
//!
//! Inputs of a cell are decided alike, and the one that stands for a cell is its nearest, so that "nearest"
//! is meant of all inputs that the model accepts, not of those that the search tried.

use secateur_model::{ClassId, Exact, FeatureId, Near};
use secateur_oracle::{Around, Held, Part};

use super::around::{Case, Pattern, why};
use super::{Answer, Asking, Refused};
use crate::error::Error;
use crate::verify::Conclusion;

/// What may change, and how changes are weighed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The class that is looked for; any other than the row's without one.
    pub to: Option<String>,
    /// Columns that stay as they are.
    pub frozen: Vec<String>,
    /// Columns of numbers that do not fall.
    pub only_up: Vec<String>,
    /// Columns of numbers that do not rise.
    pub only_down: Vec<String>,
    /// The weights of columns. Without one, it is 1 over the range of the column's values in the table,
    /// or 1 if there is no range, for a category, and where changes are counted.
    pub weights: Vec<(String, f64)>,
    /// Changed columns are counted, instead of adding up how far each changes.
    pub count: bool,
}

/// The nearest input found that is decided otherwise.
#[derive(Clone, Debug)]
pub struct Nearest {
    /// How far it is from the row; `None` if no input is decided otherwise, which is proved.
    pub distance: Option<f64>,
    /// No input is nearer, proved.
    pub proved: bool,
    /// The weight of each column.
    pub weights: Vec<f64>,
}

impl Asking<'_> {
    pub(super) fn counterfactual(
        &self,
        row: Option<usize>,
        changes: &Changes,
        answer: &mut Answer,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.decides_a_class()?;
        let rows = self.subjects(row)?;
        let &[(at, values)] = &rows[..] else { return Err(Refused::OneRow { rows: rows.len() }.into()) };
        let weights = self.weights(changes)?;
        let mut case = self.case(at, values);
        let allowed: Vec<ClassId> = match &changes.to {
            None => vec![case.class],
            Some(name) => {
                let to = self.class(name)?;
                if to == case.class {
                    return Err(Refused::HasClass { row: at + 1, class: name.clone() }.into());
                }
                self.model.classes().ids().filter(|class| *class != to).collect()
            }
        };
        let mut proof = None;
        let domain = |row: &[f64]| self.as_missing(row);
        let ended = self.over(&rows, &domain, &mut |pattern, _, row| {
            let near = Near {
                row: row.iter().map(|value| value + 0.0).collect(),
                than: row.to_vec(),
                weights: weights.clone(),
                counted: changes.count,
            };
            proof = self.nearest(pattern, near, changes, &allowed, &mut case, &mut answer.nodes)?;
            Ok(())
        })?;
        if let Some(reason) = ended {
            case.reason = Some(super::stopped(reason));
        }
        answer.take(&case);
        answer.allowed = allowed;
        answer.cases = vec![case];
        Ok(proof)
    }

    fn nearest(
        &self,
        pattern: &Pattern<'_>,
        mut near: Near,
        changes: &Changes,
        allowed: &[ClassId],
        case: &mut Case,
        nodes: &mut u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let features = pattern.model.features();
        let of_row = near.clone();
        let measure = |column: FeatureId, value: f64| of_row.of_value(features, column, value);
        let around = pattern.around(&of_row.row, Some(&measure))?;
        let parts = self.parts_of(pattern, &around, changes)?;
        let search = self.small();
        let mut best: Option<Vec<u32>> = None;
        let mut proof = None;
        loop {
            let found = match &best {
                None => around.ask(&parts, allowed, &[], &search, true)?,
                Some(cells) => {
                    near.than = around.input(cells).into_iter().map(|value| value + 0.0).collect();
                    around.ask_near(&near, &parts, allowed, &search)?
                }
            };
            *nodes += found.nodes;
            case.reason = why(&found.held);
            match (found.held, found.cells) {
                (Held::Fails(_), Some(cells)) => best = Some(shortened(&around, cells, allowed)),
                (held, _) => {
                    if held == Held::Holds {
                        case.outcome = Conclusion::Proved;
                        case.inside = Some(around.domain(&parts).map_err(Refused::from)?);
                        proof = found.certificate;
                    }
                    break;
                }
            }
        }
        let distance = best.as_ref().map(|cells| total(&around, cells));
        let proved = case.outcome == Conclusion::Proved;
        if let Some(cells) = best {
            case.rows.push(self.row(around.input(&cells)));
        }
        if proved || distance.is_some() {
            let distance = distance.map(|distance| distance.to_f64());
            case.nearest = Some(Nearest { distance, proved, weights: near.weights });
        }
        Ok(proof)
    }

    /// What the columns of each axis may hold.
    fn parts_of(
        &self,
        pattern: &Pattern<'_>,
        around: &Around<'_>,
        changes: &Changes,
    ) -> Result<Vec<Part>, Error> {
        let columns = |names: &[String]| self.columns(names);
        let (frozen, up, down) =
            (columns(&changes.frozen)?, columns(&changes.only_up)?, columns(&changes.only_down)?);
        let mut parts = Vec::new();
        for (axis, held) in pattern.of.held().iter().enumerate() {
            let any = |list: &[FeatureId]| held.columns().iter().any(|column| list.contains(column));
            let home = around.home()[axis];
            parts.push(match held.extents() {
                _ if any(&frozen) => Part::Row,
                Some(_) if any(&up) && any(&down) => Part::Row,
                Some(extents) => {
                    let low = if any(&up) { home } else { 0 };
                    let high = if any(&down) { home + 1 } else { extents.len() as u32 };
                    Part::Cells(low, high)
                }
                // A column that is missing stays so.
                None if around.spots(axis).len() == 1 => Part::Row,
                None if any(&up) || any(&down) => {
                    let column = self.model.features().name(held.columns()[0]).into_owned();
                    return Err(Refused::NoOrder { column }.into());
                }
                None => Part::Free,
            });
        }
        Ok(parts)
    }

    fn weights(&self, changes: &Changes) -> Result<Vec<f64>, Error> {
        let width = self.width();
        let features = self.model.features();
        let mut weights: Vec<f64> = (0..width)
            .map(|column| {
                if changes.count || features.categories(FeatureId::new(column)).is_some() {
                    return 1.0;
                }
                let values =
                    || self.rows.iter().skip(column).step_by(width).filter(|value| value.is_finite());
                let least = values().fold(f64::INFINITY, |least, &value| least.min(value));
                let greatest = values().fold(f64::NEG_INFINITY, |greatest, &value| greatest.max(value));
                // Few digits keep the exact distances short.
                let weight = f64::from((1.0 / (greatest - least)) as f32);
                if weight.is_normal() && weight > 0.0 { weight } else { 1.0 }
            })
            .collect();
        let mut named = Vec::new();
        for (name, weight) in &changes.weights {
            let column = self.column(name)?;
            if !(weight.is_finite() && *weight >= 0.0) {
                return Err(Refused::Weight { column: name.clone(), weight: *weight }.into());
            }
            if named.contains(&column) {
                return Err(Refused::Twice { column: name.clone() }.into());
            }
            named.push(column);
            weights[column.index()] = weight + 0.0;
        }
        Ok(weights)
    }
}

/// How far the input of these cells is from the row.
fn total(around: &Around<'_>, cells: &[u32]) -> Exact {
    let far = |(axis, &cell): (usize, &u32)| around.spots(axis)[cell as usize].far.clone();
    cells.iter().enumerate().filter_map(far).sum()
}

/// Cells of another class that no single change back, and no smaller change of one axis, brings nearer.
fn shortened(around: &Around<'_>, mut cells: Vec<u32>, allowed: &[ClassId]) -> Vec<u32> {
    let far = |axis: usize, cell: u32| around.spots(axis)[cell as usize].far.clone();
    let home = around.home();
    let mut order: Vec<usize> = (0..cells.len()).filter(|&axis| cells[axis] != home[axis]).collect();
    // The most expensive changes are taken back first.
    order.sort_by(|&a, &b| far(b, cells[b]).cmp(&far(a, cells[a])));
    for &axis in &order {
        let before = std::mem::replace(&mut cells[axis], home[axis]);
        if !around.refutes(&cells, allowed) {
            cells[axis] = before;
        }
    }
    for axis in order {
        let own = far(axis, cells[axis]);
        let mut nearer: Vec<(Exact, u32)> = (0..around.spots(axis).len() as u32)
            .filter_map(|cell| Some((far(axis, cell)?, cell)))
            .filter(|(far, cell)| {
                let between =
                    (*cell).clamp(cells[axis].min(home[axis]), cells[axis].max(home[axis])) == *cell;
                between && own.as_ref().is_some_and(|own| far < own)
            })
            .collect();
        nearer.sort();
        for (_, cell) in nearer {
            let before = std::mem::replace(&mut cells[axis], cell);
            if around.refutes(&cells, allowed) {
                break;
            }
            cells[axis] = before;
        }
    }
    cells
}
