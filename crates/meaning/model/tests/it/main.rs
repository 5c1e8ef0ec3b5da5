//! Tests of ensembles, domains and labels against brute force; one binary, so that the tests are
//! linked once.

mod category_labels;
mod domains;
mod doubles;
mod labels;
mod random_ensembles;
mod refusals;
mod saturation;
mod scored_domains;
