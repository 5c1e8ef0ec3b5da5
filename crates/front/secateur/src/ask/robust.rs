//! Does a row keep its class while its columns change a little, and how far may they change?
//!
//! Within given changes this is one question about the box of cells that such inputs are in. Without
//! them the largest such box is searched for: inputs of a cell are as far from the row as its nearest
//! one, so the radius is one of the finitely many distances of cells. A row found to be decided otherwise
//! rules out all radii above its own, a proved box all those below.

use std::cmp::Ordering;

use secateur_model::{Column, Domain, Exact, FeatureId, Group, GroupKind, gap};
use secateur_oracle::{Around, Held, Part};

use super::around::{Case, Pattern, Radius, fixed, why};
use super::{Answer, Asking, Refused};
use crate::error::Error;
use crate::verify::Conclusion;

/// Two quotients that differ by more than this part are told apart by their floating-point values,
/// which are exact to a few units of 2^-52.
const SURE: f64 = 1e-12;

/// How much a column may change: a number for each column, none for one that stays as it is.
type Changes = Vec<Option<f64>>;

impl Asking<'_> {
    pub(super) fn robust(
        &self,
        row: Option<usize>,
        within: &[(String, f64)],
        units: &[(String, f64)],
        share: Option<f64>,
        answer: &mut Answer,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.decides_a_class()?;
        if within.is_empty() == units.is_empty() {
            return Err(Refused::WithinOrUnits.into());
        }
        if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
            return Err(Refused::Share { share }.into());
        }
        let changes = self.changes(if within.is_empty() { units } else { within }, units.is_empty())?;
        let radius = within.is_empty();
        let rows = self.subjects(row)?;
        if radius {
            self.one_distance(&changes)?;
        }
        let domain = |row: &[f64]| match radius {
            true => self.as_missing(row),
            false => self.within_tables(&self.as_missing(row)?, row, &changes),
        };
        let mut nodes = 0;
        let mut cases: Vec<Case> = Vec::with_capacity(rows.len());
        let ended = self.over(&rows, &domain, &mut |pattern, at, row| {
            let mut case = self.case(at, row);
            let proof = match radius {
                true => self.radius(pattern, row, &changes, &mut case, &mut nodes)?,
                false => self.box_of(pattern, row, &changes, &mut case, &mut nodes)?,
            };
            case.certificate = proof;
            if rows.len() > 1
                && let Some(bytes) = case.certificate.take()
            {
                case.certificate = self.checked(bytes)?;
            }
            cases.push(case);
            Ok(())
        })?;
        for &(at, row) in &rows {
            if !cases.iter().any(|case| case.at == at) {
                let reason = ended.map(super::stopped);
                cases.push(Case { reason, ..self.case(at, row) });
            }
        }
        cases.sort_by_key(|case| case.at);
        answer.nodes = nodes;
        let given = if radius { units } else { within };
        answer.columns = given.iter().map(|(name, _)| self.column(name)).collect::<Result<_, _>>()?;
        Ok(self.told(cases, share, answer))
    }

    /// What the answers about rows say together; the certificate, if there is one row.
    fn told(&self, mut cases: Vec<Case>, share: Option<f64>, answer: &mut Answer) -> Option<Vec<u8>> {
        if let [case] = &mut cases[..] {
            answer.take(case);
            let proof = case.certificate.take();
            answer.cases = cases;
            return proof;
        }
        let count = |outcome| cases.iter().filter(|case| case.outcome == outcome).count() as f64;
        let needed = share.unwrap_or(1.0) * cases.len() as f64;
        let (proved, open) = (count(Conclusion::Proved), count(Conclusion::Open));
        answer.outcome = if proved >= needed {
            Conclusion::Proved
        } else if proved + open < needed {
            Conclusion::Refuted
        } else {
            Conclusion::Open
        };
        answer.reason = cases.iter().find_map(|case| case.reason);
        answer.ended = answer.reason.is_none();
        answer.cases = cases;
        None
    }

    /// The changes of the columns, by number.
    fn changes(&self, given: &[(String, f64)], zero: bool) -> Result<Changes, Error> {
        let mut changes: Changes = vec![None; self.width()];
        for (name, change) in given {
            let column = self.column(name)?;
            if !(change.is_finite() && (*change > 0.0 || zero && *change == 0.0)) {
                return Err(Refused::Change { column: name.clone(), change: *change }.into());
            }
            if changes[column.index()].replace(*change).is_some() {
                return Err(Refused::Twice { column: name.clone() }.into());
            }
        }
        Ok(changes)
    }

    /// A group of columns moves as one: its tuples are all as far from each other, or have no unit.
    fn one_distance(&self, units: &Changes) -> Result<(), Error> {
        for group in self.model.domain().groups() {
            let own: Vec<Option<f64>> = group.columns.iter().map(|column| units[column.index()]).collect();
            let alike = own.iter().all(|unit| *unit == own[0]);
            let table = matches!(group.kind, GroupKind::Table(_));
            if own.iter().any(Option::is_some) && (table || !alike) {
                let name = |column: &FeatureId| self.model.features().name(*column).into_owned();
                let columns = group.columns.iter().map(name).collect::<Vec<_>>().join(", ");
                return Err(Refused::GroupUnits { columns, table }.into());
            }
        }
        Ok(())
    }

    /// The domain with the tuples of groups that are within the changes, where those are neither all of the
    /// group's nor the row's own alone.
    fn within_tables(&self, domain: &Domain, row: &[f64], changes: &Changes) -> Result<Domain, Error> {
        let mut groups: Vec<Group> = domain.groups().to_vec();
        let mut changed = false;
        for group in &mut groups {
            let rows = group.rows();
            let near = |tuple: &&Vec<f64>| {
                group.columns.iter().zip(*tuple).all(|(column, &value)| {
                    let most = Exact::finite(changes[column.index()].unwrap_or(0.0));
                    gap(self.model.features(), row, *column, value).is_some_and(|gap| gap <= most)
                })
            };
            let kept: Vec<Vec<f64>> = rows.iter().filter(near).cloned().collect();
            if kept.len() > 1 && kept.len() < rows.len() {
                changed = true;
                *group = super::when::tabled(group, kept);
            }
        }
        if !changed {
            return Ok(domain.clone());
        }
        let columns: Vec<(FeatureId, Column)> =
            domain.columns().map(|(column, limits)| (column, limits.clone())).collect();
        let product = Domain::new(domain.missing(), columns, groups).map_err(Refused::from)?;
        Ok(product.with_wheres(domain.wheres().to_vec()))
    }

    /// One box: the inputs within the changes.
    fn box_of(
        &self,
        pattern: &Pattern<'_>,
        row: &[f64],
        changes: &Changes,
        case: &mut Case,
        nodes: &mut u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let around = pattern.around(row, None)?;
        let mut parts = fixed(&around);
        for (axis, part) in parts.iter_mut().enumerate() {
            let columns = pattern.of.held()[axis].columns();
            let within = |cell: usize| {
                let values = &around.spots(axis)[cell].values;
                columns.iter().zip(values).all(|(&column, &value)| {
                    let most = Exact::finite(changes[column.index()].unwrap_or(0.0));
                    gap(pattern.model.features(), row, column, value).is_some_and(|gap| gap <= most)
                })
            };
            *part = part_of(&around, pattern, axis, &within);
        }
        let allowed = [around.class()];
        let found = around.ask(&parts, &allowed, &[], &self.small(), true)?;
        *nodes += found.nodes;
        case.reason = why(&found.held);
        match found.held {
            Held::Holds => {
                case.outcome = Conclusion::Proved;
                case.inside = Some(around.domain(&parts).map_err(Refused::from)?);
            }
            Held::Fails(_) => {
                case.outcome = Conclusion::Refuted;
                let cells = found.cells.expect("what refutes a box lies in a cell");
                case.rows.push(self.row(nearer(&around, cells, &allowed)));
            }
            Held::Stopped(_) | Held::OrderOfAddition(_) => {}
        }
        Ok(found.certificate)
    }

    /// The greatest box of one radius.
    fn radius(
        &self,
        pattern: &Pattern<'_>,
        row: &[f64],
        units: &Changes,
        case: &mut Case,
        nodes: &mut u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let around = pattern.around(row, None)?;
        let allowed = [around.class()];
        let search = self.small();
        let levels = Levels::new(&around, pattern, units);
        let rank_of = |cells: &[u32]| -> usize {
            let own = cells.iter().enumerate().map(|(axis, &cell)| levels.ranks[axis][cell as usize]);
            own.max().unwrap_or(0)
        };
        let parts = |rank: usize| -> Vec<Part> {
            let part =
                |axis: usize| part_of(&around, pattern, axis, &|cell| levels.ranks[axis][cell] <= rank);
            (0..levels.ranks.len()).map(part).collect()
        };
        // The box of rank `low` is proved; that of rank `high` has a row that is decided otherwise, or there
        // is no such box.
        let (mut low, mut high) = (None, levels.distinct.len() + 1);
        let mut other: Option<Vec<u32>> = None;
        let mut proof = None;
        loop {
            let first = low.map_or(0, |low: usize| low + 1);
            if first >= high {
                break;
            }
            let rank = (first + high) / 2;
            let rank =
                if other.is_none() && high > levels.distinct.len() { high - 1 } else { rank.min(high - 1) };
            // The last box is written down at once.
            let found = around.ask(&parts(rank), &allowed, &[], &search, rank + 1 == high)?;
            *nodes += found.nodes;
            match (found.held, found.cells) {
                (Held::Holds, _) => {
                    low = Some(rank);
                    proof = found.certificate;
                }
                (Held::Fails(_), Some(cells)) => {
                    let cells = lowered(&around, cells, &allowed, &levels.ranks);
                    high = rank_of(&cells);
                    other = Some(cells);
                }
                (held, _) => {
                    case.reason = why(&held);
                    break;
                }
            }
        }
        let far = |rank: usize| rank.checked_sub(1).map_or([0.0; 2], |at| levels.distinct[at].bounds());
        if let Some(low) = low {
            if proof.is_none() {
                let last = self.last(&search);
                let found = around.ask(&parts(low), &allowed, &[], &last, true)?;
                *nodes += found.nodes;
                proof = found.certificate;
            }
            case.inside = Some(around.domain(&parts(low)).map_err(Refused::from)?);
            let next = low + 1;
            let at_least = if next > levels.distinct.len() { f64::INFINITY } else { far(next)[0] };
            let at_most = other.as_ref().map(|_| far(high)[1]);
            let exact = next == high;
            case.radius = Some(Radius { at_least, at_most, exact });
            if exact {
                case.outcome = Conclusion::Proved;
            }
        }
        if let Some(cells) = other {
            case.rows.push(self.row(around.input(&cells)));
        }
        Ok(proof)
    }
}

/// The distances of the cells from a row, in units of their columns.
struct Levels {
    /// The distances, ascending, each once.
    distinct: Vec<Level>,
    /// For each cell of each axis, how many distances are at most its own: 0 for the row's own cells.
    /// Cells that no change reaches have a number above all others.
    ranks: Vec<Vec<usize>>,
}

/// A distance: an exact number divided by a unit.
struct Level {
    gap: Exact,
    unit: f64,
    about: f64,
}

impl Levels {
    fn new(around: &Around<'_>, pattern: &Pattern<'_>, units: &Changes) -> Self {
        let mut ranks = Vec::new();
        let mut all: Vec<(Level, usize, usize)> = Vec::new();
        for (axis, held) in pattern.of.held().iter().enumerate() {
            let spots = around.spots(axis);
            ranks.push(vec![usize::MAX; spots.len()]);
            ranks[axis][around.home()[axis] as usize] = 0;
            // The columns of a group have one unit.
            let Some(unit) = units[held.columns()[0].index()] else { continue };
            for (cell, spot) in spots.iter().enumerate() {
                if let Some(gap) = spot.far.clone().filter(|_| cell as u32 != around.home()[axis]) {
                    let about = gap.to_f64() / unit;
                    all.push((Level { gap, unit, about }, axis, cell));
                }
            }
        }
        all.sort_by(|a, b| a.0.compared(&b.0));
        let mut distinct: Vec<Level> = Vec::new();
        for (level, axis, cell) in all {
            if distinct.last().is_none_or(|last| last.compared(&level) != Ordering::Equal) {
                distinct.push(level);
            }
            ranks[axis][cell] = distinct.len();
        }
        Self { distinct, ranks }
    }
}

impl Level {
    fn compared(&self, other: &Self) -> Ordering {
        if (self.about - other.about).abs() > SURE * self.about.max(other.about) {
            return self.about.total_cmp(&other.about);
        }
        (&self.gap * &Exact::finite(other.unit)).cmp(&(&other.gap * &Exact::finite(self.unit)))
    }

    /// The distance, rounded down and up.
    fn bounds(&self) -> [f64; 2] {
        let times = |about: f64| &Exact::finite(about) * &Exact::finite(self.unit);
        let (mut down, mut up) = (self.about, self.about);
        if !self.about.is_finite() {
            return [f64::MAX, f64::INFINITY];
        }
        while down > 0.0 && times(down) > self.gap {
            down = down.next_down();
        }
        while up.is_finite() && times(up) < self.gap {
            up = up.next_up();
        }
        [down, up]
    }
}

/// The cells of an axis that are within, around the row's own; whatever the domain allows, if all are.
fn part_of(around: &Around<'_>, pattern: &Pattern<'_>, axis: usize, within: &dyn Fn(usize) -> bool) -> Part {
    let home = around.home()[axis] as usize;
    let count = around.spots(axis).len();
    if pattern.of.held()[axis].extents().is_none() {
        let all = (0..count).all(|cell| cell == home || within(cell));
        return if all { Part::Free } else { Part::Row };
    }
    let low = (0..home).rev().take_while(|&cell| within(cell)).last().unwrap_or(home);
    let high = (home + 1..count).take_while(|&cell| within(cell)).last().unwrap_or(home);
    if (low, high) == (home, home) { Part::Row } else { Part::Cells(low as u32, high as u32 + 1) }
}

/// An input with another class and as few changes as can be had by taking them back one by one.
pub(super) fn nearer(
    around: &Around<'_>,
    mut cells: Vec<u32>,
    allowed: &[secateur_model::ClassId],
) -> Vec<f64> {
    for axis in 0..cells.len() {
        let before = std::mem::replace(&mut cells[axis], around.home()[axis]);
        if before != cells[axis] && !around.refutes(&cells, allowed) {
            cells[axis] = before;
        }
    }
    around.input(&cells)
}

/// Cells of another class none of whose ranks can be lowered by taking a single change back.
fn lowered(
    around: &Around<'_>,
    mut cells: Vec<u32>,
    allowed: &[secateur_model::ClassId],
    ranks: &[Vec<usize>],
) -> Vec<u32> {
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|&axis| std::cmp::Reverse(ranks[axis][cells[axis] as usize]));
    for axis in order {
        let before = std::mem::replace(&mut cells[axis], around.home()[axis]);
        if before != cells[axis] && !around.refutes(&cells, allowed) {
            cells[axis] = before;
        }
    }
    cells
}
