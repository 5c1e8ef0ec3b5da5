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

use crate::reason::Reason;

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
        if let Some(costs) = costs.as_ref().filter(|costs| costs.len() != columns) {
            return Err(Reason::CoverCosts { costs: costs.len(), items: columns });
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
        let refused = Reason::CoverColumn { column, items: self.decided.len() };
        let Some(decided) = self.decided.get_mut(column as usize) else { return Err(refused) };
        if decided.is_some() {
            return Err(refused);
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
            return Err(Reason::CoverDual { item: None, load: 0, denominator, cost: 0 });
        }
        let kept = |column: &usize| self.decided[*column] == Some(true);
        let mut loads = vec![0u128; self.decided.len()];
        let mut total = 0u128;
        for term in terms {
            let unknown = Reason::CoverCut { cut: term.cut, cuts: cuts.len() };
            let cut = cuts.get(term.cut as usize).ok_or(unknown)?;
            let members =
                || (0..self.decided.len()).filter(|column| cut[column / 64] >> (column % 64) & 1 == 1);
            if members().any(|column| kept(&column)) {
                continue;
            }
            members().for_each(|column| loads[column] += u128::from(term.numerator));
            total += u128::from(term.numerator);
        }
        let scale = u128::from(denominator);
        let exceeds = |&(column, &load): &(usize, &u128)| {
            self.decided[column].is_none() && load > self.cost(column) * scale
        };
        if let Some((item, &load)) = loads.iter().enumerate().find(exceeds) {
            return Err(Reason::CoverDual { item: Some(item), load, denominator, cost: self.cost(item) });
        }
        let kept_cost: u128 = (0..self.decided.len()).filter(kept).map(|column| self.cost(column)).sum();
        let reached = kept_cost + total.div_ceil(scale);
        if reached < u128::from(self.bound) {
            return Err(Reason::CoverBound { reached, bound: self.bound });
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
