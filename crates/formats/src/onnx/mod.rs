//! ONNX.

use std::io;

use secateur_model::Ensemble;

use crate::error::{EditError, FormatError, Place, Problem};
use crate::{Document, Edit};

/// A ONNX model file.
#[derive(Clone, Debug)]
pub struct File {
    ensemble: Ensemble,
}

impl Document for File {
    fn parse(_bytes: &[u8]) -> Result<Self, FormatError> {
        let what = "ONNX".to_owned();
        Err(FormatError::new(Place::File, Problem::Unsupported { what, advice: "it comes next" }))
    }

    fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    fn dialect(&self) -> String {
        String::new()
    }

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    fn write(&self, _out: &mut dyn io::Write) -> io::Result<()> {
        Ok(())
    }

    fn edit(&self, _edit: &Edit) -> Result<Self, EditError> {
        Ok(self.clone())
    }
}
