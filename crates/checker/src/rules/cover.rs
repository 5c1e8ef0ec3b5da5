//! Rule `cover`: the columns of positive weight cost at least so much.
//!
//! Premise: a tree of cases, each of which says of some columns that they are kept (positive weight) or not.
//! In each case multipliers `u_c = numerator / denominator >= 0` of cuts such that, over the cuts that no kept
//! column is in, `sum of u_c over the cuts of column j <= cost_j` for each column j that is undecided; and
//! `cost of the kept columns + up(sum of u_c) >= bound`.
//! Conclusion: in every model of the family the columns of positive weight cost at least `bound`.
//! Why: let T be those columns. They belong to one case. Every cut has a column in T (rule `cut`), so a cut
//! without a kept column has one in T that is undecided: `sum of cost_j over T without the kept ones >= sum over
//! those j of the u_c of their cuts >= sum of u_c`. Costs are integers, so the sum may be rounded up.
//! Columns that are not kept need no inequality: they are not in T.
//! A counted constant is one of the columns here, the last: "positive weight" reads "not zero" for it.
//! Refuses: `cover.costs`, `cover.column`, `cover.cut`, `cover.dual`, `cover.bound_not_met`.
//! Specification: section 7.4.

use secateur_certificate::CoverTerm;

use crate::verdict::Reason;

pub(crate) struct Cover {
    costs: Option<Vec<u64>>,
    bound: u64,
    /// For each column whether it is kept in the present case, where that is decided.
    decided: Vec<Option<bool>>,
    /// The columns decided on the way to the present case.
    path: Vec<usize>,
}

impl Cover {
    pub(crate) fn new(columns: usize, costs: Option<Vec<u64>>, bound: u64) -> Result<Self, Reason> {
        if costs.as_ref().is_some_and(|costs| costs.len() != columns) {
            return Err(Reason::CoverCosts);
        }
        Ok(Self { costs, bound, decided: vec![None; columns], path: Vec::new() })
    }

    pub(crate) fn bound(&self) -> u64 {
        self.bound
    }

    pub(crate) fn has_costs(&self) -> bool {
        self.costs.is_some()
    }

    fn cost(&self, column: usize) -> u128 {
        self.costs.as_ref().map_or(1, |costs| costs[column].into())
    }

    /// Two cases, the first of which comes next. Never the end.
    pub(crate) fn branch(&mut self, column: u32) -> Result<bool, Reason> {
        let decided = self.decided.get_mut(column as usize).ok_or(Reason::CoverColumn)?;
        if decided.is_some() {
            return Err(Reason::CoverColumn);
        }
        *decided = Some(true);
        self.path.push(column as usize);
        Ok(false)
    }

    /// The bound holds in the present case; is that the last one?
    pub(crate) fn dual(
        &mut self,
        cuts: &[Vec<u64>],
        denominator: u64,
        terms: &[CoverTerm],
    ) -> Result<bool, Reason> {
        if denominator == 0 {
            return Err(Reason::CoverDual);
        }
        let kept = |column: &usize| self.decided[*column] == Some(true);
        let mut loads = vec![0u128; self.decided.len()];
        let mut total = 0u128;
        for term in terms {
            let cut = cuts.get(term.cut as usize).ok_or(Reason::CoverCut)?;
            let members =
                || (0..self.decided.len()).filter(|column| cut[column / 64] >> (column % 64) & 1 == 1);
            if members().any(|column| kept(&column)) {
                continue;
            }
            members().for_each(|column| loads[column] += u128::from(term.numerator));
            total += u128::from(term.numerator);
        }
        let scale = u128::from(denominator);
        let fits = |(column, &load): (usize, &u128)| {
            self.decided[column].is_some() || load <= self.cost(column) * scale
        };
        if !loads.iter().enumerate().all(fits) {
            return Err(Reason::CoverDual);
        }
        let kept_cost: u128 = (0..self.decided.len()).filter(kept).map(|column| self.cost(column)).sum();
        if kept_cost + total.div_ceil(scale) < u128::from(self.bound) {
            return Err(Reason::CoverBound);
        }
        // On to the second case of the last branch that has not had it.
        while let Some(&column) = self.path.last() {
            if self.decided[column] == Some(true) {
                self.decided[column] = Some(false);
                return Ok(false);
            }
            self.decided[column] = None;
            self.path.pop();
        }
        Ok(true)
    }
}
