//! A model and its twin ([`Ensemble::twins`]): what does moving some columns do?
//!
//! How far scores move, and whether decisions change, are comparisons of the two
//! ([`ScoreComparison::of_twins`](crate::ScoreComparison::of_twins),
//! [`Outline::of_twins`](crate::Outline::of_twins)). Whether a score ever falls when a column rises
//! is asked here.

use std::io::{self, Write};
use std::sync::Mutex;

use secateur_certificate::{Claim, Digest, Effect, Statement, Step, Writer};
use secateur_model::{CellId, Ensemble, Exact, FeatureId, Pairing, Predictor, TwinError, twin_rows};

use crate::certify;
use crate::layout::Layout;
use crate::one::{self, AskError, Held};
use crate::outline::{self, CompareError};
use crate::solve::{Options, solve};
use crate::system::Row;

/// A model with its twin.
#[derive(Debug)]
pub struct Twins<'a> {
    read: &'a Ensemble,
    models: [Ensemble; 2],
    columns: Vec<FeatureId>,
}

impl<'a> Twins<'a> {
    /// The model and its twin for these columns, ascending.
    pub fn new(model: &'a Ensemble, columns: &[FeatureId], pairing: Pairing) -> Result<Self, TwinError> {
        Ok(Self { read: model, models: model.twins(columns, pairing)?, columns: columns.to_vec() })
    }

    /// The model and the twin, over the columns of the model and the copies of those that move.
    pub fn models(&self) -> [&Ensemble; 2] {
        [&self.models[0], &self.models[1]]
    }

    /// The columns that move.
    pub fn columns(&self) -> &[FeatureId] {
        &self.columns
    }

    /// The two rows of the model for which a row of the pair stands.
    pub fn rows(&self, row: &[f64]) -> [Vec<f64>; 2] {
        twin_rows(row, &self.columns)
    }

    /// A row of the pair that stands for this row of the model, unchanged.
    pub fn unmoved(&self, row: &[f64]) -> Vec<f64> {
        row.iter().copied().chain(self.columns.iter().map(|column| row[column.index()])).collect()
    }

    /// The claim of a certificate.
    pub(crate) fn claim(&self, effect: Effect) -> Claim {
        let own = Digest::of(self.read);
        let statement = Statement::Moves { columns: self.columns.clone(), effect };
        Claim { original: own, pruned: own, statement, domain: outline::inputs([self.read, self.read]) }
    }

    /// The certificate that a score never falls (never rises, where `falls`) bit for bit, because no
    /// tree's part of it does. Only the checker tells whether that is true.
    pub fn treewise(&self, output: u32, falls: bool) -> io::Result<Vec<u8>> {
        let claim = self.claim(Effect::Rises { output, falls, bits: true });
        Writer::new(Vec::new(), &claim)?.finish(true)
    }

    /// Does the exact score never fall (never rise, where `falls`) when the column rises? Writes the
    /// proof; there is a certificate only if the answer is [`Held::Holds`]. Two rows refute it if the
    /// score that the library computes falls, too; if it does not, [`Held::OrderOfAddition`] has the
    /// two rows.
    pub fn rises<W: Write + Send + 'static>(
        &self,
        output: u32,
        falls: bool,
        options: &Options,
        out: W,
    ) -> Result<(Held, u64, Option<Writer<W>>), AskError> {
        let models = self.models();
        let layout = Layout::of_twins(&models, &options.budget).map_err(CompareError::from)?;
        let claim = self.claim(Effect::Rises { output, falls, bits: false });
        let recorder = certify::begin(out, &claim, &layout)?;
        let options = certify::recorded(&Options { small_boxes: false, ..options.clone() }, &recorder);
        recorder.begin(&Step::ScoreSystem { output, below: !falls });
        let sign = if falls { -1 } else { 1 };
        let sum = |model: usize| layout.sum_of(model, output as usize);
        let terms = vec![(sum(0), sign), (sum(1), -sign)];
        let system = layout.system(Row { terms, bound: Exact::zero(), strict: true });
        let predictors = models.map(Predictor::new);
        let open = Mutex::new(None);
        let in_library = |cells: &[CellId]| {
            let row = layout.grid().witness(cells);
            let [before, after] = predictors
                .each_ref()
                .map(|own| own.decided_scores(&row).expect("a witness is an input of both")[output as usize]);
            let refuted = if falls { after > before } else { after < before };
            if !refuted {
                open.lock().expect("no thread panics while it holds the lock").get_or_insert(row);
            }
            refuted
        };
        let solved = solve(&system, &options, &in_library);
        drop(options);
        let held = one::held(&|cells| layout.grid().witness(cells), &solved, &open);
        if held != Held::Holds {
            return Ok((held, solved.nodes, None));
        }
        Ok((held, solved.nodes, Some(certify::finish(recorder)?)))
    }
}
