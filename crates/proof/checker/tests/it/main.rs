//! The checker's tests, one module for each subject. They are one binary, so that linking happens
//! only once.

mod around;
mod common;
mod corpus;
mod cuts;
mod domains;
mod hostile;
mod labels;
mod mutations;
mod one_model;
mod round_trip;
mod rules;
mod scope;
mod scores;
mod shares;
