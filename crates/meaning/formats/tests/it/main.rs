//! Tests of every reader on the fixtures of its library and on broken files; one binary, so that
//! the tests are linked once.

mod catboost_fixtures;
mod catboost_malformed;
mod domain_files;
mod lightgbm_fixtures;
mod lightgbm_malformed;
mod onnx_fixtures;
mod onnx_hazards;
mod onnx_values;
mod sklearn_fixtures;
mod xgboost_fixtures;
mod xgboost_malformed;
