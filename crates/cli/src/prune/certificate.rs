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

/// How long the proof may take after Ctrl-C.
const GRACE: Duration = Duration::from_secs(10);

/// The certificate of two models; `None` where the time was too short for it.
pub(super) fn make(
    original: &ModelFile,
    pruned: &ModelFile,
    evidence: &Evidence,
    config: &Config,
    deadline: Option<Instant>,
    watch: &Watch,
) -> Result<Option<Certificate>> {
    let deadline = if config.cancel.is_cancelled() { Some(Instant::now() + GRACE) } else { deadline };
    let cancel = Cancel::default();
    let (working, done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        if let Some(deadline) = deadline {
            let cancel = cancel.clone();
            // The end of the work closes the channel.
            scope.spawn(move || {
                let left = deadline.saturating_duration_since(Instant::now());
                if done.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                    cancel.cancel();
                }
            });
        }
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
