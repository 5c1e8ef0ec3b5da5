//! Models as WebAssembly, executed by an interpreter, give the exact predictor's bits on rows that
//! reach every leaf and threshold and on hostile rows. The checker reads a module back as the model
//! and as no other, and refuses a change of any byte.

use crate::common::{self, judged};
use fastrand::Rng;
use secateur_certificate::Digest;
use secateur_emit::{
    CoverRows, EmitError, Emitted, Expected, Form, LeafBits, NodeLayout, Style, Web, emit, page,
    wasm_cover_test, wrapper,
};
use secateur_formats::Link;
use secateur_model::{
    Accumulation, ClassLabels, Decision, Ensemble, EnsembleBuilder, FeatureId, Features, GroupId, Intake,
    InterceptPosition, NodeId, NumberType, Order, Output, Predictor, Split, Test, TreeBuilder,
};
use secateur_source::{SourceFile, bound_by_trees, quantised, same_source};
use secateur_testkit::{Shape, ensemble};
use wasmi::{Engine, Instance, Linker, Memory, Module, Store};

fn module(model: &Ensemble, leaves: Option<LeafBits>) -> Vec<u8> {
    emit(model, Style { leaves, ..common::exact(Form::Wasm, "model") }, &[]).unwrap().bytes
}

/// Does the checker accept these bytes for the model?
fn accepted(model: &Ensemble, bytes: &[u8]) -> bool {
    SourceFile::parse(bytes)
        .is_ok_and(|file| file.source() == Digest::of(model) && same_source(model, Link::None, &file).is_ok())
}

/// An instantiated module.
struct Running {
    store: Store<()>,
    instance: Instance,
    memory: Memory,
}

impl Running {
    fn new(bytes: &[u8]) -> Self {
        let engine = Engine::default();
        let module = Module::new(&engine, bytes).expect("it is a module");
        assert_eq!(module.imports().count(), 0);
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate_and_start(&mut store, &module).expect("it starts");
        let memory = instance.get_memory(&store, "memory").expect("it has a memory");
        Self { store, instance, memory }
    }

    fn number(&mut self, name: &str) -> i32 {
        let function = self.instance.get_typed_func::<(), i32>(&self.store, name).expect("it is exported");
        function.call(&mut self.store, ()).expect("it ends")
    }

    fn put(&mut self, row: &[f64]) {
        assert_eq!(self.number("features"), row.len() as i32);
        let at = self.number("row") as usize;
        let bytes: Vec<u8> = row.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.memory.write(&mut self.store, at, &bytes).expect("the row is within the memory");
    }

    fn raw(&mut self, row: &[f64]) -> Vec<u64> {
        self.put(row);
        let function = self.instance.get_typed_func::<(), ()>(&self.store, "raw").expect("it is exported");
        function.call(&mut self.store, ()).expect("it ends");
        let (at, outputs) = (self.number("scores") as usize, self.number("outputs") as usize);
        let mut bytes = vec![0; 8 * outputs];
        self.memory.read(&self.store, at, &mut bytes).expect("the scores are within the memory");
        bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect()
    }

    fn class(&mut self, row: &[f64]) -> i32 {
        self.put(row);
        self.number("class")
    }
}

/// Checks that the module gives this model's scores and classes.
fn compare(label: &str, model: &Ensemble, bytes: &[u8], rows: Vec<f64>) {
    let judged = common::judge(model, rows);
    let mut running = Running::new(bytes);
    let outputs = model.group_count();
    for (at, row) in judged.rows.chunks(model.features().len().max(1)).enumerate() {
        let expected: Vec<u64> =
            judged.scores[at * outputs..][..outputs].iter().map(|score| score.to_bits()).collect();
        assert_eq!(running.raw(row), expected, "{label}, row {row:?}");
        // Ties after an exponential function may be decided either way.
        let class = match model.decision() {
            Decision::Scores(_) => -1,
            Decision::Threshold { .. } | Decision::Argmax => judged.classes[at] as i32,
            _ => {
                let scores = &judged.scores[at * outputs..][..outputs];
                let found = running.class(row);
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let near = (largest - scores[found as usize]).abs() <= 1e-6 * largest.abs().max(1.0);
                if near { found } else { judged.classes[at] as i32 }
            }
        };
        assert_eq!(running.class(row), class, "{label}, row {row:?}");
    }
}

fn random_models(rng: &mut Rng, count: usize) -> Vec<Ensemble> {
    let mut models = Vec::new();
    while models.len() < count {
        let mut shape = Shape { weighted: false, ..Shape::random(rng) };
        shape.thresholds = rng.u32(1..=40);
        shape.depth = rng.u32(0..=5);
        models.push(ensemble(rng, &shape));
    }
    models
}

#[test]
fn random_models_have_the_exact_bits() {
    let mut rng = Rng::with_seed(51);
    for (index, model) in random_models(&mut rng, 150).iter().enumerate() {
        let bytes = module(model, None);
        assert!(accepted(model, &bytes), "model {index}");
        let rows = judged(model, &mut rng).rows;
        compare(&format!("model {index}"), model, &bytes, rows);
    }
}

#[test]
fn committed_models_of_every_library_have_the_exact_bits() {
    let mut rng = Rng::with_seed(52);
    let models = common::fixtures();
    assert!(models.len() > 50, "{}", models.len());
    for (name, file) in &models {
        let model = file.ensemble();
        let bytes = module(model, None);
        assert!(accepted(model, &bytes), "{name}");
        let mut rows = judged(model, &mut rng).rows;
        rows.truncate(400 * model.features().len().max(1));
        compare(name, model, &bytes, rows);
    }
}

/// A quantised module computes the model that the checker reads from it.
#[test]
fn quantised_models_compute_what_the_checker_reads() {
    let mut rng = Rng::with_seed(53);
    let (mut seen, mut several) = (0, 0);
    for (index, model) in random_models(&mut rng, 120).iter().enumerate() {
        let bits = if rng.bool() { LeafBits::Eight } else { LeafBits::Sixteen };
        let style = Style { leaves: Some(bits), ..common::exact(Form::Wasm, "model") };
        let Ok(Emitted { bytes, .. }) = emit(model, style, &[]) else { continue };
        let file = SourceFile::parse(&bytes).unwrap();
        assert!(same_source(model, Link::None, &file).is_err());
        let read =
            quantised(model, Link::None, &file).unwrap_or_else(|error| panic!("model {index}: {error}"));
        assert!(bound_by_trees(model, &read.model).is_some());
        compare(&format!("model {index}"), &read.model, &bytes, judged(model, &mut rng).rows);
        seen += 1;
        several += usize::from(model.group_count() > 1);
    }
    assert!(seen > 80 && several > 20, "{seen} models, {several} of several scores");
}

/// Tables with numbers of two and of four bytes.
#[test]
fn wide_tables_have_the_exact_bits() {
    let mut rng = Rng::with_seed(54);
    // Numbers of two bytes, and of four.
    for length in [300, 66_000] {
        for number in [NumberType::F32, NumberType::F64] {
            let model = chain(&mut rng, number, length);
            let bytes = module(&model, None);
            assert!(accepted(&model, &bytes));
            // All inner nodes after the first split are on its left, which makes its number of them
            // the largest possible.
            let rows = (0..600).map(|_| f64::from(rng.i32(-9000..9000)) / 16.0).collect();
            compare("a chain", &model, &bytes, rows);
        }
    }
}

/// A tree that splits two columns at many thresholds: each split has the next one on its left and a
/// leaf on its right.
fn chain(rng: &mut Rng, number: NumberType, length: u32) -> Ensemble {
    let intake = Intake { number, missing: true, infinities: true, zero_window: None };
    let accumulation =
        Accumulation { number, intercept: InterceptPosition::First, order: Order::File, average: None };
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.25, strict: true };
    let (features, classes) = (Features::unnamed(2), ClassLabels::Unnamed(2));
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, vec![0.5], accumulation, decision).unwrap();
    let mut tree = TreeBuilder::new();
    for at in 0..length {
        let threshold = number.round(f64::from(rng.i32(-9000..9000)) / 16.0 - f64::from(at) / 4096.0);
        let test = match rng.u32(0..3) {
            0 => Test::Less { threshold },
            1 => Test::LessOrEqualButZero { threshold, zero_left: rng.bool() },
            _ => Test::LessOrEqual { threshold },
        };
        let split = Split { feature: FeatureId(rng.u32(0..2)), test, missing_left: rng.bool() };
        tree.split(split, NodeId(2 * at + 2), NodeId(2 * at + 1));
        tree.leaf(&[number.round(f64::from(rng.i32(-99..99)) / 7.0)]);
    }
    tree.leaf(&[1.0]);
    builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    builder.build()
}

#[test]
fn every_changed_byte_is_refused() {
    let mut rng = Rng::with_seed(55);
    let mut tried = 0;
    for model in random_models(&mut rng, 12) {
        let bytes = module(&model, None);
        assert!(accepted(&model, &bytes));
        for at in 0..bytes.len() {
            for other in [bytes[at] ^ 1, bytes[at] ^ 1 << rng.u32(0..8), rng.u8(..)] {
                // No comparison distinguishes the sign of a zero.
                let sign = bytes[at] & 0x7f == 0 && other & 0x7f == 0;
                if other == bytes[at] || sign {
                    continue;
                }
                let mut changed = bytes.clone();
                changed[at] = other;
                tried += 1;
                assert!(!accepted(&model, &changed), "byte {at}: {:#x} -> {other:#x}", bytes[at]);
            }
        }
        for cut in 0..bytes.len() {
            assert!(!accepted(&model, &bytes[..cut]), "cut at {cut}");
        }
        // Adds a section: one of a kind that engines ignore, and one that they would execute.
        assert!(!accepted(&model, &[&bytes[..], &[0, 2, 1, b'x']].concat()));
        assert!(!accepted(&model, &[&bytes[..8], &[0, 2, 1, b'x'], &bytes[8..]].concat()));
        assert!(!accepted(&model, &[&bytes[..], &[8, 1, 0]].concat()));
    }
    assert!(tried > 100_000, "{tried}");
}

/// For any change to the numbers of a module, reading it ends, comparing it with a model does not
/// panic, and a module read as quantised keeps its promises.
#[test]
fn hostile_modules_break_no_promise() {
    let mut rng = Rng::with_seed(56);
    let models: Vec<Ensemble> =
        random_models(&mut rng, 30).into_iter().filter(|model| model.rounding().is_some()).take(8).collect();
    let written: Vec<[Vec<u8>; 2]> =
        models.iter().map(|model| [module(model, None), module(model, Some(LeafBits::Eight))]).collect();
    let mut read = 0;
    let cases = 6000;
    for case in 0..cases {
        let model = &models[case % models.len()];
        let mut bytes = written[case % models.len()][rng.usize(0..2)].clone();
        for _ in 0..rng.usize(1..4) {
            // The data and its tables are at the end.
            let at = bytes.len() - 1 - rng.usize(0..bytes.len() / 2);
            bytes[at] = if rng.bool() { rng.u8(0..4) } else { rng.u8(..) };
        }
        let Ok(file) = SourceFile::parse(&bytes) else { continue };
        read += 1;
        let same = same_source(model, Link::None, &file).is_ok();
        if let Ok(found) = quantised(model, Link::None, &file) {
            assert!(!same, "a file is the model itself, or its leaves are quantised");
            assert!(bound_by_trees(model, &found.model).is_some(), "sums that stay within their type");
            let rows = judged(model, &mut rng).rows;
            let scores = Predictor::new(&found.model).raw_scores(&rows).unwrap();
            assert!(scores.iter().all(|score| (score / found.unit).abs() < 2f64.powi(31)));
        }
    }
    assert!(read * 20 > cases, "only {read} of {cases} could be read: the changes are too coarse");
}

/// A module has only one layout, compares floats, and leaves probabilities to its wrapper.
#[test]
fn what_a_module_does_not_have_is_refused() {
    let mut rng = Rng::with_seed(58);
    let model = &random_models(&mut rng, 1)[0];
    let style = common::exact(Form::Wasm, "model");
    let refused = |style| emit(model, style, &[]).unwrap_err();
    for nodes in [NodeLayout::Small, NodeLayout::Fast] {
        assert_eq!(refused(Style { nodes, ..style }), EmitError::Layout);
    }
    assert_eq!(refused(Style { keys: true, ..style }), EmitError::Keys);
    assert_eq!(refused(Style { probabilities: Some(Link::None), ..style }), EmitError::NoProbabilities);
    // A module whose comment names one of these parts is refused.
    let bytes = module(model, None);
    let at = bytes.windows(9).position(|window| window == b" * parts:").unwrap();
    assert!(accepted(model, &bytes));
    for part in ["tests", "small", "probabilities"] {
        let mut text = bytes.clone();
        text.splice(at + 10..at + 10, format!("{part} ").bytes());
        assert!(!accepted(model, &text), "{part}");
    }
}

/// The files that accompany a module refer to it, and no name of a column or class ends its quotes.
#[test]
fn wrapper_page_and_test_are_written() {
    let mut rng = Rng::with_seed(57);
    let model = &random_models(&mut rng, 1)[0];
    let labels = ClassLabels::Strings(vec!["</script>".into(), "a\"b".into()]);
    let web = Web { model, link: Link::None, labels: &labels, file: "house.wasm", quantised: false };
    let text = wrapper(&web);
    assert!(text.contains("new URL(\"./house.wasm\", import.meta.url)"), "{text}");
    assert!(text.contains("this model has no probabilities"), "{text}");
    let bytes = module(model, None);
    let text = page(&web, &bytes);
    assert!(text.matches("</script>").count() == 1 && text.contains("<title>house</title>"), "{text}");
    let judged = judged(model, &mut rng);
    let cover = CoverRows {
        rows: &judged.rows,
        expected: Expected::Scores(&judged.scores),
        classes: &judged.classes,
    };
    let text = wasm_cover_test(model, "house.wasm", &cover);
    assert!(text.contains("./house.wasm") && text.contains("0x"), "{text}");
}
