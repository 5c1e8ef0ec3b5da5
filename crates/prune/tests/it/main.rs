//! Pruning against brute force, with limits and evidence; one binary, so that the tests are linked once.

mod bound_mutations;
mod bounds;
mod brute_force;
mod cuts;
mod evidence;
mod fixtures;
mod limits;
mod memory;
mod scores;
mod solvers;
mod unchecked;
