//! Tests of pruning: against brute force, with limits, evidence and solvers that lie. They are one
//! binary, so that they are linked only once.

mod bound_mutations;
mod bounds;
mod brute_force;
mod cuts;
mod evidence;
mod fixtures;
mod limits;
mod memory;
mod scores;
mod smallest;
mod solvers;
mod unchecked;
mod weaker;
