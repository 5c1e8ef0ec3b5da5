//! A small model and a table for trying things: which loans will be repaid? Drawn and trained by
//! `demo/make.py`.

/// A LightGBM model of 60 trees, as its library saved it.
pub const MODEL: &[u8] = include_bytes!("../demo/loans.txt");
/// 200 rows with a header; the column `repaid` is the class.
pub const TABLE: &[u8] = include_bytes!("../demo/loans.csv");
