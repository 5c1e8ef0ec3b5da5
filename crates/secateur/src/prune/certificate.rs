//! The proof of a pruned file as a certificate, for whoever trusts neither the pruner nor the oracle.
//!
//! It is about the file as it is written, read back from its bytes, and the independent checker has accepted
//! it before it is handed out.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use secateur_formats::ModelFile;
use secateur_oracle::Cancel;
use secateur_prune::{Certificate, CertifyError, Config, Evidence, Watch, certify};

/// How long the proof may take after a signal: what sends SIGTERM waits some seconds before it ends the process
/// itself (`docker stop` ten), and the model is to be written by then.
const GRACE: Duration = Duration::from_secs(5);
/// How often the clock and the switch of the run are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The certificate of two models; `None` where the time was too short for it.
pub(super) fn make(
    original: &ModelFile,
    pruned: &ModelFile,
    evidence: &Evidence,
    config: &Config,
    deadline: Option<Instant>,
    watch: &Watch,
) -> Result<Option<Certificate>> {
    let late = |deadline: Option<Instant>| deadline.is_some_and(|deadline| Instant::now() >= deadline);
    // After a signal the model counts, and the proof only as far as it comes by itself.
    if late(deadline) && !config.cancel.is_cancelled() {
        return Ok(None);
    }
    let cancel = Cancel::default();
    let (working, done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let ended = cancel.clone();
        // The end of the work closes the channel.
        scope.spawn(move || {
            let mut deadline = deadline;
            let mut told = false;
            while done.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if config.cancel.is_cancelled() && !told {
                    told = true;
                    deadline = Some(Instant::now() + GRACE);
                }
                if late(deadline) {
                    ended.cancel();
                }
            }
        });
        let _working = working;
        match certify(
            &original.ensemble().within(config.scope),
            pruned.ensemble(),
            Some(evidence),
            config.band,
            config.threads,
            &cancel,
            &watch.search,
        ) {
            Ok(certificate) => Ok(Some(certificate)),
            Err(CertifyError::Interrupted) => Ok(None),
            Err(error) => Err(error).context("no file was written"),
        }
    })
}
