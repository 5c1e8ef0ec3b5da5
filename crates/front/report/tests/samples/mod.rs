//! Invented reports with every kind of outcome, for the tests and for viewing.

use secateur_report::{
    Along, Certificate, Claim, Counterexample, Evidence, ExampleRow, Feature, Indispensable, Model, Moment,
    Near, Outcome, Phase, Report, Run, ScoreInput, Scores, Split, SplitFate, Spread, Timing, TreeFate, Value,
};

/// All samples with their names.
pub(crate) fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("reduced", reduced()),
        ("minimal", minimal()),
        ("budget", budget()),
        ("counterexample", counterexample()),
        ("classes", classes()),
        ("identical", identical()),
        ("scores", scores()),
        ("limit", limit()),
        ("hostile", hostile()),
        ("hostile_scores", hostile_scores()),
        ("huge", huge()),
    ]
}

fn model(
    file: &str,
    trees: usize,
    leaves: usize,
    splits: usize,
    features: usize,
    bytes: u64,
    seconds: f64,
) -> Model {
    Model {
        file: file.to_owned(),
        framework: "scikit-learn 1.9, skops".to_owned(),
        trees,
        leaves,
        splits,
        features_used: features,
        bytes,
        digests: vec![(
            "file, BLAKE3".to_owned(),
            "9f2d8c31b07e4a56d1e8f90a7c3b2415860f7de2a94b1c6d3e5f708192a3b4c5".to_owned(),
        )],
        timing: Some(Timing { seconds_per_row: seconds, rows: 10_000 }),
        single_precision: false,
    }
}

fn value(feature: &str, value: &str) -> Value {
    Value { feature: feature.to_owned(), value: value.to_owned() }
}

fn phases(parts: [(&str, f64); 6]) -> Vec<Phase> {
    parts.into_iter().map(|(name, seconds)| Phase { name: name.to_owned(), seconds }).collect()
}

/// A pseudorandom number between 0 and 1, the same in every run.
fn noise(index: usize) -> f64 {
    let mixed = (index as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
}

fn features(names: &[&str], splits: usize, stays: impl Fn(usize, usize) -> SplitFate) -> Vec<Feature> {
    let feature = |(index, name): (usize, &&str)| Feature {
        name: (*name).to_owned(),
        splits: (0..1 + (noise(index + 77) * splits as f64) as usize)
            .map(|split| Split {
                place: format!("≤ {}", split as f64 * 0.75 + 1.5),
                fate: stays(index, split),
            })
            .collect(),
    };
    names.iter().enumerate().map(feature).collect()
}

const CREDIT: [&str; 9] = [
    "ExternalRiskEstimate",
    "MSinceOldestTradeOpen",
    "AverageMInFile",
    "NumSatisfactoryTrades",
    "PercentTradesNeverDelq",
    "MSinceMostRecentInqexcl7days",
    "NetFractionRevolvingBurden",
    "NumRevolvingTradesWBalance",
    "MaxDelqEver",
];

/// 200 stumps became 17 trees.
pub(crate) fn reduced() -> Report {
    let stay = [3usize, 11, 18, 29, 34, 52, 60, 71, 88, 97, 103, 120, 134, 151, 166, 180, 197];
    let trees = (0..200)
        .map(|tree| match tree {
            _ if stay.contains(&tree) => TreeFate::Reweighted,
            _ if tree % 3 != 0 => TreeFate::Merged(stay[tree % 17]),
            _ if tree == 9 => TreeFate::Constant,
            _ => TreeFate::Eliminated,
        })
        .collect();
    let spreads = (0..200)
        .map(|tree| Spread {
            before: 2.0 * (0.1 + noise(tree) / (1.0 + tree as f64 / 25.0)),
            after: if stay.contains(&tree) { 40.0 + 1200.0 * noise(tree * 7) } else { 0.0 },
        })
        .collect();
    let history = (0..60)
        .map(|index| {
            let done = index as f64 / 59.0;
            Moment {
                seconds: 0.02 + 0.16 * done,
                points: 120 + (400.0 * done) as u64,
                best: if index < 12 {
                    200
                } else if index < 30 {
                    44
                } else {
                    44 - (27.0 * (done - 0.5) * 2.0) as usize
                },
                candidate: (index % 6 == 0).then_some(14 + index / 6),
                lower_bound: (17.0 * (done * 1.6).min(1.0)) as usize,
            }
        })
        .collect();
    Report {
        outcome: Outcome::Reduced,
        version: "secateur 0.2.0".to_owned(),
        models: [
            model("credit.skops", 200, 400, 17, 9, 412_332, 11.2e-6),
            model("credit-pruned.skops", 17, 34, 17, 9, 38_120, 1.3e-6),
        ],
        claim: Claim {
            band: 4.3e-13,
            probability: None,
            inputs: "every f32 number, in every column".to_owned(),
            threshold: None,
            limited_to: None,
            matching: None,
            classes: vec!["Good".to_owned(), "Bad".to_owned()],
            ..Claim::default()
        },
        lower_bound: Some(17),
        minimal: true,
        trees,
        spreads,
        features: features(&CREDIT, 4, |_, _| SplitFate::Relevant),
        evidence: Evidence {
            indispensable_trees: 0,
            relevant_splits: 17,
            examples: vec![
                Indispensable {
                    tree: None,
                    reason: "Crossing ExternalRiskEstimate ≤ 67.5 turns Bad into Good with all else as it is, so some \
                             tree must split there."
                        .to_owned(),
                    rows_needed: 2,
                    rows: [("67.5", "Bad", 0.021), ("67.50001", "Good", 0.44)]
                        .map(|(at, class, lead)| ExampleRow {
                            values: vec![
                                value("ExternalRiskEstimate", at),
                                value("AverageMInFile", "48.5"),
                                value("NetFractionRevolvingBurden", "38.5"),
                                value("MaxDelqEver", "missing"),
                            ],
                            class: class.to_owned(),
                            lead,
                        })
                        .to_vec(),
                },
            ],
        },
        run: Run {
            seconds: 0.2134,
            phases: phases([
                ("read", 0.0112),
                ("fold", 0.0021),
                ("lp", 0.0432),
                ("oracle", 0.1221),
                ("certificate", 0.0197),
                ("write", 0.0098),
            ]),
            oracle_calls: Some(42),
            points: Some(520),
            boxes: Some(0),
            history,
        },
        certificate: Some(Certificate { file: "credit.cert".to_owned(), bytes: 51_203, checked: true }),
        settings: vec![
            ("effort".to_owned(), "thorough".to_owned()),
            ("moves".to_owned(), "leaves".to_owned()),
            ("objective".to_owned(), "trees".to_owned()),
            ("seed".to_owned(), "0".to_owned()),
        ],
        ..Report::default()
    }
}

/// 50 deep trees, none of which can be removed.
pub(crate) fn minimal() -> Report {
    let names = [
        "Glucose",
        "BMI",
        "Age",
        "DiabetesPedigreeFunction",
        "BloodPressure",
        "Insulin",
        "Pregnancies",
        "SkinThickness",
    ];
    let example = |tree: usize, needed: usize| Indispensable {
        tree: Some(tree),
        reason: format!(
            "Without tree {tree} no nonnegative weights of the other trees decide these {needed} inputs as the original \
             does: weighted together, the demands contradict each other."
        ),
        rows_needed: needed,
        rows: (0..2)
            .map(|row| ExampleRow {
                values: names
                    .iter()
                    .enumerate()
                    .map(|(index, name)| {
                        value(name, &format!("{:.3}", 200.0 * noise(tree * 31 + row * 8 + index)))
                    })
                    .collect(),
                class: ["0", "1"][row].to_owned(),
                lead: 1e-3 + noise(tree + row) * 0.01,
            })
            .collect(),
    };
    Report {
        outcome: Outcome::AlreadyMinimal,
        version: "secateur 0.2.0".to_owned(),
        models: [
            model("pima.json", 50, 391, 162, 8, 61_220, 3.1e-6),
            model("pima-pruned.json", 50, 391, 162, 8, 61_220, 3.1e-6),
        ],
        claim: Claim {
            band: 1.1e-6,
            probability: Some([0.499_999_72, 0.500_000_28]),
            inputs: "every f32 number, missing values, in every column".to_owned(),
            threshold: None,
            limited_to: None,
            matching: None,
            classes: vec!["0".to_owned(), "1".to_owned()],
            ..Claim::default()
        },
        lower_bound: Some(50),
        minimal: true,
        trees: vec![TreeFate::Kept; 50],
        spreads: (0..50)
            .map(|tree| {
                let spread = 0.2 + noise(tree);
                Spread { before: spread, after: spread }
            })
            .collect(),
        features: features(
            &names,
            30,
            |_, split| if split % 4 == 0 { SplitFate::Relevant } else { SplitFate::Kept },
        ),
        evidence: Evidence {
            indispensable_trees: 50,
            relevant_splits: 0,
            examples: vec![example(0, 12), example(7, 23), example(19, 9), example(42, 31)],
        },
        run: Run {
            seconds: 4.81,
            phases: phases([
                ("read", 0.004),
                ("fold", 0.001),
                ("lp", 3.6),
                ("oracle", 1.1),
                ("certificate", 0.1),
                ("write", 0.005),
            ]),
            oracle_calls: Some(6),
            points: Some(1040),
            boxes: Some(0),
            history: (0..50)
                .map(|index| Moment {
                    seconds: 0.8 + 0.08 * index as f64,
                    points: 600 + 9 * index as u64,
                    best: 50,
                    candidate: None,
                    lower_bound: index + 1,
                })
                .collect(),
        },
        notes: vec!["The model is written unchanged: its bytes are those of the original.".to_owned()],
        ..Report::default()
    }
}

/// 500 trees; the time ran out at 311.
pub(crate) fn budget() -> Report {
    let mut report = reduced();
    report.outcome = Outcome::BudgetReached;
    report.models = [
        model("fraud.txt", 500, 12_210, 2_300, 43, 1_904_110, 96e-6),
        model("fraud-pruned.txt", 311, 7_744, 1_911, 39, 1_223_410, 60e-6),
    ];
    for model in &mut report.models {
        model.framework = "LightGBM 4.6, text".to_owned();
    }
    report.claim.band = 3.2e-14;
    report.claim.probability = Some([0.499_999_999_999_992, 0.500_000_000_000_008]);
    report.claim.classes = vec!["0".to_owned(), "1".to_owned()];
    report.lower_bound = Some(88);
    report.minimal = false;
    report.trees = (0..500)
        .map(|tree| match tree {
            _ if noise(tree) < 0.55 => TreeFate::Reweighted,
            _ if noise(tree) < 0.62 => TreeFate::Kept,
            _ if noise(tree) < 0.7 => TreeFate::Merged(tree / 2),
            _ if noise(tree) < 0.8 => TreeFate::Absorbed(tree / 2),
            _ => TreeFate::Eliminated,
        })
        .collect();
    let stay = report.trees.iter().filter(|fate| matches!(fate, TreeFate::Kept | TreeFate::Reweighted));
    report.models[1].trees = stay.count();
    report.spreads = report
        .trees
        .iter()
        .enumerate()
        .map(|(tree, fate)| Spread {
            before: noise(tree) * (1.0 + 300.0 / (tree as f64 + 30.0)),
            after: if matches!(fate, TreeFate::Kept | TreeFate::Reweighted) {
                noise(tree * 3) * 4.0
            } else {
                0.0
            },
        })
        .collect();
    let names: Vec<String> = (0..43).map(|index| format!("V{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    report.features = features(&names, 100, |feature, split| {
        if feature % 11 == 10 || noise(feature * 100 + split) < 0.2 {
            SplitFate::Irrelevant
        } else {
            SplitFate::Kept
        }
    });
    report.evidence = Evidence { indispensable_trees: 88, relevant_splits: 0, examples: Vec::new() };
    report.run.seconds = 1800.02;
    report.run.phases = phases([
        ("read", 0.3),
        ("fold", 0.8),
        ("lp", 912.0),
        ("oracle", 861.2),
        ("certificate", 24.0),
        ("write", 0.2),
    ]);
    report.run.boxes = Some(81_200_331);
    report.run.oracle_calls = Some(1_204);
    report.run.points = Some(88_120);
    report.run.history = (0..900)
        .map(|index| Moment {
            seconds: 2.0 * f64::from(index),
            points: 4_000 + 93 * u64::from(index as u32),
            best: 500 - (189.0 * (f64::from(index) / 900.0).sqrt()) as usize,
            candidate: (index % 40 == 3).then_some(300 - index as usize / 9),
            lower_bound: (index as usize / 10).min(88),
        })
        .collect();
    report.certificate = None;
    report.undecided = vec![
        "Trees 12, 77 and 130 were not tried: the time limit was reached.".to_owned(),
        "For tree 41 the solver gave no answer that could be checked.".to_owned(),
    ];
    report
}

/// A conversion to another format that decides differently.
pub(crate) fn counterexample() -> Report {
    let mut models = [
        model("churn.json", 100, 2_410, 1_211, 19, 512_331, 22e-6),
        model("churn.onnx", 100, 2_410, 1_211, 19, 301_008, 20e-6),
    ];
    models[0].framework = "XGBoost 3.4, JSON".to_owned();
    models[1].framework = "ONNX, onnxmltools 1.16".to_owned();
    for model in &mut models {
        model.single_precision = true;
    }
    let names = [
        "tenure",
        "MonthlyCharges",
        "TotalCharges",
        "Contract",
        "PaymentMethod",
        "InternetService",
        "SeniorCitizen",
    ];
    Report {
        outcome: Outcome::Different,
        version: "secateur 0.2.0".to_owned(),
        models,
        claim: Claim {
            band: 9.5e-7,
            probability: Some([0.499_999_76, 0.500_000_24]),
            inputs: "every f32 number, missing values, in every column".to_owned(),
            threshold: None,
            limited_to: None,
            matching: Some("by order (one of the models has no feature names)".to_owned()),
            classes: vec!["stays".to_owned(), "leaves".to_owned()],
            ..Claim::default()
        },
        counterexample: Some(Counterexample {
            values: names
                .iter()
                .zip([
                    "17.000002",
                    "70.350006",
                    "missing",
                    "Month-to-month",
                    "Electronic check",
                    "Fiber optic",
                    "0",
                ])
                .map(|(name, at)| value(name, at))
                .collect(),
            unused: 12,
            classes: ["stays".to_owned(), "leaves".to_owned()],
            scores: [vec![f64::from(-0.000_213_f32)], vec![f64::from(0.013_371_2_f32)]],
            in_libraries: true,
            near: Some(Near { row: 4_211, changed: 2 }),
        }),
        run: Run { seconds: 0.734, boxes: Some(18_221), ..Run::default() },
        settings: vec![("band".to_owned(), "auto".to_owned())],
        ..Report::default()
    }
}

/// A forest of 26 classes.
pub(crate) fn classes() -> Report {
    let mut report = reduced();
    let letters: Vec<String> = ('A'..='Z').map(|letter| letter.to_string()).collect();
    report.models = [
        model("letters.skops", 120, 7_680, 410, 16, 3_120_554, 44e-6),
        model("letters-pruned.skops", 96, 6_144, 395, 16, 2_490_001, 36e-6),
    ];
    report.claim.classes = letters;
    report.lower_bound = Some(61);
    report.minimal = false;
    report.trees = (0..120)
        .map(|tree| if tree % 5 == 2 { TreeFate::Eliminated } else { TreeFate::Reweighted })
        .collect();
    report.spreads = (0..120)
        .map(|tree| Spread {
            before: 1.0 / 120.0,
            after: if tree % 5 == 2 { 0.0 } else { noise(tree) / 50.0 },
        })
        .collect();
    report.evidence = Evidence { indispensable_trees: 61, relevant_splits: 0, examples: Vec::new() };
    report
}

/// Two models of many classes that decide alike.
pub(crate) fn identical() -> Report {
    let mut report = counterexample();
    report.outcome = Outcome::Identical;
    report.counterexample = None;
    report.claim.band = 0.0;
    report.claim.probability = None;
    report
}

/// Scores of two regressors: how far they can be apart.
pub(crate) fn scores() -> Report {
    let mut report = counterexample();
    report.outcome = Outcome::Measured;
    report.claim.classes.clear();
    let example = report.counterexample.take().expect("the sample has one");
    let along = |feature: &str, places: usize, here: usize| Along {
        feature: feature.to_owned(),
        distances: (0..places).map(|place| 0.25 * noise(place)).collect(),
        here,
        ends: ["-1.5".to_owned(), "missing".to_owned()],
    };
    report.scores = Some(Scores {
        at_most: Some(0.250_012_3),
        rounding: Some(3.25e-6),
        ended: true,
        what: "the raw scores".to_owned(),
        shown: Some(ScoreInput {
            values: example.values,
            unused: 3,
            scores: [1.5, 1.25],
            distance: 0.25,
            along: vec![along("tenure", 5_000, 4_999), along("Contract", 3, 0), along("fixed", 1, 0)],
            ..ScoreInput::default()
        }),
        ..Scores::default()
    });
    report
}

/// Scores that exceed a limit.
pub(crate) fn limit() -> Report {
    let mut report = scores();
    report.outcome = Outcome::Exceeds;
    let scores = report.scores.as_mut().expect("the sample has scores");
    (scores.within, scores.at_most, scores.rounding) = (Some(0.125), None, None);
    report
}

/// Texts about scores that try to inject markup.
pub(crate) fn hostile_scores() -> Report {
    let evil = "\"><script>document.title='broken'</script><img src=x onerror=alert(1)>\u{202e}' & `";
    let mut report = scores();
    report.claim.inputs = evil.to_owned();
    let scores = report.scores.as_mut().expect("the sample has scores");
    scores.what = evil.to_owned();
    let shown = scores.shown.as_mut().expect("the sample has an input");
    shown.values = vec![value(evil, evil)];
    shown.output = Some(evil.to_owned());
    shown.distance = f64::INFINITY;
    for along in &mut shown.along {
        along.feature = evil.to_owned();
        along.ends = [evil.to_owned(), evil.to_owned()];
        along.distances[0] = f64::NAN;
    }
    report
}

/// Every text tries to inject markup.
pub(crate) fn hostile() -> Report {
    let evil = "\"><script>document.title='broken'</script><img src=x onerror=alert(1)>\u{202e}' & `";
    let long = "W".repeat(5000);
    let mut report = counterexample();
    for model in &mut report.models {
        model.file = format!("{evil}{long}");
        model.framework = evil.to_owned();
        model.digests = vec![(evil.to_owned(), evil.to_owned())];
    }
    report.version = evil.to_owned();
    report.claim.inputs = evil.to_owned();
    report.claim.rows = Some(evil.to_owned());
    report.claim.matching = Some(evil.to_owned());
    report.claim.classes = vec![evil.to_owned(), long.clone()];
    report.notes = vec![evil.to_owned(), long.clone()];
    report.undecided = vec![evil.to_owned()];
    report.settings = vec![(evil.to_owned(), evil.to_owned())];
    report.certificate = Some(Certificate { file: evil.to_owned(), bytes: 1, checked: false });
    report.run.phases = vec![Phase { name: evil.to_owned(), seconds: 1.0 }];
    if let Some(example) = &mut report.counterexample {
        example.values = vec![value(evil, evil), value(&long, &long)];
        example.classes = [evil.to_owned(), long.clone()];
        example.scores = [vec![f64::NEG_INFINITY, 1e300], vec![f64::NAN, -0.0]];
    }
    report.trees = vec![TreeFate::Kept, TreeFate::Merged(0)];
    report.spreads = vec![Spread { before: f64::INFINITY, after: f64::NAN }, Spread::default()];
    report.features = vec![Feature {
        name: evil.to_owned(),
        splits: vec![Split { place: evil.to_owned(), fate: SplitFate::Irrelevant }],
    }];
    report.evidence = Evidence {
        indispensable_trees: 1,
        relevant_splits: 1,
        examples: vec![Indispensable {
            tree: None,
            reason: evil.to_owned(),
            rows_needed: 5,
            rows: vec![ExampleRow {
                values: vec![value(evil, evil)],
                class: evil.to_owned(),
                lead: f64::NAN,
            }],
        }],
    };
    report
}

/// More of everything than the page shows.
pub(crate) fn huge() -> Report {
    let mut report = budget();
    report.models[0].trees = 100_000;
    report.models[1].trees = 60_000;
    report.trees = (0..100_000)
        .map(|tree| if tree % 5 < 3 { TreeFate::Kept } else { TreeFate::Merged(tree / 2) })
        .collect();
    report.spreads =
        (0..100_000).map(|tree| Spread { before: noise(tree), after: noise(tree + 1) }).collect();
    let names: Vec<String> = (0..500).map(|index| format!("column {index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    report.features =
        features(
            &names,
            2000,
            |_, split| if split % 2 == 0 { SplitFate::Kept } else { SplitFate::Irrelevant },
        );
    report.claim.classes = (0..10_000).map(|class| format!("class {class}")).collect();
    report.undecided = (0..10_000).map(|tree| format!("Tree {tree} was not tried.")).collect();
    report.notes = report.undecided.clone();
    report.run.history = (0..100_000)
        .map(|index| Moment {
            seconds: f64::from(index) * 1e-3,
            points: 5,
            best: 100,
            candidate: Some(50),
            lower_bound: 3,
        })
        .collect();
    report
}
