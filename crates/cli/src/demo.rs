//! x
use crate::arguments::{Demo, Talk};
use anyhow::Result;
pub(crate) fn run(_: &Demo, _: Talk) -> Result<()> {
    Ok(())
}
