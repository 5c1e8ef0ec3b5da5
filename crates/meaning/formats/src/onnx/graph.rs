//! Finds the ensemble in an ONNX graph, and shows that its label is the model's answer.
//!
//! A graph is accepted only if two conditions hold. A graph output is the label of a
//! `TreeEnsembleClassifier` or the value of a `TreeEnsembleRegressor` or `TreeEnsemble`, passed on
//! by nodes that do not change it (`Identity`, `Cast` to int64). And the ensemble's input is the
//! graph's input, passed on by `Identity`, by casts between float types, whose rounding is part of
//! the model's input domain, and by scalers, which become part of the thresholds (`scaling`).
//! Everything else that the graph computes (probabilities, maps) is kept but not examined.

use std::collections::HashMap;
use std::ops::Range;

use secateur_model::NumberType;

use super::attribute::element_type;
use super::scaling::Scaling;
use super::way::Way;
use super::wire::{Field, Message};
use crate::error::{FormatError, Place, Problem};

/// The ensemble in its file.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The graph: the whole field, and the message in it.
    pub(super) graph: (Range<usize>, Range<usize>),
    /// The ensemble's node within it, likewise.
    pub(super) node: (Range<usize>, Range<usize>),
    /// The float type that the ensemble compares in.
    pub(super) number: NumberType,
    /// The narrowest float type that inputs are cast to before the ensemble.
    pub(super) input: NumberType,
    /// The number of columns, if the graph states it.
    pub(super) columns: Option<u64>,
    /// The name and version of the program that wrote the file, as far as they are given.
    pub(super) producer: String,
    /// The version of the operator set `ai.onnx.ml`.
    pub(super) opset: i64,
    /// The operator of the ensemble's node.
    pub(super) operator: Operator,
    /// The arithmetic on the columns before the ensemble.
    pub(super) scaling: Scaling,
}

/// The operators of tree ensembles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// `TreeEnsembleClassifier`: labels and scores.
    Classifier,
    /// `TreeEnsembleRegressor`: values.
    Regressor,
    /// `TreeEnsemble`, introduced with version 5 of `ai.onnx.ml`: values, as tensors in another
    /// arrangement (`newer`).
    Newer,
}

/// The newest version of the file format that is known.
const NEWEST_IR: i64 = 13;

pub(super) const FLOAT: i64 = 1;
const INT64: i64 = 7;
const STRING: i64 = 8;
pub(super) const DOUBLE: i64 = 11;

/// Finds the ensemble.
pub(super) fn locate(bytes: &[u8]) -> Result<Site, FormatError> {
    let mut graph: Option<(Field<'_>, Message<'_>)> = None;
    let (mut producer, mut version, mut opset) = ("", "", None);
    for field in Message::file(bytes).fields() {
        let field = field?;
        match field.number {
            1 if field.integer()? > NEWEST_IR => {
                let what = format!("version {} of ONNX's file format", field.integer()?);
                let advice = "versions up to 13 are known, to onnxruntime too: write it as one of them";
                return Err(unsupported(Place::Field("ir_version".to_owned()), &what, advice));
            }
            2 => producer = field.text()?,
            3 => version = field.text()?,
            7 if graph.is_some() => return Err(twice(&field, "graph")),
            7 => graph = Some((field.clone(), field.message()?)),
            8 => {
                let (domain, version) = operator_set(field.message()?)?;
                // Converters of pipelines write one for each step; onnxruntime uses the last.
                if domain == "ai.onnx.ml" {
                    opset = Some(version);
                }
            }
            25 => {
                return Err(unsupported(
                    Place::Byte(field.range.start as u64),
                    "a model with functions of its own",
                    "inline them with onnx.inliner first",
                ));
            }
            _ => {}
        }
    }
    let missing = |name: &str| FormatError::new(Place::Field(name.to_owned()), Problem::Missing);
    let (graph_field, graph) = graph.ok_or_else(|| missing("graph"))?;
    let content = Graph::read(graph)?;
    let ensemble = content.ensemble()?;
    let node = &content.nodes[ensemble];
    let operator = node.ensemble_operator().expect("only an ensemble's node is found");
    let opset = opset.ok_or_else(|| missing("opset_import of ai.onnx.ml"))?;
    let known = if operator == Operator::Newer { 5..=5 } else { 1..=4 };
    if !known.contains(&opset) {
        let what = format!("{} in operator set {opset} of ai.onnx.ml", node.operator);
        let place = Place::Field("opset_import".to_owned());
        let advice =
            "TreeEnsembleClassifier and TreeEnsembleRegressor exist in sets 1 to 4, TreeEnsemble in set 5";
        return Err(unsupported(place, &what, advice));
    }
    let way = content.input_of(ensemble);
    // The types of outputs are checked first; then the file is refused if its input is.
    content.check_output_types(ensemble, way.as_ref().ok().map(|way| way.number))?;
    let Way { input, number, columns, scaling } = way?;
    Ok(Site {
        graph: (graph_field.range, graph.range()),
        node: (node.range.clone(), node.body.range()),
        number,
        input,
        columns,
        producer: format!("{producer} {version}").trim().to_owned(),
        opset,
        operator,
        scaling,
    })
}

pub(super) struct Node<'a> {
    pub(super) range: Range<usize>,
    pub(super) body: Message<'a>,
    pub(super) index: usize,
    pub(super) operator: &'a str,
    pub(super) domain: &'a str,
    pub(super) inputs: Vec<&'a str>,
    pub(super) outputs: Vec<&'a str>,
}

impl Node<'_> {
    pub(super) fn place(&self) -> Place {
        Place::Field(format!("graph.node[{}] ({})", self.index, self.operator))
    }

    pub(super) fn is_standard(&self, operator: &str) -> bool {
        self.operator == operator && matches!(self.domain, "" | "ai.onnx")
    }

    /// The tree ensemble operator of this node; `None` for any other node.
    fn ensemble_operator(&self) -> Option<Operator> {
        match self.operator {
            _ if self.domain != "ai.onnx.ml" => None,
            "TreeEnsembleClassifier" => Some(Operator::Classifier),
            "TreeEnsembleRegressor" => Some(Operator::Regressor),
            "TreeEnsemble" => Some(Operator::Newer),
            _ => None,
        }
    }

    fn is_ensemble(&self) -> bool {
        self.ensemble_operator() == Some(Operator::Classifier)
    }

    pub(super) fn is_scaler(&self) -> bool {
        self.operator == "Scaler" && self.domain == "ai.onnx.ml"
    }

    fn is_regressor(&self) -> bool {
        matches!(self.ensemble_operator(), Some(Operator::Regressor | Operator::Newer))
    }

    /// Does an attribute of this name exist and hold anything?
    fn has_attribute(&self, wanted: &str) -> Result<bool, FormatError> {
        for field in self.body.fields() {
            let field = field?;
            if field.number != 5 {
                continue;
            }
            let (mut named, mut filled) = (false, false);
            for part in field.message()?.fields() {
                let part = part?;
                match part.number {
                    1 => named = part.text()? == wanted,
                    // The lists of an attribute: floats, integers, strings.
                    7..=9 => filled = true,
                    _ => {}
                }
            }
            if named && filled {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The target type of a `Cast`.
    pub(super) fn cast_target(&self) -> Result<Option<i64>, FormatError> {
        if !self.is_standard("Cast") {
            return Ok(None);
        }
        for field in self.body.fields() {
            let field = field?;
            if field.number != 5 {
                continue;
            }
            let (mut name, mut value) = ("", None);
            for part in field.message()?.fields() {
                let part = part?;
                match part.number {
                    1 => name = part.text()?,
                    3 => value = Some(part.integer()?),
                    _ => {}
                }
            }
            if name == "to" {
                return Ok(value);
            }
        }
        Ok(None)
    }
}

pub(super) struct Port<'a> {
    pub(super) name: &'a str,
    /// The element type of a tensor, 0 if it is not given; `None` for maps and sequences.
    pub(super) element: Option<i64>,
    /// The sizes of a tensor whose rank is known; `None` for a size that is free.
    pub(super) shape: Option<Vec<Option<i64>>>,
}

pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) inputs: Vec<Port<'a>>,
    pub(super) outputs: Vec<Port<'a>>,
    /// The tensors stored in the file, by name.
    pub(super) constants: HashMap<&'a str, Message<'a>>,
    /// For each value the node that computes it, and the position among that node's outputs.
    pub(super) producers: HashMap<&'a str, (usize, usize)>,
}

impl<'a> Graph<'a> {
    fn read(graph: Message<'a>) -> Result<Self, FormatError> {
        let mut content = Self {
            nodes: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            constants: HashMap::new(),
            producers: HashMap::new(),
        };
        for field in graph.fields() {
            let field = field?;
            match field.number {
                1 => {
                    let node = read_node(&field, content.nodes.len())?;
                    for (position, &name) in node.outputs.iter().enumerate() {
                        let source = (content.nodes.len(), position);
                        if !name.is_empty() && content.producers.insert(name, source).is_some() {
                            return Err(value_twice(&node, name));
                        }
                    }
                    content.nodes.push(node);
                }
                5 => {
                    let tensor = field.message()?;
                    for part in tensor.fields() {
                        let part = part?;
                        if part.number == 8 {
                            content.constants.insert(part.text()?, tensor);
                        }
                    }
                }
                11 => content.inputs.push(read_port(field.message()?)?),
                12 => content.outputs.push(read_port(field.message()?)?),
                _ => {}
            }
        }
        Ok(content)
    }

    /// The node whose label is the graph's class output.
    fn ensemble(&self) -> Result<usize, FormatError> {
        let mut found = None;
        let mut stopped = None;
        for output in &self.outputs {
            match self.trace_label(output.name)? {
                Trace::Ensemble(node) => {
                    if found.replace(node).is_some_and(|other| other != node) {
                        return Err(unsupported(
                            self.nodes[node].place(),
                            "a graph with the labels of two ensembles",
                            "keep one of them",
                        ));
                    }
                }
                Trace::Stopped(node) => {
                    if stopped.is_none() {
                        stopped = Some(node);
                    }
                    // Scores are floats or maps; any other output may be a class that is not the
                    // ensemble's.
                    if !matches!(output.element, Some(FLOAT | DOUBLE) | None) {
                        return Err(self.not_a_label(node, output.name));
                    }
                }
            }
        }
        match found {
            Some(node) => Ok(node),
            None => Err(self.not_a_label(stopped.flatten(), "none of the outputs")),
        }
    }

    fn trace_label(&self, name: &str) -> Result<Trace, FormatError> {
        let mut name = name;
        let mut whole = false;
        // Every step leads to another node; more steps than nodes mean a cycle.
        for _ in 0..=self.nodes.len() {
            let Some(&(index, position)) = self.producers.get(name) else {
                return Ok(Trace::Stopped(None));
            };
            let node = &self.nodes[index];
            if node.is_ensemble() && position == 0 {
                return Ok(Trace::Ensemble(index));
            }
            // A regressor's value that is cast to a whole number is a different answer.
            if node.is_regressor() && position == 0 && !whole {
                return Ok(Trace::Ensemble(index));
            }
            let cast = node.cast_target()? == Some(INT64);
            whole |= cast;
            let passes = node.is_standard("Identity") || cast;
            match node.inputs.first() {
                Some(&input) if passes => name = input,
                _ => return Ok(Trace::Stopped(Some(index))),
            }
        }
        Ok(Trace::Stopped(None))
    }

    /// onnxruntime does not load a graph whose output declares another type than the value that
    /// reaches it. This checks the types that follow from the ensemble. Its labels are integers or
    /// strings, depending on its attribute. Its scores are floats for every input type, except that
    /// the values of a `TreeEnsemble` have the type of its input, which is `number` if it is known.
    fn check_output_types(&self, ensemble: usize, number: Option<NumberType>) -> Result<(), FormatError> {
        for output in &self.outputs {
            let Some(declared) = output.element.filter(|&element| element != 0) else { continue };
            let own = |index: usize| number.filter(|_| index == ensemble);
            let Some(found) = self.element_of(output.name, own)?.filter(|&found| found != declared) else {
                continue;
            };
            let place = Place::Field(format!("graph.output {:?}", output.name));
            let what = format!("an output of type {} that holds type {}", words(declared), words(found));
            let advice = "onnxruntime does not load it; declare the type that it holds (a score is float, \
                          even where the inputs are double, but of TreeEnsemble it has the type of the inputs)";
            return Err(unsupported(place, &what, advice));
        }
        Ok(())
    }

    /// The element type of a value that comes from an ensemble through nodes that keep it; `None`
    /// if it is not known here. `input` gives the input type of a `TreeEnsemble`, by its position.
    fn element_of(
        &self,
        name: &str,
        input: impl Fn(usize) -> Option<NumberType>,
    ) -> Result<Option<i64>, FormatError> {
        let mut name = name;
        for _ in 0..=self.nodes.len() {
            let Some(&(index, position)) = self.producers.get(name) else { return Ok(None) };
            let node = &self.nodes[index];
            if node.ensemble_operator() == Some(Operator::Newer) {
                return Ok(input(index).map(element_type));
            }
            if node.is_regressor() {
                return Ok(Some(FLOAT));
            }
            if node.is_ensemble() {
                return Ok(Some(match position {
                    0 if node.has_attribute("classlabels_strings")? => STRING,
                    0 => INT64,
                    _ => FLOAT,
                }));
            }
            if let Some(target) = node.cast_target()? {
                return Ok(Some(target));
            }
            let keeps = ["Identity", "Mul", "Add", "Sub", "Div", "Neg", "Sigmoid", "Softmax"];
            match node.inputs.first() {
                Some(&input) if keeps.iter().any(|operator| node.is_standard(operator)) => name = input,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn not_a_label(&self, stopped: Option<usize>, output: &str) -> FormatError {
        if self.nodes.iter().any(Node::is_regressor) {
            let place = stopped.map_or(Place::Field("graph.output".to_owned()), |at| self.nodes[at].place());
            let what = "a graph that changes the values of a TreeEnsembleRegressor or TreeEnsemble (with Exp or ArgMax, for \
                        example), or adds those of several";
            let advice = "its values must be an output of the graph, passed on unchanged";
            return unsupported(place, what, advice);
        }
        let ensembles = self.nodes.iter().filter(|node| node.is_ensemble()).count();
        match stopped.map(|index| &self.nodes[index]) {
            Some(node) if ensembles > 1 => {
                let what = format!("a graph that combines {ensembles} ensembles (AdaBoost is written so)");
                let advice = "the class must be the label of one TreeEnsembleClassifier; \
                              for AdaBoost use skops.io.dump or the Python package";
                unsupported(node.place(), &what, advice)
            }
            Some(node) => {
                let what = format!("a class output that this node computes ({output})");
                let advice = "the class must be the label of a TreeEnsembleClassifier, passed on unchanged";
                unsupported(node.place(), &what, advice)
            }
            None => unsupported(
                Place::Field("graph.output".to_owned()),
                &format!("a graph without the label of a TreeEnsembleClassifier ({output} is one)"),
                "only tree ensembles can be read, classifiers and regressors",
            ),
        }
    }
}

enum Trace {
    Ensemble(usize),
    /// The node that is not known to pass the label on; `None` if there is no node at all.
    Stopped(Option<usize>),
}

/// An element type in words.
fn words(element: i64) -> String {
    match element {
        FLOAT => "float".to_owned(),
        INT64 => "int64".to_owned(),
        STRING => "string".to_owned(),
        DOUBLE => "double".to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn number_of(element: Option<i64>) -> Option<NumberType> {
    match element {
        Some(FLOAT) => Some(NumberType::F32),
        Some(DOUBLE) => Some(NumberType::F64),
        _ => None,
    }
}

fn operator_set(message: Message<'_>) -> Result<(&str, i64), FormatError> {
    let (mut domain, mut version) = ("", 0);
    for field in message.fields() {
        let field = field?;
        match field.number {
            1 => domain = field.text()?,
            2 => version = field.integer()?,
            _ => {}
        }
    }
    Ok((domain, version))
}

fn read_node<'a>(field: &Field<'a>, index: usize) -> Result<Node<'a>, FormatError> {
    let body = field.message()?;
    let range = field.range.clone();
    let mut node =
        Node { range, body, index, operator: "", domain: "", inputs: Vec::new(), outputs: Vec::new() };
    for part in body.fields() {
        let part = part?;
        match part.number {
            1 => node.inputs.push(part.text()?),
            2 => node.outputs.push(part.text()?),
            4 => node.operator = part.text()?,
            7 => node.domain = part.text()?,
            _ => {}
        }
    }
    Ok(node)
}

fn read_port<'a>(message: Message<'a>) -> Result<Port<'a>, FormatError> {
    let mut port = Port { name: "", element: Some(0), shape: None };
    for field in message.fields() {
        let field = field?;
        match field.number {
            1 => port.name = field.text()?,
            2 => {
                for kind in field.message()?.fields() {
                    let kind = kind?;
                    match kind.number {
                        1 => read_tensor_type(kind.message()?, &mut port)?,
                        4 | 5 => port.element = None,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(port)
}

fn read_tensor_type(message: Message<'_>, port: &mut Port<'_>) -> Result<(), FormatError> {
    for field in message.fields() {
        let field = field?;
        match field.number {
            1 => port.element = Some(field.integer()?),
            2 => {
                let mut shape = Vec::new();
                for size in field.message()?.fields() {
                    let size = size?;
                    if size.number == 1 {
                        shape.push(read_size(size.message()?)?);
                    }
                }
                port.shape = Some(shape);
            }
            _ => {}
        }
    }
    Ok(())
}

fn read_size(message: Message<'_>) -> Result<Option<i64>, FormatError> {
    let mut size = None;
    for field in message.fields() {
        let field = field?;
        if field.number == 1 {
            size = Some(field.integer()?);
        }
    }
    Ok(size)
}

fn twice(field: &Field<'_>, key: &str) -> FormatError {
    FormatError::new(Place::Byte(field.range.start as u64), Problem::DuplicateKey { key: key.to_owned() })
}

fn value_twice(node: &Node<'_>, name: &str) -> FormatError {
    FormatError::new(node.place(), Problem::DuplicateKey { key: name.to_owned() })
}

pub(super) fn unsupported(place: Place, what: &str, advice: &'static str) -> FormatError {
    FormatError::new(place, Problem::Unsupported { what: what.to_owned(), advice })
}
