//! Pruning to a given size by an order, without any proof: the baselines of the paper's comparison.
//!
//! A *member* is a tree, or one round of trees if each class has its own trees. On a row it votes
//! for the class that the model would decide for if all members gave the same sums. With the votes
//! `V_c` of all `T` members on a row of class `y`:
//! - **IC** (Lu et al. 2010): a correct vote against the majority counts `2 max V - V_y`, a correct
//!   vote with the majority counts the second largest `V`, and a wrong vote for `h` counts
//!   `V_y - V_h - max V`.
//! - **IMD** (Guo et al. 2018): a correct vote counts `-a ln |margin| - (1 - a) ln (V_y / T)` with
//!   the margin `(V_y - max of the others) / T` and `a = 0.2`; a wrong vote counts nothing. The
//!   count is large if few others vote alike and the row is close. A margin of zero counts as one
//!   vote. (PyPruning, which the paper uses, divides by the number of rows instead of `T` and takes
//!   the smallest sums first; the order here is the publication's.)
//! - **DREP** (Li et al. 2012, as in PyPruning): first the member with the fewest errors, then
//!   again and again the member that agrees least with the majority of those chosen.
//!
//! The chosen members keep their own weights. Nothing is proved here: decisions change.

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{ClassId, Decision, Ensemble, Output, TreeId};

use crate::config::Choice;
use crate::outcome::PruneError;

/// The weight `a` of the margin in IMD.
const MARGIN_SHARE: f64 = 0.2;

/// An order in which members are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Individual contribution (IC).
    Contribution,
    /// Individual margin and diversity (IMD).
    MarginDiversity,
    /// Diversity regularised (DREP).
    Diversity,
}

impl Choice for Order {
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("ic", Self::Contribution, "Individual contribution (Lu et al. 2010)"),
        ("imd", Self::MarginDiversity, "Individual margin and diversity (Guo et al. 2018)"),
        ("drep", Self::Diversity, "Diversity regularised (Li et al. 2012)"),
    ];
}

/// A model of a given size that may decide differently from the original.
#[derive(Debug)]
pub struct Unproved {
    /// The model file.
    pub file: ModelFile,
    /// The members that are kept, in the order in which they were chosen.
    pub chosen: Vec<usize>,
    /// How many members the original has.
    pub members: usize,
}

/// Keeps `size` members, chosen by `order` on rows of known classes. **Decisions change.**
///
/// `rows` holds the rows one after another, each with a value for every feature of the model.
pub fn prune_unproved(
    file: &ModelFile,
    rows: &[f64],
    classes: &[ClassId],
    order: Order,
    size: usize,
) -> Result<Unproved, PruneError> {
    let model = file.ensemble();
    let members = members(model);
    if size == 0 || size > members.len() {
        return Err(PruneError::Size { size, members: members.len() });
    }
    let votes = Votes::cast(model, &members, rows, classes)?;
    let chosen = votes.order(order, size);
    let mut trees: Vec<TreeId> = chosen.iter().flat_map(|&member| members[member].clone()).collect();
    trees.sort_unstable();
    let stretch = if shares_add_up(model) { members.len() as f64 / size as f64 } else { 1.0 };
    let keep = |tree| match stretch {
        1.0 => TreeEdit::Keep(tree),
        factor => TreeEdit::Scale { tree, factor },
    };
    let edit = Edit { trees: trees.into_iter().map(keep).collect(), intercepts: None };
    Ok(Unproved { file: file.edit(&edit)?, chosen, members: members.len() })
}

/// The trees of each member.
fn members(model: &Ensemble) -> Vec<Vec<TreeId>> {
    let mut rounds: Vec<Vec<TreeId>> = Vec::new();
    let mut seen = vec![0; model.group_count()];
    for (index, tree) in model.trees().iter().enumerate() {
        let round = match tree.output() {
            Output::All => rounds.len(),
            Output::Group(group) => {
                let count: &mut usize = &mut seen[group.index()];
                *count += 1;
                *count - 1
            }
        };
        if round >= rounds.len() {
            rounds.resize(round + 1, Vec::new());
        }
        rounds[round].push(TreeId::new(index));
    }
    rounds
}

/// Are the leaves shares of one vote, already divided in the file (ONNX forests)?
fn shares_add_up(model: &Ensemble) -> bool {
    matches!(model.decision(), Decision::Threshold { threshold, .. } if *threshold == 0.5)
        && model.accumulation().average.is_none()
}

/// The vote of every member on every row.
struct Votes<'a> {
    /// One class for each member, row after row.
    votes: Vec<u32>,
    members: usize,
    /// The number of votes for each class, row after row.
    counts: Vec<u32>,
    class_count: usize,
    classes: &'a [ClassId],
}

impl<'a> Votes<'a> {
    fn cast(
        model: &Ensemble,
        members: &[Vec<TreeId>],
        rows: &[f64],
        classes: &'a [ClassId],
    ) -> Result<Self, PruneError> {
        let width = model.features().len().max(1);
        if classes.is_empty() || rows.len() != classes.len() * width {
            return Err(PruneError::Rows { values: rows.len(), width, classes: classes.len() });
        }
        let class_count = model.classes().len();
        let mut votes = Vec::with_capacity(classes.len() * members.len());
        let mut counts = vec![0; classes.len() * class_count];
        let mut sums = vec![0.0; model.group_count()];
        for (index, row) in rows.chunks_exact(width).enumerate() {
            let read: Option<Vec<f64>> = row.iter().map(|&value| model.intake().read(value)).collect();
            let read = read.ok_or(PruneError::RefusedRow { row: index })?;
            let leaves: Vec<_> = model.leaves(&read).collect();
            for member in members {
                sums.fill(0.0);
                for &tree in member {
                    let own = model.tree(tree);
                    let values = own.leaf(leaves[tree.index()]);
                    match own.output() {
                        Output::Group(group) => sums[group.index()] += own.weight() * values[0],
                        Output::All => {
                            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += own.weight() * value);
                        }
                    }
                }
                let vote = vote(model, members.len() as f64, &sums);
                counts[index * class_count + vote as usize] += 1;
                votes.push(vote);
            }
        }
        Ok(Self { votes, members: members.len(), counts, class_count, classes })
    }

    fn order(&self, order: Order, size: usize) -> Vec<usize> {
        let score: fn(&[u32], usize, u32) -> f64 = match order {
            Order::Contribution => contribution,
            Order::MarginDiversity => margin_diversity,
            Order::Diversity => return self.least_agreement(size),
        };
        let mut scores = vec![0.0; self.members];
        for ((votes, counts), class) in self.rows() {
            for (score_of, &vote) in scores.iter_mut().zip(votes) {
                *score_of += score(counts, class.index(), vote);
            }
        }
        let mut members: Vec<usize> = (0..self.members).collect();
        members.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        members.truncate(size);
        members
    }

    fn rows(&self) -> impl Iterator<Item = ((&[u32], &[u32]), ClassId)> {
        let votes = self.votes.chunks_exact(self.members);
        votes.zip(self.counts.chunks_exact(self.class_count)).zip(self.classes.iter().copied())
    }

    fn least_agreement(&self, size: usize) -> Vec<usize> {
        let mut chosen = Vec::with_capacity(size);
        let mut left: Vec<usize> = (0..self.members).collect();
        // The votes of the chosen members, row after row; all zero before the first choice.
        let mut counts = vec![0u32; self.counts.len()];
        while chosen.len() < size {
            let mut cost = vec![0u64; self.members];
            for (((votes, _), class), own) in self.rows().zip(counts.chunks_exact(self.class_count)) {
                let majority = first_largest(own) as u32;
                for (cost, &vote) in cost.iter_mut().zip(votes) {
                    *cost += u64::from(if chosen.is_empty() { vote != class.0 } else { vote == majority });
                }
            }
            let (place, &member) = left
                .iter()
                .enumerate()
                .min_by_key(|&(_, &member)| (cost[member], member))
                .expect("there are at least as many members as are wanted");
            left.remove(place);
            chosen.push(member);
            for (votes, own) in
                self.votes.chunks_exact(self.members).zip(counts.chunks_exact_mut(self.class_count))
            {
                own[votes[member] as usize] += 1;
            }
        }
        chosen
    }
}

/// The class that the model would decide for if all members gave these sums.
fn vote(model: &Ensemble, members: f64, sums: &[f64]) -> u32 {
    let divisor = model.accumulation().divisor();
    let score = |group: usize| (model.intercepts()[group] + members * sums[group]) / divisor;
    match *model.decision() {
        Decision::Threshold { group, threshold, strict } => {
            let score = score(group.index());
            u32::from(score > threshold || !strict && score == threshold)
        }
        // Probabilities can be rounded to the same number where scores still differ, so scores are
        // compared.
        _ => (1..sums.len()).fold(0, |best, group| if score(group) > score(best) { group } else { best })
            as u32,
    }
}

fn contribution(counts: &[u32], class: usize, vote: u32) -> f64 {
    let count = |class: usize| f64::from(counts[class]);
    let majority = first_largest(counts);
    let vote = vote as usize;
    if vote != class {
        count(class) - count(vote) - count(majority)
    } else if vote != majority {
        2.0 * count(majority) - count(vote)
    } else {
        largest_but(counts, majority)
    }
}

fn margin_diversity(counts: &[u32], class: usize, vote: u32) -> f64 {
    if vote as usize != class {
        return 0.0;
    }
    let members = f64::from(counts.iter().sum::<u32>());
    let own = f64::from(counts[class]);
    let margin = (own - largest_but(counts, class)).abs().max(1.0) / members;
    -MARGIN_SHARE * margin.ln() - (1.0 - MARGIN_SHARE) * (own / members).ln()
}

fn first_largest(counts: &[u32]) -> usize {
    (1..counts.len()).fold(0, |best, class| if counts[class] > counts[best] { class } else { best })
}

fn largest_but(counts: &[u32], class: usize) -> f64 {
    let others = counts.iter().enumerate().filter(|&(other, _)| other != class);
    f64::from(others.map(|(_, &count)| count).max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use secateur_testkit::testdata;

    use super::*;

    fn read(name: &str) -> ModelFile {
        ModelFile::read(&testdata("models").join(name)).unwrap()
    }

    fn votes<'a>(table: &[Vec<u32>], class_count: usize, classes: &'a [ClassId]) -> Votes<'a> {
        let counts = table.iter().flat_map(|row| {
            (0..class_count as u32).map(|class| row.iter().filter(|&&vote| vote == class).count() as u32)
        });
        Votes {
            votes: table.concat(),
            members: table[0].len(),
            counts: counts.collect(),
            class_count,
            classes,
        }
    }

    /// The number of votes for each class with the class, largest number first; among equals the
    /// lower class first.
    fn ranking(row: &[u32], class_count: usize) -> Vec<(usize, usize)> {
        let mut ranking: Vec<(usize, usize)> = (0..class_count)
            .map(|class| (row.iter().filter(|&&vote| vote as usize == class).count(), class))
            .collect();
        ranking.sort_by_key(|&(count, class)| (std::cmp::Reverse(count), class));
        ranking
    }

    /// The contribution of one member, with the publication's formulas.
    fn contribution_of(member: usize, table: &[Vec<u32>], classes: &[ClassId], class_count: usize) -> f64 {
        let mut total = 0.0;
        for (row, class) in table.iter().zip(classes) {
            let ranking = ranking(row, class_count);
            let votes_for = |class: u32| row.iter().filter(|&&vote| vote == class).count() as f64;
            let (correct, with_majority) = (row[member] == class.0, row[member] as usize == ranking[0].1);
            total += match (correct, with_majority) {
                (true, true) => ranking[1].0 as f64,
                (true, false) => 2.0 * ranking[0].0 as f64 - votes_for(row[member]),
                (false, _) => votes_for(class.0) - votes_for(row[member]) - ranking[0].0 as f64,
            };
        }
        total
    }

    fn margin_diversity_of(
        member: usize,
        table: &[Vec<u32>],
        classes: &[ClassId],
        class_count: usize,
    ) -> f64 {
        let mut total = 0.0;
        for (row, class) in table.iter().zip(classes).filter(|(row, class)| row[member] == class.0) {
            let members = row.len() as f64;
            let ranking = ranking(row, class_count);
            let own = row.iter().filter(|&&vote| vote == class.0).count();
            let rival = ranking.iter().find(|&&(_, other)| other != class.index()).unwrap().0;
            let margin = own.abs_diff(rival).max(1) as f64 / members;
            total -= 0.2 * margin.ln() + 0.8 * (own as f64 / members).ln();
        }
        total
    }

    /// The number of rows on which a member agrees with the majority of the chosen.
    fn agreement_of(member: usize, chosen: &[usize], table: &[Vec<u32>], class_count: usize) -> usize {
        let majority = |row: &[u32]| {
            let own: Vec<u32> = chosen.iter().map(|&chosen| row[chosen]).collect();
            ranking(&own, class_count)[0].1
        };
        table.iter().filter(|row| row[member] as usize == majority(row)).count()
    }

    #[test]
    fn orders_are_those_of_the_formulas() {
        for seed in 0..200 {
            let mut rng = Rng::with_seed(seed);
            let class_count = rng.usize(2..=4);
            let (members, rows) = (rng.usize(1..=7), rng.usize(1..=12));
            let draw = |rng: &mut Rng| rng.u32(0..class_count as u32);
            let table: Vec<Vec<u32>> =
                (0..rows).map(|_| (0..members).map(|_| draw(&mut rng)).collect()).collect();
            let classes: Vec<ClassId> = (0..rows).map(|_| ClassId(draw(&mut rng))).collect();
            let votes = votes(&table, class_count, &classes);
            for (order, score) in [
                (Order::Contribution, contribution_of as fn(usize, &[Vec<u32>], &[ClassId], usize) -> f64),
                (Order::MarginDiversity, margin_diversity_of),
            ] {
                let scores: Vec<f64> =
                    (0..members).map(|member| score(member, &table, &classes, class_count)).collect();
                let chosen = votes.order(order, members);
                for pair in chosen.windows(2) {
                    let (before, after) = (scores[pair[0]], scores[pair[1]]);
                    assert!(before > after - 1e-9, "seed {seed} {order:?}: {before} stands before {after}");
                }
            }
            let chosen = votes.order(Order::Diversity, members);
            let errors = |member: usize| {
                table.iter().zip(&classes).filter(|(row, class)| row[member] != class.0).count()
            };
            assert_eq!(Some(errors(chosen[0])), (0..members).map(errors).min(), "seed {seed}");
            for count in 1..members {
                let agreement = |member: usize| agreement_of(member, &chosen[..count], &table, class_count);
                let least =
                    (0..members).filter(|member| !chosen[..count].contains(member)).map(agreement).min();
                assert_eq!(Some(agreement(chosen[count])), least, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_small_example_by_hand() {
        // On both rows the members vote 0, 1, 1; the rows have the classes 0 and 1. Member 0 is
        // right alone on the first row, members 1 and 2 are right with the majority on the second.
        let classes = [ClassId(0), ClassId(1)];
        let table = [vec![0, 1, 1], vec![0, 1, 1]];
        let votes = votes(&table, 2, &classes);
        // Member 0: 2*2 - 1 = 3, then 2 - 1 - 2 = -1. Members 1 and 2: 1 - 2 - 2 = -3, then 1.
        assert_eq!(contribution(&[1, 2], 0, 0) + contribution(&[1, 2], 1, 0), 2.0);
        assert_eq!(contribution(&[1, 2], 0, 1) + contribution(&[1, 2], 1, 1), -2.0);
        assert_eq!(votes.order(Order::Contribution, 3), [0, 1, 2]);
        // Each member has one right vote, and fewer others vote like member 0.
        assert_eq!(votes.order(Order::MarginDiversity, 1), [0]);
        // Each member has one error; member 0 is the first, and the others never agree with it.
        assert_eq!(votes.order(Order::Diversity, 2), [0, 1]);
    }

    #[test]
    fn members_are_trees_or_rounds_and_stay_as_they_are() {
        for (name, classes_have_trees) in [
            ("sklearn/forest.skops", false),
            ("sklearn/adaboost_three.skops", false),
            ("lightgbm/binary.txt", false),
            ("lightgbm/multiclass.txt", true),
            ("xgboost/3.4.1-softprob.json", true),
            ("onnx/forest.onnx", false),
        ] {
            let file = read(name);
            let model = file.ensemble();
            let trees_of_member = if classes_have_trees { model.classes().len() } else { 1 };
            let width = model.features().len();
            let mut rng = Rng::with_seed(1);
            let rows: Vec<f64> = (0..30 * width).map(|_| f64::from(rng.i32(0..=6))).collect();
            let predictor = secateur_model::Predictor::new(model);
            let classes = predictor.classes(&rows).unwrap();
            for order in [Order::Contribution, Order::MarginDiversity, Order::Diversity] {
                let pruned = prune_unproved(&file, &rows, &classes, order, 2).unwrap();
                assert_eq!(pruned.members * trees_of_member, model.trees().len(), "{name}");
                assert_eq!(pruned.file.ensemble().trees().len(), 2 * trees_of_member, "{name}");
                assert_eq!(pruned.chosen.len(), 2);
                let all = prune_unproved(&file, &rows, &classes, order, pruned.members).unwrap();
                assert_eq!(all.file.ensemble(), model, "{name}");
            }
            for size in [0, 10_000] {
                let error = prune_unproved(&file, &rows, &classes, Order::Contribution, size).unwrap_err();
                assert!(matches!(error, PruneError::Size { .. }), "{error}");
            }
            let error = prune_unproved(&file, &rows, &classes[1..], Order::Contribution, 1).unwrap_err();
            assert!(matches!(error, PruneError::Rows { .. }), "{error}");
        }
    }

    #[test]
    fn a_forest_of_one_tree_decides_as_that_tree_votes() {
        let mut seen = std::collections::HashSet::new();
        for name in ["onnx/forest.onnx", "onnx/forest_text_labels.onnx", "sklearn/extra_trees.skops"] {
            let file = read(name);
            let model = file.ensemble();
            let mut rng = Rng::with_seed(3);
            let rows: Vec<f64> = (0..200 * model.features().len()).map(|_| rng.f64() * 8.0 - 2.0).collect();
            let classes = secateur_model::Predictor::new(model).classes(&rows).unwrap();
            let members = members(model);
            let votes = Votes::cast(model, &members, &rows, &classes).unwrap();
            let pruned = prune_unproved(&file, &rows, &classes, Order::Diversity, 1).unwrap();
            let decided = secateur_model::Predictor::new(pruned.file.ensemble()).classes(&rows).unwrap();
            for (class, votes) in decided.iter().zip(votes.votes.chunks_exact(members.len())) {
                assert_eq!(class.0, votes[pruned.chosen[0]], "{name}");
                seen.insert((name, class.0));
            }
        }
        assert!(seen.len() >= 5, "hardly any class was decided for: {seen:?}");
    }
}
