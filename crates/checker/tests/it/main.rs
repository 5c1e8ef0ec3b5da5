//! The checker's tests, one module for each thing that it must accept or refuse; one binary, so
//! that they are linked once.

mod common;
mod corpus;
mod cuts;
mod domains;
mod hostile;
mod labels;
mod mutations;
mod round_trip;
mod rules;
mod scope;
mod scores;
mod shares;
