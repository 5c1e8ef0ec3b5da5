//! The search against brute force, with limits, checkpoints and workers. All tests are one binary,
//! so that they are linked once.

mod brute_force;
mod checkpoints;
mod comparisons;
mod crew;
mod difference;
mod long_searches;
mod records;
mod scores;
