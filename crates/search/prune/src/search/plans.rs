//! From weights to plans: brings the weights to the original's scale and decides what becomes of
//! the constants.

use secateur_model::{Decision, Exact};

use crate::candidate::column::Intercept;
use crate::candidate::plan::{Constants, Editable, Plan};
use crate::config::Moves;
use crate::search::weight_program::Weights;
use crate::search::{Search, TINY};

impl<'a, M: Editable> Search<'a, M> {
    /// A plan with these weights on the original's scale, and the weights as the plan has them.
    pub(crate) fn plan(&self, mut weights: Weights) -> (Plan, Weights) {
        let largest = weights.columns.iter().copied().fold(0.0, f64::max);
        for weight in &mut weights.columns {
            if *weight < TINY * largest {
                *weight = 0.0;
            }
        }
        if self.keeps_scores() {
            return self.plan_of_scores(weights);
        }
        let mut scale = match weights.scale {
            // Scaling all weights so that this one is 1 leaves the file's own intercept as it is.
            Some(own) if own > TINY * largest => 1.0 / own,
            _ => {
                let demands = self.points.demands().iter();
                let mut ratios: Vec<f64> = demands
                    .filter(|demand| demand.lead > 0.0)
                    .map(|demand| weights.lead(demand) / demand.lead)
                    .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
                    .collect();
                ratios.sort_by(f64::total_cmp);
                ratios.get(ratios.len() / 2).map_or(1.0, |median| 1.0 / median)
            }
        };
        if !(scale.is_finite() && scale > 0.0) {
            scale = 1.0;
        }
        let own = weights.scale.is_some_and(|own| own > TINY * largest);
        let scaled = |weight: &f64| {
            let weight = weight * scale;
            // A difference in the last bit that comes from the solver is no reason to rewrite a
            // tree.
            if (weight - 1.0).abs() < TINY { 1.0 } else { weight }
        };
        weights.columns = weights.columns.iter().map(scaled).collect();
        weights.groups.iter_mut().for_each(|weight| *weight *= scale);
        weights.scale = weights.scale.map(|_| if own { 1.0 } else { 0.0 });
        let constants = match self.intercept {
            Intercept::Free => {
                Constants::Own(weights.groups.iter().map(|&value| Exact::finite(value)).collect())
            }
            Intercept::Scaled if !own => Constants::Zero,
            _ => Constants::File,
        };
        (Plan { weights: weights.columns.clone(), constants }, weights)
    }

    /// A plan where scores are kept: the weights are used unscaled, because scores have a scale.
    fn plan_of_scores(&self, mut weights: Weights) -> (Plan, Weights) {
        for weight in &mut weights.columns {
            if (*weight - 1.0).abs() < TINY {
                *weight = 1.0;
            }
        }
        let constants = match self.intercept {
            Intercept::Free => {
                let mut constants: Vec<Exact> =
                    weights.groups.iter().map(|&value| Exact::finite(value)).collect();
                self.take_threshold(&mut constants);
                Constants::Own(constants)
            }
            _ => Constants::File,
        };
        (Plan { weights: weights.columns.clone(), constants }, weights)
    }

    /// All weights one: the folded model, for claims about scores.
    pub(crate) fn weights_of_one(&self) -> Weights {
        let own = self.problem.model.intercepts().iter().map(|&value| Exact::finite(value));
        let constants =
            own.zip(&self.problem.folded.constants).map(|(own, constant)| (&own + constant).to_f64());
        let groups = if self.intercept == Intercept::Free { constants.collect() } else { Vec::new() };
        Weights { columns: vec![1.0; self.points.columns().len()], groups, scale: None }
    }

    /// The plan of the folded model, which keeps every score.
    pub(crate) fn folded_plan(&self) -> Plan {
        let weights = vec![1.0; self.points.columns().len()];
        let constants = match self.problem.config.moves {
            Moves::Weights => Constants::File,
            Moves::Leaves if self.problem.file.votes_only() => Constants::File,
            Moves::Leaves => Constants::Own(self.original_constants()),
        };
        Plan { weights, constants }
    }

    /// The constant of each group's sum in the original, without its threshold.
    pub(crate) fn original_constants(&self) -> Vec<Exact> {
        let own = self.problem.model.intercepts().iter().map(|&value| Exact::finite(value));
        let mut constants: Vec<Exact> =
            own.zip(&self.problem.folded.constants).map(|(own, constant)| &own + constant).collect();
        self.take_threshold(&mut constants);
        constants
    }

    /// Subtracts the decision rule's threshold from the constant of its group.
    fn take_threshold(&self, constants: &mut [Exact]) {
        if let Decision::Threshold { group, threshold, .. } = *self.problem.model.decision() {
            let divisor = self.problem.model.accumulation().divisor();
            constants[group.index()] += &(-(&Exact::finite(threshold) * &Exact::finite(divisor)));
        }
    }
}
