//! Help with long searches: other threads, processes and machines answer parts of their questions.

pub use secateur_oracle::{Crew, JobError, Reply, Workers, WorkersGone, work};
