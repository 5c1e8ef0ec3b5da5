//! The path from a graph's input to its ensemble: casts, and monotone arithmetic.

use secateur_model::NumberType;

use super::attribute::{attributes, tensor};
use super::graph::{DOUBLE, FLOAT, Graph, Node, number_of, unsupported};
use super::scaling::{Operation, Scaling, Step};
use crate::error::{FormatError, Place, Problem};

/// How a graph's input reaches its ensemble.
pub(super) struct Way {
    /// The type of the graph's input, as the first step sees it.
    pub(super) input: NumberType,
    /// The type at the ensemble.
    pub(super) number: NumberType,
    pub(super) columns: Option<u64>,
    pub(super) scaling: Scaling,
}

/// The operators that work on every column separately, with a constant.
const ARITHMETIC: [&str; 4] = ["Sub", "Add", "Mul", "Div"];

impl<'a> Graph<'a> {
    /// The path from the graph's input to the ensemble.
    pub(super) fn input_of(&self, ensemble: usize) -> Result<Way, FormatError> {
        let node = &self.nodes[ensemble];
        let [mut name] = node.inputs[..] else {
            return Err(FormatError::new(
                node.place(),
                Problem::Length { expected: 1, found: node.inputs.len() },
            ));
        };
        // Walks from the ensemble back to the input.
        let mut on_the_way = Vec::new();
        while let Some(&(index, _)) = self.producers.get(name) {
            let node = &self.nodes[index];
            let passes = node.is_standard("Identity")
                || matches!(node.cast_target()?, Some(FLOAT | DOUBLE))
                || node.is_scaler()
                || ARITHMETIC.iter().any(|operator| node.is_standard(operator));
            on_the_way.push(index);
            match self.input_among(node) {
                Some(input) if passes && on_the_way.len() <= self.nodes.len() => name = input,
                _ => {
                    let advice = "the ensemble must see the graph's input as it is, cast to a float type, scaled \
                                  (Scaler), or with constants added, subtracted, multiplied or divided by";
                    return Err(unsupported(node.place(), "a graph that changes its input here", advice));
                }
            }
        }
        let mut free = self.inputs.iter().filter(|input| !self.constants.contains_key(input.name));
        let port = match (free.next(), free.next()) {
            (Some(port), None) if port.name == name => port,
            _ => {
                let what = format!("an ensemble that reads {name:?}");
                let place = Place::Field("graph.input".to_owned());
                return Err(unsupported(
                    place,
                    &what,
                    "the graph must have one input, and it must read that",
                ));
            }
        };
        let place = || Place::Field(format!("graph.input {name:?}"));
        let mut number = number_of(port.element).ok_or_else(|| {
            let found = port.element.map_or("no tensor".to_owned(), |kind| format!("element type {kind}"));
            FormatError::new(place(), Problem::Value { found, expected: "a tensor of floats or doubles" })
        })?;
        // Casts before the first step lose digits that no step sees.
        let mut input = number;
        let mut scaling = Scaling::default();
        for &index in on_the_way.iter().rev() {
            let node = &self.nodes[index];
            if let Some(target) = number_of(node.cast_target()?) {
                number = target;
                match scaling.is_empty() {
                    true if number == NumberType::F32 => input = number,
                    true => {}
                    false => scaling.steps.push(Step { operation: Operation::Round, number }),
                }
            } else if node.is_scaler() {
                let attributes = attributes(node.body).collect::<Result<Vec<_>, _>>()?;
                // Numbers that were rounded to f32 are also doubles, but the arithmetic differs.
                let step = Step::scaler(&attributes, node.place(), number)?;
                number = step.number;
                scaling.steps.push(step);
            } else if let Some(constant) = self.constant_of(node, number)?
                && let Some(step) = Step::arithmetic(node.operator, constant, node.place(), number)?
            {
                scaling.steps.push(step);
            }
        }
        scaling.input = Some(input);
        let columns = match port.shape.as_deref() {
            None => None,
            Some([_, columns]) => *columns,
            Some(shape) => {
                let found = format!("a shape of {} sizes", shape.len());
                let expected = "rows and columns";
                return Err(FormatError::new(place(), Problem::Value { found, expected }));
            }
        };
        let columns = columns.map(u64::try_from).transpose().map_err(|_| {
            let found = "a negative number of columns".to_owned();
            FormatError::new(place(), Problem::Value { found, expected: "a size" })
        })?;
        let mut scaled = scaling.steps.iter().filter_map(|step| step.columns().map(|count| count as u64));
        let columns = columns.or_else(|| scaled.clone().next());
        if let Some(other) = scaled.find(|&count| Some(count) != columns) {
            let found = format!("a scaler of {other} columns");
            return Err(FormatError::new(
                place(),
                Problem::Value { found, expected: "one number for each column" },
            ));
        }
        Ok(Way { input, number, columns, scaling })
    }

    /// The input of a node that is not a constant; `None` unless there is exactly one.
    fn input_among(&self, node: &Node<'a>) -> Option<&'a str> {
        let mut free = node.inputs.iter().filter(|name| !self.constants.contains_key(**name));
        let found = free.next()?;
        // Subtracting the input from a constant, or dividing a constant by it, is not supported.
        let turned = matches!(node.operator, "Sub" | "Div") && node.inputs.first() != Some(found);
        (free.next().is_none() && !turned).then_some(*found)
    }

    /// The constant that a node adds, subtracts, multiplies or divides by; `None` for other nodes.
    fn constant_of(&self, node: &Node<'a>, number: NumberType) -> Result<Option<Vec<f64>>, FormatError> {
        if !ARITHMETIC.iter().any(|operator| node.is_standard(operator)) {
            return Ok(None);
        }
        let [_, _] = node.inputs[..] else {
            let problem = Problem::Length { expected: 2, found: node.inputs.len() };
            return Err(FormatError::new(node.place(), problem));
        };
        let constant = node.inputs.iter().find(|name| self.constants.contains_key(**name));
        // A constant that is also an input is only a default: a caller that runs the graph may give
        // another value.
        if let Some(name) = constant
            && self.inputs.iter().any(|input| input.name == *name)
        {
            let what = format!("a scaler whose numbers {name:?} are an input of the graph");
            return Err(unsupported(
                node.place(),
                &what,
                "remove it from the graph's inputs, so that it is fixed",
            ));
        }
        let body = constant
            .and_then(|name| self.constants.get(name))
            .ok_or_else(|| FormatError::new(node.place(), Problem::Missing))?;
        let (sizes, values) = tensor(*body, number, node.place())?;
        // One number, or one for each column of a row.
        match sizes[..] {
            [] | [_] | [1, _] => Ok(Some(values)),
            _ => {
                let found = format!("a constant of {} sizes", sizes.len());
                let expected = "one number, or one for each column";
                Err(FormatError::new(node.place(), Problem::Value { found, expected }))
            }
        }
    }
}
