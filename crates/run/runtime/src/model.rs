//! A packed model that is ready to run.

use alloc::string::String;
use alloc::vec::Vec;

use crate::batch;
use crate::bytes::Checksum;
use crate::cover;
use crate::decide;
use crate::error::{LoadError, PredictError};
use crate::file::{self, File, Label};
use crate::kernel::Pool;
use crate::large::Large;
use crate::meaning::{Decision, Labels, Link, Number, Value};
use crate::path::Path;
use crate::plan::Plan;
use crate::rows::{AnyRows, Float, Rows};
use crate::scalar;
#[cfg(target_arch = "x86_64")]
use crate::single::Single;
use crate::sliced::{Ranks, Sliced};
#[cfg(feature = "std")]
use crate::sparse::SparseRows;

/// A packed model.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) file: File,
    pub(crate) plan: Plan,
    /// The thresholds of each feature of the plan, as tables for lookups by whole blocks.
    pub(crate) ranks: Vec<Ranks>,
    /// Made when a block is evaluated for the first time; rows that come one at a time do not need
    /// it.
    sliced: Made<Sliced>,
    /// Made when a tree is walked for the first time; `None` if this model cannot have it.
    large: Made<Option<Large>>,
    pub(crate) pool: Pool,
    /// Made when a row comes alone for the first time; `None` if this model cannot have it.
    #[cfg(target_arch = "x86_64")]
    single: Made<Option<Single>>,
}

/// A layout that is made on first use. Without `std`, which has the lock that several threads need
/// for this, it is made at once.
#[derive(Clone, Debug)]
struct Made<T> {
    #[cfg(feature = "std")]
    made: std::sync::OnceLock<T>,
    #[cfg(not(feature = "std"))]
    made: T,
}

impl<T> Made<T> {
    #[cfg(feature = "std")]
    fn new(_: impl FnOnce() -> T) -> Self {
        Self { made: std::sync::OnceLock::new() }
    }

    #[cfg(feature = "std")]
    fn get(&self, make: impl FnOnce() -> T) -> &T {
        self.made.get_or_init(make)
    }

    #[cfg(not(feature = "std"))]
    fn new(make: impl FnOnce() -> T) -> Self {
        Self { made: make() }
    }

    #[cfg(not(feature = "std"))]
    fn get(&self, _: impl FnOnce() -> T) -> &T {
        &self.made
    }
}

impl Model {
    /// Reads a packed file. Whatever the bytes are, this ends with a model or an error, and its
    /// memory is proportional to their number. Later calls fail only for rows or questions that the
    /// model does not support.
    pub fn load(bytes: &[u8]) -> Result<Self, LoadError> {
        let file = file::read(bytes)?;
        Self::of(file)
    }

    pub(crate) fn of(file: File) -> Result<Self, LoadError> {
        let plan = Plan::new(&file)?;
        let wide = file.domain.number == Number::F64;
        let ranks: Vec<Ranks> =
            plan.features.iter().map(|feature| Ranks::new(&feature.thresholds, wide)).collect();
        Ok(Self {
            sliced: Made::new(|| Sliced::new(&plan, file.intercepts.len())),
            pool: Pool::default(),
            large: Made::new(|| Large::new(&file, &plan)),
            #[cfg(target_arch = "x86_64")]
            single: Made::new(|| Single::new(&plan, &ranks, file.domain.zero_window)),
            file,
            plan,
            ranks,
        })
    }

    pub(crate) fn sliced(&self) -> &Sliced {
        self.sliced.get(|| Sliced::new(&self.plan, self.outputs()))
    }

    /// The layout for trees that are walked, if this model can have it.
    pub(crate) fn large(&self) -> Option<&Large> {
        self.large.get(|| Large::new(&self.file, &self.plan)).as_ref()
    }

    /// The layout for one row at a time, if this model can have it.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn single(&self) -> Option<&Single> {
        self.single.get(|| Single::new(&self.plan, &self.ranks, self.file.domain.zero_window)).as_ref()
    }

    /// The number of input columns.
    pub fn features(&self) -> usize {
        self.file.features as usize
    }

    /// The names of the columns, if the source has them.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.file.names.as_deref()
    }

    /// The labels of a column's categories in the order of their codes, if the source has them.
    pub fn category_labels(&self, feature: usize) -> Option<Vec<String>> {
        let found = self.file.categories.iter().find(|known| known.feature as usize == feature)?;
        Some(found.labels.as_ref()?.iter().map(Label::words).collect())
    }

    /// Are the categories of a column texts (or hashes of texts) instead of numbers? `None` for a
    /// column without categories.
    pub fn has_text_categories(&self, feature: usize) -> Option<bool> {
        let found = self.file.categories.iter().find(|known| known.feature as usize == feature)?;
        let is_text = |label: &Label| matches!(label, Label::Text(_) | Label::Hash(_));
        Some(found.labels.as_ref().is_some_and(|labels| labels.iter().any(is_text)))
    }

    /// The number of scores of a row.
    pub fn outputs(&self) -> usize {
        self.file.intercepts.len()
    }

    /// The number of trees.
    pub fn trees(&self) -> usize {
        self.file.trees.len()
    }

    /// The labels of the classes.
    pub fn labels(&self) -> &Labels {
        &self.file.labels
    }

    /// The number of classes to decide between; the number of labels if a row may get several; 0
    /// for a regressor or ranker. A row has this number of probabilities.
    pub fn class_count(&self) -> usize {
        match self.file.decision {
            Decision::Scores(Value::Above { .. }) => self.outputs(),
            _ => self.file.labels.len(),
        }
    }

    /// How scores become a class.
    pub fn decision(&self) -> Decision {
        self.file.decision
    }

    /// How scores become probabilities.
    pub fn link(&self) -> Link {
        self.file.link
    }

    /// The type that inputs are rounded to before any comparison.
    pub fn input(&self) -> Number {
        self.file.domain.number
    }

    /// The type of the sums.
    pub fn number(&self) -> Number {
        self.file.sums.number
    }

    /// The library of the source: `xgboost`, `lightgbm`, `catboost`, `scikit-learn` or `onnx`.
    pub fn framework(&self) -> &str {
        &self.file.framework
    }

    /// The library, the version and the encoding of the source in a few words.
    pub fn dialect(&self) -> &str {
        &self.file.dialect
    }

    /// The digest of the model that was packed, as certificates contain it.
    pub fn source_digest(&self) -> &[u8; 32] {
        &self.file.digest
    }

    /// The raw scores of each row, one row after the other, with the bits of the model's own
    /// library (f32 sums are widened). `scores` has [`outputs`](Self::outputs) numbers for each
    /// row.
    pub fn raw_scores<T: Float>(&self, rows: Rows<'_, T>, scores: &mut [f64]) -> Result<(), PredictError> {
        self.raw_scores_on(Path::best(), rows, scores)
    }

    /// As [`raw_scores`](Self::raw_scores), on a path that the caller chooses.
    pub fn raw_scores_on<T: Float>(
        &self,
        path: Path,
        rows: Rows<'_, T>,
        scores: &mut [f64],
    ) -> Result<(), PredictError> {
        self.sums_on(path, rows, scores)?;
        if let Some((divisor, true)) = self.file.sums.average {
            self.divide(scores, divisor);
        }
        Ok(())
    }

    /// As [`raw_scores`](Self::raw_scores), by several threads and on a path that the caller
    /// chooses. The bits do not depend on the number of threads.
    #[cfg(feature = "std")]
    pub fn raw_scores_by_threads<T: Float>(
        &self,
        path: Path,
        rows: Rows<'_, T>,
        threads: usize,
        scores: &mut [f64],
    ) -> Result<(), PredictError> {
        self.check_size(rows.count(), rows.width(), scores)?;
        batch::by_threads(rows.count(), self.outputs(), threads, scores, |part, scores| {
            batch::sums(self, path, T::any(rows.part(part)), scores)
        })?;
        if let Some((divisor, true)) = self.file.sums.average {
            self.divide(scores, divisor);
        }
        Ok(())
    }

    /// As [`raw_scores_by_threads`](Self::raw_scores_by_threads), of sparse rows. Most models work
    /// on the values that are present; the others get a few rows at a time with all values.
    #[cfg(feature = "std")]
    pub fn raw_scores_of_sparse<T: Float>(
        &self,
        path: Path,
        rows: SparseRows<'_, T>,
        threads: usize,
        scores: &mut [f64],
    ) -> Result<(), PredictError> {
        self.check_size(rows.count(), rows.width(), scores)?;
        batch::by_threads(rows.count(), self.outputs(), threads, scores, |part, scores| {
            batch::sparse_sums(self, path, &rows.part(part), scores)
        })?;
        if let Some((divisor, true)) = self.file.sums.average {
            self.divide(scores, divisor);
        }
        Ok(())
    }

    /// The position of each row's class in [`labels`](Self::labels).
    pub fn classes<T: Float>(&self, rows: Rows<'_, T>, classes: &mut [u32]) -> Result<(), PredictError> {
        if classes.len() != rows.count() {
            return Err(PredictError::Output { found: classes.len(), expected: rows.count() });
        }
        let scores = self.decided(rows)?;
        for (class, scores) in classes.iter_mut().zip(scores.chunks(self.outputs())) {
            *class = decide::class(self.file.decision, scores)? as u32;
        }
        Ok(())
    }

    /// What a regressor's or ranker's own `predict` returns for each row,
    /// [`outputs`](Self::outputs) numbers each. If a row may get several labels, the number is 1
    /// for each label that it gets, else 0. Values have the library's bits if
    /// [`Value::is_exact`](crate::Value::is_exact) says so; the others end in the exponential
    /// function, whose last bits differ between machines.
    pub fn values<T: Float>(&self, rows: Rows<'_, T>, out: &mut [f64]) -> Result<(), PredictError> {
        self.sums_on(Path::best(), rows, out)?;
        if let Some((divisor, _)) = self.file.sums.average {
            self.divide(out, divisor);
        }
        decide::values(self.file.decision, self.file.sums.number, out)
    }

    /// As [`values`](Self::values), for rows whose raw scores are known.
    pub fn values_of(&self, scores: &[f64], out: &mut [f64]) -> Result<(), PredictError> {
        if out.len() != scores.len() {
            return Err(PredictError::Output { found: out.len(), expected: scores.len() });
        }
        out.copy_from_slice(scores);
        if let Some((divisor, false)) = self.file.sums.average {
            self.divide(out, divisor);
        }
        decide::values(self.file.decision, self.file.sums.number, out)
    }

    /// The probability of each class of each row (of each label if a row may get several), one row
    /// after the other. They are the library's own up to the last bits of the exponential function,
    /// which differ between machines.
    pub fn probabilities<T: Float>(&self, rows: Rows<'_, T>, out: &mut [f64]) -> Result<(), PredictError> {
        let classes = self.class_count();
        let expected = rows.count() * classes;
        if out.len() != expected {
            return Err(PredictError::Output { found: out.len(), expected });
        }
        if self.file.link == Link::None {
            return Err(PredictError::NoProbabilities);
        }
        let scores = self.decided(rows)?;
        for (out, scores) in out.chunks_mut(classes.max(1)).zip(scores.chunks(self.outputs())) {
            decide::probabilities(self.file.link, scores, out)?;
        }
        Ok(())
    }

    /// The class of each row whose raw scores are known, as a position in [`labels`](Self::labels).
    pub fn classes_of(&self, scores: &[f64], out: &mut [f64]) -> Result<(), PredictError> {
        let averaged = self.averaged(scores);
        for (out, scores) in out.iter_mut().zip(averaged.chunks(self.outputs())) {
            *out = decide::class(self.file.decision, scores)? as f64;
        }
        Ok(())
    }

    /// The probabilities of each row whose raw scores are known, one row after the other.
    pub fn probabilities_of(&self, scores: &[f64], out: &mut [f64]) -> Result<(), PredictError> {
        let averaged = self.averaged(scores);
        for (out, scores) in out.chunks_mut(self.class_count().max(1)).zip(averaged.chunks(self.outputs())) {
            decide::probabilities(self.file.link, scores, out)?;
        }
        Ok(())
    }

    /// Raw scores as the decision rule reads them: divided if the model averages for it.
    fn averaged(&self, scores: &[f64]) -> Vec<f64> {
        let mut scores = scores.to_vec();
        if let Some((divisor, false)) = self.file.sums.average {
            self.divide(&mut scores, divisor);
        }
        scores
    }

    /// The rows of the cover (see [`self_test`](Self::self_test)), one after the other.
    pub fn cover_rows(&self) -> Vec<f64> {
        self.cover_rows_watched(&mut |_| true).unwrap_or_default()
    }

    /// As [`cover_rows`](Self::cover_rows). `watch` is called from time to time with the share of
    /// the work that is done, from 0 to 1; if it returns false, this ends without rows.
    pub fn cover_rows_watched(&self, watch: &mut dyn FnMut(f64) -> bool) -> Option<Vec<f64>> {
        cover::rows(&self.file, watch)
    }

    /// Computes the scores of the cover's rows on each path that this machine has, and compares
    /// them with the bits that the exact predictor gave when the model was packed.
    pub fn self_test(&self) -> Result<SelfTest, PredictError> {
        self.self_test_on(&self.cover_rows(), &mut |_| true)?.ok_or(PredictError::Shape)
    }

    /// As [`self_test`](Self::self_test), on rows that [`cover_rows`](Self::cover_rows) returned.
    /// `watch` is called from time to time with the share of the work that is done, from 0 to 1; if
    /// it returns false, the test ends without a result.
    pub fn self_test_on(
        &self,
        cover: &[f64],
        watch: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<SelfTest>, PredictError> {
        let rows = Rows::row_major(cover, self.features().max(1))?;
        let available = Path::available();
        let total = (available.len() * rows.count()).max(1) as f64;
        let step = (WATCHED / self.file.nodes.len().max(1)).clamp(512, 1 << 13);
        let mut scores = alloc::vec![0.0; step.min(rows.count()) * self.outputs()];
        let mut paths = Vec::new();
        for (index, path) in available.into_iter().enumerate() {
            let mut hash = Checksum::new();
            for first in (0..rows.count()).step_by(step) {
                if !watch((index * rows.count() + first) as f64 / total) {
                    return Ok(None);
                }
                let part = rows.part(first..rows.count().min(first + step));
                let scores = &mut scores[..part.count() * self.outputs()];
                self.raw_scores_on(path, part, scores)?;
                scores.iter().for_each(|score| hash.word(score.to_bits()));
            }
            let fits = rows.count() as u64 == u64::from(self.file.cover_rows & !cover::AIMED)
                && hash.finish() == self.file.cover_hash;
            paths.push((path, fits));
        }
        Ok(Some(SelfTest { rows: rows.count(), paths }))
    }

    /// The sums of each row, divided as the decision rule needs them.
    fn decided<T: Float>(&self, rows: Rows<'_, T>) -> Result<Vec<f64>, PredictError> {
        let mut scores = alloc::vec![0.0; rows.count() * self.outputs()];
        self.sums_on(Path::best(), rows, &mut scores)?;
        if let Some((divisor, _)) = self.file.sums.average {
            self.divide(&mut scores, divisor);
        }
        Ok(scores)
    }

    fn divide(&self, scores: &mut [f64], divisor: f64) {
        match self.file.sums.number {
            Number::F32 => scores.iter_mut().for_each(|score| *score = f64::from((*score / divisor) as f32)),
            Number::F64 => scores.iter_mut().for_each(|score| *score /= divisor),
        }
    }

    fn check_size(&self, count: usize, width: usize, scores: &[f64]) -> Result<(), PredictError> {
        if width != self.features() {
            return Err(PredictError::Width { found: width, expected: self.features() });
        }
        let expected = count.saturating_mul(self.outputs());
        if scores.len() != expected {
            return Err(PredictError::Output { found: scores.len(), expected });
        }
        Ok(())
    }

    fn sums_on<T: Float>(
        &self,
        path: Path,
        rows: Rows<'_, T>,
        scores: &mut [f64],
    ) -> Result<(), PredictError> {
        self.check_size(rows.count(), rows.width(), scores)?;
        batch::sums(self, path, T::any(rows), scores)
    }

    pub(crate) fn scalar_sums(&self, rows: &AnyRows<'_>, scores: &mut [f64]) -> Result<(), PredictError> {
        // Most models have few columns, and one row is too little work for an allocation.
        let mut few = [0u8; 1024];
        let mut many = Vec::new();
        let bytes = match few.get_mut(..self.plan.columns.max(1)) {
            Some(few) => few,
            None => {
                many.resize(self.plan.columns, 0);
                &mut many[..]
            }
        };
        for (row, scores) in scores.chunks_mut(self.outputs()).enumerate() {
            scalar::bytes_of(&self.file, &self.plan, rows, row, bytes)?;
            scalar::add_up(&self.file, &self.plan, bytes, scores);
        }
        Ok(())
    }
}

/// About how many nodes the rows of a self-test visit between two calls of `watch`; a step is
/// always a number of whole blocks of rows.
const WATCHED: usize = 1 << 26;

/// What a self-test found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfTest {
    /// The number of rows of the cover.
    pub rows: usize,
    /// For each path, whether it gave the scores in the file.
    pub paths: Vec<(Path, bool)>,
}

impl SelfTest {
    /// Did every path give the scores in the file?
    pub fn passed(&self) -> bool {
        self.paths.iter().all(|(_, fits)| *fits)
    }
}
