//! Questions about the inputs around one row: does the library decide as on the row wherever some of
//! the columns hold other values?
//!
//! Rows of a table, and the many questions about one of them, differ only in the box of cells that they
//! ask about. So the model is laid out once ([`OneModel`]), and cut to each box
//! ([`Layout::cut`](crate::Layout)). The claim of a certificate is about the domain that holds the box's
//! inputs and no others; its grid has the cells of the box, in the same order.
//!
//! The input that stands for a cell is the one nearest to the row. A column that no split reads keeps
//! the row's value.

use num_bigint::BigInt;
use secateur_certificate::Statement;
use secateur_model::{
    CellId, CellValues, ClassId, Column, Domain, DomainError, Exact, FeatureId, Group, GroupKind, Near,
};

use crate::certify;
use crate::layout::Layout;
use crate::one::{AskError, Asked, Held, OneModel};
use crate::outline::CompareError;
use crate::solve::Options;
use crate::stop::StopReason;

/// The cells of a model's axes, with the values that they hold; the same for every row.
pub struct Surroundings<'a> {
    one: &'a OneModel<'a>,
    held: Vec<CellValues>,
    /// How many cells of each axis the search visits.
    sizes: Vec<u32>,
}

/// A row among the cells of a model.
pub struct Around<'a> {
    of: &'a Surroundings<'a>,
    row: Vec<f64>,
    class: ClassId,
    home: Vec<u32>,
    spots: Vec<Vec<Spot>>,
}

/// The input of a cell of one axis that is nearest to the row.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    /// The values of the axis's columns.
    pub values: Vec<f64>,
    /// How far they are from the row's; `None` is infinitely far.
    pub far: Option<Exact>,
}

/// What the columns of one axis may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The values of the row.
    Row,
    /// The numbers of the cells from the first to one before the last, which are not missing.
    Cells(u32, u32),
    /// Whatever the domain lets them hold.
    Free,
}

/// An answer about a box.
#[derive(Clone, Debug)]
pub struct Boxed {
    /// Does the library decide one of the classes in the whole box?
    pub held: Held,
    /// The cells of the input that refutes it.
    pub cells: Option<Vec<u32>>,
    /// Boxes visited.
    pub nodes: u64,
    /// The certificate, if it was asked for and the answer is [`Held::Holds`].
    pub certificate: Option<Vec<u8>>,
}

impl<'a> Surroundings<'a> {
    /// The surroundings of every row.
    pub fn new(one: &'a OneModel<'a>) -> Self {
        let (layout, features) = (one.layout(), one.model().features());
        let held =
            (0..layout.grid().axes().len()).map(|axis| layout.grid().cell_values(axis, features)).collect();
        Self { one, held, sizes: layout.axis_sizes() }
    }

    /// The model.
    pub fn one(&self) -> &'a OneModel<'a> {
        self.one
    }

    /// The values that the cells of each axis hold.
    pub fn held(&self) -> &[CellValues] {
        &self.held
    }

    /// How many cells of each axis the search visits.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }
}

impl<'a> Around<'a> {
    /// A row, with how far the values of a column are from its own (see
    /// [`CellValues::nearest`](secateur_model::CellValues)). `None` if the row is not an input of the
    /// model's domain, or has an infinite value; an error if the model decides no class.
    pub fn new(
        of: &'a Surroundings<'a>,
        row: &[f64],
        measure: &dyn Fn(FeatureId, f64) -> Option<Exact>,
    ) -> Result<Option<Self>, CompareError> {
        let model = of.one.model();
        if !model.decision().is_classifier() {
            return Err(CompareError::NoClasses { model: "given" });
        }
        let grid = of.one.layout().grid();
        let known = row.len() == model.features().len() && !row.iter().any(|value| value.is_infinite());
        let cells = if known && model.accepts(row) { grid.cells_of(row) } else { None };
        let (Some(cells), Some(home)) = (cells, of.one.layout().cells_of(row)) else { return Ok(None) };
        let class = of.one.predictor().classes(row).ok().and_then(|classes| classes.first().copied());
        let Some(class) = class else { return Ok(None) };
        let spots = of.held.iter().enumerate().map(|(axis, held)| {
            let nearest = held.nearest(row, Some(cells[axis]), measure).into_iter();
            let mut spots: Vec<Spot> =
                nearest.take(of.sizes[axis] as usize).map(|(values, far)| Spot { values, far }).collect();
            // A missing value whose cell is left out is in the cell that goes the same ways.
            let values = held.columns().iter().map(|column| row[column.index()]).collect();
            spots[home[axis].index()] = Spot { values, far: Some(Exact::zero()) };
            spots
        });
        let spots = spots.collect();
        Ok(Some(Self { of, row: row.to_vec(), class, home: home.iter().map(|cell| cell.0).collect(), spots }))
    }

    /// The row.
    pub fn row(&self) -> &[f64] {
        &self.row
    }

    /// The class that the library decides on the row.
    pub fn class(&self) -> ClassId {
        self.class
    }

    /// The cells of the row.
    pub fn home(&self) -> &[u32] {
        &self.home
    }

    /// The nearest input of each cell of an axis.
    pub fn spots(&self, axis: usize) -> &[Spot] {
        &self.spots[axis]
    }

    /// The values of the axes' cells that hold the values of the row, and the others' nearest ones.
    pub fn input(&self, cells: &[u32]) -> Vec<f64> {
        let mut row = self.row.clone();
        for (axis, &cell) in cells.iter().enumerate() {
            let columns = self.of.held[axis].columns();
            for (column, &value) in columns.iter().zip(&self.spots[axis][cell as usize].values) {
                row[column.index()] = value;
            }
        }
        row
    }

    /// Is this an input of the domain for which the library decides another class than these?
    pub fn refutes(&self, cells: &[u32], allowed: &[ClassId]) -> bool {
        let row = self.input(cells);
        let model = self.of.one.model();
        model.domain().scores_hold(&row)
            && self.of.one.predictor().classes(&row).is_ok_and(|classes| !allowed.contains(&classes[0]))
    }

    fn ranges(&self, parts: &[Part]) -> Vec<(u32, u32)> {
        let range = |(axis, part): (usize, &Part)| match *part {
            Part::Row => (self.home[axis], self.home[axis] + 1),
            Part::Cells(low, high) => (low, high),
            Part::Free => (0, self.of.sizes[axis]),
        };
        parts.iter().enumerate().map(range).collect()
    }

    /// The inputs of the box.
    pub fn domain(&self, parts: &[Part]) -> Result<Domain, DomainError> {
        let model = self.of.one.model();
        let domain = model.domain();
        let mut columns: Vec<(FeatureId, Column)> =
            domain.columns().map(|(column, limits)| (column, limits.clone())).collect();
        let mut groups: Vec<Group> = domain.groups().to_vec();
        for (axis, part) in parts.iter().enumerate() {
            let own = self.of.held[axis].columns();
            let limits = |column| domain.column(column).cloned();
            let plain = || Column { missing: domain.missing(), ..Column::default() };
            let set = |columns: &mut Vec<(FeatureId, Column)>, limits: Column| {
                columns.retain(|(column, _)| *column != own[0]);
                columns.push((own[0], limits));
            };
            match *part {
                Part::Free => {}
                Part::Row => {
                    let values: Vec<f64> = own.iter().map(|column| self.row[column.index()]).collect();
                    let group = domain.group_of(own[0]);
                    if group.is_none() && !values[0].is_nan() {
                        let fixed = Column {
                            missing: false,
                            values: Some(values),
                            ..limits(own[0]).unwrap_or(plain())
                        };
                        set(&mut columns, fixed);
                        continue;
                    }
                    columns.retain(|(column, _)| *column != own[0]);
                    let kind = GroupKind::Table(vec![values]);
                    let fixed = Group { columns: own.to_vec(), kind };
                    match group {
                        Some(group) => groups[group] = fixed,
                        None => groups.push(fixed),
                    }
                }
                Part::Cells(low, high) => {
                    let extents = self.of.held[axis].extents().expect("cells of numbers have extents");
                    let mut own = Column { missing: false, ..limits(own[0]).unwrap_or(plain()) };
                    let (least, greatest) = (extents[low as usize].0, extents[high as usize - 1].1);
                    if low > 0 {
                        own.min = Some(least);
                    }
                    if (high as usize) < extents.len() {
                        own.max = Some(greatest);
                    }
                    set(&mut columns, own);
                }
            }
        }
        let product = Domain::new(domain.missing(), columns, groups)?.with_wheres(domain.wheres().to_vec());
        Ok(if model.accepts_missing() { product } else { product.without_missing_values() })
    }

    /// Does the library decide one of these classes on every input of the box? With `write`, a proof is
    /// written. `starts` are cells to try first; those outside of the box are left out.
    pub fn ask(
        &self,
        parts: &[Part],
        allowed: &[ClassId],
        starts: &[Vec<u32>],
        options: &Options,
        write: bool,
    ) -> Result<Boxed, AskError> {
        let ranges = self.ranges(parts);
        match self.of.one.layout().cut(&ranges, None) {
            Some(cut) => self.ask_in(cut, parts, allowed, None, starts, options, write),
            None => self.lay_out(parts, allowed, options, write),
        }
    }

    /// The same on those inputs of the box alone that are nearer to the row than another row is, by the
    /// distances that this was made with. [`StopReason::Memory`] if some tree has too many leaves in the
    /// box.
    pub fn ask_near(
        &self,
        near: &Near,
        parts: &[Part],
        allowed: &[ClassId],
        options: &Options,
    ) -> Result<Boxed, AskError> {
        let model = self.of.one.model();
        let least = near.of_input(model.features(), model.domain(), &near.than);
        let least = least.expect("the other row misses what the row misses");
        let ranges = self.ranges(parts);
        let of_axis = |(axis, range): (usize, &(u32, u32))| -> Vec<Exact> {
            let spots = self.spots[axis][range.0 as usize..range.1 as usize].iter();
            let far = spots.map(|spot| spot.far.clone().filter(|far| *far < least));
            far.map(|far| far.unwrap_or_else(|| least.clone())).collect()
        };
        let costs: Vec<Vec<Exact>> = ranges.iter().enumerate().map(of_axis).collect();
        let all = costs.iter().flatten().chain([&least]).filter(|far| !far.is_zero());
        let exponent = all.map(Exact::exponent).min().unwrap_or(0);
        let units = |far: &Exact| far.scaled(exponent).expect("the exponent is the smallest of all");
        let costs: Vec<Vec<BigInt>> = costs.iter().map(|axis| axis.iter().map(units).collect()).collect();
        let Some(cut) = self.of.one.layout().cut(&ranges, Some(&costs)) else {
            let held = Held::Stopped(StopReason::Memory);
            return Ok(Boxed { held, cells: None, nodes: 0, certificate: None });
        };
        // The sum of distances has a unit of its own; in the layout it counts in that of all sums.
        let bound = Exact::new(BigInt::from(1) - units(&least), cut.exponent());
        let row = crate::Row { terms: vec![(cut.sums() - 1, -1)], bound, strict: false };
        self.ask_in(cut, parts, allowed, Some((near, row)), &[], options, true)
    }

    #[expect(clippy::too_many_arguments, reason = "the questions above, which have fewer")]
    fn ask_in(
        &self,
        cut: Layout,
        parts: &[Part],
        allowed: &[ClassId],
        near: Option<(&Near, crate::Row)>,
        starts: &[Vec<u32>],
        options: &Options,
        write: bool,
    ) -> Result<Boxed, AskError> {
        let (one, ranges) = (self.of.one, self.ranges(parts));
        let nearer_given = near.is_some();
        let (near, nearer) = near.unzip();
        let back = |cells: &[CellId]| -> Vec<u32> {
            cells.iter().zip(&ranges).map(|(cell, range)| cell.0 + range.0).collect()
        };
        let within = |start: &&Vec<u32>| {
            start.iter().zip(&ranges).all(|(cell, range)| range.0 <= *cell && *cell < range.1)
        };
        let place = |start: &Vec<u32>| {
            start.iter().zip(&ranges).map(|(cell, range)| CellId(cell - range.0)).collect::<Vec<_>>()
        };
        let starts = starts.iter().filter(within).map(place).collect();
        let row = |cells: &[CellId]| self.input(&back(cells));
        let asked = Asked { layout: &cut, row: &row, near: nearer };
        // Two rows, of which one is the distance, are what small boxes are for.
        let small_boxes = nearer_given && options.small_boxes;
        let options = Options { starts, small_boxes, crew: None, ..options.clone() };
        let recorder = if write {
            let statement = Statement::Class {
                allowed: allowed.to_vec(),
                cut: one.model().cut(),
                near: near.cloned().map(Box::new),
            };
            let domain = self.domain(parts).map_err(CompareError::from)?;
            Some(certify::begin(Vec::new(), &one.claim_of(statement, domain), &cut)?)
        } else {
            None
        };
        let options = match &recorder {
            Some(recorder) => certify::recorded(&options, recorder),
            None => options,
        };
        let (held, cells, nodes) = one.class_in(&asked, allowed, &options, |step| {
            recorder.iter().for_each(|recorder| recorder.begin(step));
        })?;
        drop(options);
        let certificate = match recorder.filter(|_| held == Held::Holds) {
            Some(recorder) => Some(certify::finish(recorder)?.finish(true)?),
            None => None,
        };
        Ok(Boxed { held, cells: cells.map(|cells| back(&cells)), nodes, certificate })
    }

    /// The same with a layout of its own, for models whose trees have too many leaves to be cut.
    fn lay_out(
        &self,
        parts: &[Part],
        allowed: &[ClassId],
        options: &Options,
        write: bool,
    ) -> Result<Boxed, AskError> {
        let domain = self.domain(parts).map_err(CompareError::from)?;
        let narrow = self.of.one.model().within(&domain).map_err(CompareError::from)?.into_owned();
        let one = match OneModel::new(&narrow, &options.budget) {
            Ok(one) => one,
            Err(CompareError::Stopped(reason)) => {
                let held = Held::Stopped(reason);
                return Ok(Boxed { held, cells: None, nodes: 0, certificate: None });
            }
            Err(error) => return Err(error.into()),
        };
        let options = Options { crew: None, starts: Vec::new(), ..options.clone() };
        let (held, nodes, writer) = one.class(allowed, &options, Vec::new())?;
        let cells = match &held {
            Held::Fails(row) => self.of.one.layout().cells_of(row),
            _ => None,
        };
        let certificate = match writer.filter(|_| write) {
            Some(writer) => Some(writer.finish(true)?),
            None => None,
        };
        let cells = cells.map(|cells| cells.iter().map(|cell| cell.0).collect());
        Ok(Boxed { held, cells, nodes, certificate })
    }
}
