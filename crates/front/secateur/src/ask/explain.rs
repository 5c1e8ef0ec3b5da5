//! Which columns of a row are enough to fix its class, whatever the others hold?
//!
//! Columns are freed as long as the class is proved to stay; what is left is a reason without a
//! superfluous column: for each of its columns an input of another class was found that differs from the
//! row in that column and in freed ones alone. Columns that change together are one.
//!
//! A smallest reason comes from these inputs. Each of them says that some column in which it differs
//! from the row has to be kept. So no reason has fewer columns than a smallest set that keeps one of
//! each; if that set is itself a reason, it is a smallest one, and otherwise there is one more such
//! input.

use secateur_model::{ClassId, FeatureId};
use secateur_oracle::{Around, Held, Options as Search, Part};

use super::around::{Case, Pattern, why};
use super::{Answer, Asking, Refused};
use crate::error::Error;
use crate::verify::Conclusion;

/// The most questions that the search for a smallest reason asks.
const MOST_QUESTIONS: usize = 400;
/// The most choices that are tried for one smallest set.
const MOST_CHOICES: usize = 200_000;

/// Why a row has its class.
#[derive(Clone, Debug)]
pub struct Because {
    /// The columns that are enough, one entry for those that change together.
    pub kept: Vec<Kept>,
    /// Without any one of them, an input of another class was found.
    pub minimal: bool,
    /// No reason has fewer entries.
    pub at_least: usize,
    /// The columns that may hold whatever the domain allows, among those that the model uses.
    pub free: usize,
}

/// Columns that a reason keeps.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The columns.
    pub columns: Vec<FeatureId>,
    /// The least and the greatest value that they may hold, for a column of numbers that may change.
    pub between: Option<[Option<f64>; 2]>,
}

/// The search for the reason of one row.
struct Reasons<'a> {
    around: &'a Around<'a>,
    allowed: [ClassId; 1],
    search: Search,
    /// Inputs of another class.
    others: Vec<Vec<u32>>,
    nodes: u64,
    stopped: Option<&'static str>,
}

impl Asking<'_> {
    pub(super) fn explain(
        &self,
        row: Option<usize>,
        smallest: bool,
        widen: bool,
        answer: &mut Answer,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.decides_a_class()?;
        let rows = self.subjects(row)?;
        let &[(at, row)] = &rows[..] else { return Err(Refused::OneRow { rows: rows.len() }.into()) };
        let mut case = self.case(at, row);
        let mut proof = None;
        let domain = |_: &[f64]| Ok(self.model.domain().clone());
        let ended = self.over(&rows, &domain, &mut |pattern, _, row| {
            proof = self.reason(pattern, row, smallest, widen, &mut case, &mut answer.nodes)?;
            Ok(())
        })?;
        if let Some(reason) = ended {
            case.reason = Some(super::stopped(reason));
        }
        answer.take(&case);
        answer.cases = vec![case];
        Ok(proof)
    }

    fn reason(
        &self,
        pattern: &Pattern<'_>,
        row: &[f64],
        smallest: bool,
        widen: bool,
        case: &mut Case,
        nodes: &mut u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let around = pattern.around(row, None)?;
        let mut own = Reasons {
            around: &around,
            allowed: [around.class()],
            search: self.small(),
            others: Vec::new(),
            nodes: 0,
            stopped: None,
        };
        let axes = around.home().len();
        let found = own.minimal(axes)?;
        let mut proof = None;
        if let Some((mut keeps, minimal)) = found {
            let mut at_least = usize::from(keeps.contains(&true));
            if smallest && minimal {
                at_least = own.smallest(&mut keeps)?;
            }
            let mut parts = own.parts(&keeps);
            if widen {
                own.widen(pattern, &keeps, &mut parts)?;
            }
            let last = self.last(&own.search);
            let written = around.ask(&parts, &own.allowed, &[], &last, true)?;
            own.nodes += written.nodes;
            if written.held == Held::Holds {
                case.outcome = Conclusion::Proved;
                proof = written.certificate;
                case.inside = Some(around.domain(&parts).map_err(Refused::from)?);
                let kept =
                    (0..axes).filter(|&axis| keeps[axis]).map(|axis| own.kept(pattern, axis, parts[axis]));
                let kept: Vec<Kept> = kept.collect();
                let free = keeps.iter().filter(|keep| !**keep).count();
                case.because = Some(Because { kept, minimal, at_least, free });
            }
        }
        case.reason = own.stopped;
        *nodes += own.nodes;
        Ok(proof)
    }
}

impl Reasons<'_> {
    fn parts(&self, keeps: &[bool]) -> Vec<Part> {
        keeps.iter().map(|&keep| if keep { Part::Row } else { Part::Free }).collect()
    }

    /// Is the class proved to stay in the box? An input of another class is remembered. `None` where that
    /// is unknown.
    fn holds(&mut self, parts: &[Part]) -> Result<Option<bool>, Error> {
        // An input of another class, moved into the box, often has another class there too.
        for other in &self.others {
            let moved: Vec<u32> = other
                .iter()
                .zip(parts)
                .enumerate()
                .map(|(axis, (&cell, part))| match *part {
                    Part::Row => self.around.home()[axis],
                    Part::Cells(low, high) => cell.clamp(low, high - 1),
                    Part::Free => cell,
                })
                .collect();
            if self.around.refutes(&moved, &self.allowed) {
                if moved != *other {
                    self.remember(moved);
                }
                return Ok(Some(false));
            }
        }
        let found = self.around.ask(parts, &self.allowed, &[], &self.search, false)?;
        self.nodes += found.nodes;
        match (&found.held, found.cells) {
            (Held::Holds, _) => Ok(Some(true)),
            (Held::Fails(_), Some(cells)) => {
                self.remember(cells);
                Ok(Some(false))
            }
            (held, _) => {
                self.stopped = why(held);
                Ok(None)
            }
        }
    }

    /// Takes back as many of the changes of an input of another class as can be, and keeps it.
    fn remember(&mut self, mut cells: Vec<u32>) {
        for axis in 0..cells.len() {
            let before = std::mem::replace(&mut cells[axis], self.around.home()[axis]);
            if before != cells[axis] && !self.around.refutes(&cells, &self.allowed) {
                cells[axis] = before;
            }
        }
        self.others.push(cells);
    }

    /// A reason without a superfluous column, and whether that is sure; `None` if nothing is proved.
    fn minimal(&mut self, axes: usize) -> Result<Option<(Vec<bool>, bool)>, Error> {
        let mut keeps = vec![true; axes];
        // A row is decided as it is; where last bits depend on more than the file, even that is open.
        if self.holds(&self.parts(&keeps))? != Some(true) {
            return Ok(None);
        }
        let mut minimal = true;
        // Columns with few values first: those with many are likely to matter.
        let mut open: Vec<usize> = (0..axes).collect();
        open.sort_by_key(|&axis| (self.around.spots(axis).len(), axis));
        // As many at once as went well before.
        let mut batch = 1;
        while !open.is_empty() {
            let count = batch.min(open.len());
            let tried = &open[..count];
            tried.iter().for_each(|&axis| keeps[axis] = false);
            match self.holds(&self.parts(&keeps))? {
                Some(true) => {
                    open.drain(..count);
                    batch = count * 2;
                }
                answer => {
                    tried.iter().for_each(|&axis| keeps[axis] = true);
                    if count == 1 {
                        open.remove(0);
                        minimal &= answer == Some(false);
                    }
                    batch = (count / 2).max(1);
                    if answer.is_none() && self.search.budget.over().is_some() {
                        return Ok(Some((keeps, false)));
                    }
                }
            }
        }
        Ok(Some((keeps, minimal)))
    }

    /// A reason with the fewest columns, if it is found within the limits; otherwise `keeps` stays.
    /// Returns how many columns every reason has at least.
    fn smallest(&mut self, keeps: &mut Vec<bool>) -> Result<usize, Error> {
        let mut least = usize::from(keeps.contains(&true));
        let mut asked = 0;
        while asked < MOST_QUESTIONS {
            let size = keeps.iter().filter(|keep| **keep).count();
            let home = self.around.home();
            let differs = |cells: &Vec<u32>| -> Vec<usize> {
                (0..cells.len()).filter(|&axis| cells[axis] != home[axis]).collect()
            };
            let conflicts: Vec<Vec<usize>> = self.others.iter().map(differs).collect();
            let Some(found) = hitting(&conflicts, home.len(), size) else { break };
            least = least.max(found.len());
            if found.len() >= size {
                break;
            }
            let mut tried = vec![false; home.len()];
            found.iter().for_each(|&axis| tried[axis] = true);
            // Where the set is no reason, it is asked again with the columns of each input that says so,
            // until it is one: such inputs have no column in common, and each demands one of its own.
            let mut answer = self.holds(&self.parts(&tried))?;
            if answer == Some(true) {
                *keeps = tried;
                break;
            }
            while answer == Some(false) && asked < MOST_QUESTIONS {
                let home = self.around.home();
                let last = self.others.last().expect("it was remembered just now");
                (0..last.len()).filter(|&axis| last[axis] != home[axis]).for_each(|axis| tried[axis] = true);
                asked += 1;
                answer = self.holds(&self.parts(&tried))?;
            }
            asked += 1;
            if answer.is_none() {
                break;
            }
        }
        Ok(least)
    }

    /// Lets the numbers of kept columns change, one column after the other, as far as the class stays.
    fn widen(&mut self, pattern: &Pattern<'_>, keeps: &[bool], parts: &mut [Part]) -> Result<(), Error> {
        for axis in (0..keeps.len()).filter(|&axis| keeps[axis]) {
            let Some(extents) = pattern.of.held()[axis].extents() else { continue };
            let home = self.around.home()[axis];
            if self.around.spots(axis)[home as usize].values[0].is_nan() {
                continue;
            }
            let up = |count: u32| Part::Cells(home, home + 1 + count);
            let above = self.furthest(axis, parts, extents.len() as u32 - home - 1, &up)?;
            let down = |count: u32| Part::Cells(home - count, home + 1 + above);
            let below = self.furthest(axis, parts, home, &down)?;
            parts[axis] = down(below);
        }
        Ok(())
    }

    /// The greatest number of cells, up to `most`, for which the class is proved to stay.
    fn furthest(
        &mut self,
        axis: usize,
        parts: &mut [Part],
        most: u32,
        part: &dyn Fn(u32) -> Part,
    ) -> Result<u32, Error> {
        let (mut sure, mut failed, mut next) = (0, most + 1, most);
        while sure + 1 < failed {
            parts[axis] = part(next);
            match self.holds(parts)? {
                Some(true) => sure = next,
                _ => failed = next,
            }
            next = sure + (failed - sure) / 2;
        }
        Ok(sure)
    }

    fn kept(&self, pattern: &Pattern<'_>, axis: usize, part: Part) -> Kept {
        let held = &pattern.of.held()[axis];
        let columns = held.columns().to_vec();
        let between = match (part, held.extents()) {
            (Part::Cells(low, high), Some(extents)) => {
                let least = (low > 0).then(|| extents[low as usize].0);
                let greatest = ((high as usize) < extents.len()).then(|| extents[high as usize - 1].1);
                Some([least, greatest])
            }
            _ => None,
        };
        Kept { columns, between }
    }
}

/// A smallest set that has an element of each list, of numbers below `count`; `None` if more choices than
/// allowed would have to be tried. A set of `most` elements need not be found: any larger answer means
/// that there is none with fewer.
fn hitting(lists: &[Vec<usize>], count: usize, most: usize) -> Option<Vec<usize>> {
    let mut best: Vec<usize> = (0..most).collect();
    let mut chosen = vec![false; count];
    let mut out = vec![false; count];
    let mut choices = 0;
    hit(lists, &mut chosen, &mut out, 0, &mut best, &mut choices).then_some(best)
}

/// Tries all choices for the list with the fewest elements left; `false` if there were too many.
fn hit(
    lists: &[Vec<usize>],
    chosen: &mut [bool],
    out: &mut [bool],
    size: usize,
    best: &mut Vec<usize>,
    choices: &mut usize,
) -> bool {
    *choices += 1;
    if *choices > MOST_CHOICES {
        return false;
    }
    let open = lists.iter().filter(|list| !list.iter().any(|&own| chosen[own]));
    let left = |list: &Vec<usize>| list.iter().filter(|own| !out[**own]).count();
    let mut open: Vec<(usize, &Vec<usize>)> = open.map(|list| (left(list), list)).collect();
    open.sort_by_key(|(left, _)| *left);
    // Lists without a common element need one element each.
    let mut seen = vec![false; chosen.len()];
    let mut apart = 0;
    for (_, list) in &open {
        if list.iter().all(|&own| out[own] || !seen[own]) {
            list.iter().for_each(|&own| seen[own] = true);
            apart += 1;
        }
    }
    if size + apart >= best.len() {
        return true;
    }
    let Some((_, list)) = open.first() else {
        *best = (0..chosen.len()).filter(|&own| chosen[own]).collect();
        return true;
    };
    let mut tried = Vec::new();
    let mut ended = true;
    for &own in list.iter() {
        if out[own] {
            continue;
        }
        chosen[own] = true;
        ended = hit(lists, chosen, out, size + 1, best, choices);
        chosen[own] = false;
        if !ended {
            break;
        }
        // The other choices are those without it.
        out[own] = true;
        tried.push(own);
    }
    tried.into_iter().for_each(|own| out[own] = false);
    ended
}
