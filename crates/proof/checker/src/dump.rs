//! Writes problems and proofs as text (`docs/spec/dump.md`), so that others can check them with a
//! kernel of their own, and reads this text.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::io;

use num_bigint::{BigInt, Sign};
use secateur_kernel::{
    Constraints, Cover, Crossings, Cuts, Forest, Int, Limits, Node, Range, Refusal, Row, Step, Term, Tree,
    check,
};
use secateur_lower::{Lowered, Question, RoundingSaid};

/// Writes every problem and its proof while a certificate is checked.
pub struct Dump<'a> {
    /// Writes a file, given its name.
    write: &'a mut dyn FnMut(&str, &str) -> io::Result<()>,
    /// The axes and trees, which all problems share.
    forest: String,
    /// Comments for people who read the files.
    notes: String,
    stacks: String,
    /// The problem and the proof that are being written.
    open: Option<(String, String)>,
    problems: usize,
    bounds: String,
    failed: Option<io::Error>,
}

impl<'a> Dump<'a> {
    /// `write` is given the name of each file and its text.
    pub fn new(write: &'a mut dyn FnMut(&str, &str) -> io::Result<()>) -> Self {
        let empty = String::new;
        Self {
            write,
            forest: empty(),
            notes: empty(),
            stacks: empty(),
            open: None,
            problems: 0,
            bounds: empty(),
            failed: None,
        }
    }

    pub(crate) fn forest(&mut self, lowered: &Lowered<'_>) {
        let (text, forest) = (&mut self.forest, lowered.forest());
        for axis in 0..forest.axes().len() {
            let mut cells = lowered.axis(axis).peekable();
            let columns = cells.peek().into_iter().flatten().map(|(column, _)| column.0);
            line(text, &format!("# axis {axis} columns"), columns);
            for (cell, values) in cells.enumerate() {
                line(
                    text,
                    &format!("# cell {axis} {cell} input"),
                    values.iter().map(|(_, value)| format!("{value:?}")),
                );
            }
        }
        let [first, second] = lowered.trees();
        self.notes = format!("# trees of the original {first}, of the pruned model {second}\n");
        line(text, "axes", forest.axes());
        line(text, "sums", [forest.sums()]);
        for tree in forest.trees() {
            text.push_str("tree\n");
            for node in &tree.nodes {
                match node {
                    Node::Split { axis, cells, yes, no } => {
                        let cells = cells.iter().map(|(from, to)| format!("{from}-{to}"));
                        line(text, &format!("split {axis} {yes} {no}"), cells);
                    }
                    Node::Leaf(added) => {
                        line(
                            text,
                            "leaf",
                            added.iter().map(|(sum, value)| format!("{sum}:{}", decimal(value))),
                        );
                    }
                }
            }
        }
    }

    pub(crate) fn stack(&mut self, trees: &[u32]) {
        line(&mut self.stacks, "stack", trees);
    }

    pub(crate) fn begin(&mut self, rows: &[Row], question: Question, unit: i64, rounding: &RoundingSaid) {
        let asked = match question {
            Question::Classes { winner, other } => format!("classes {} {}", winner.0, other.0),
            Question::Output { output, below } => {
                format!("output {output} {}", if below { "below" } else { "above" })
            }
            Question::Class { class } => format!("class {}", class.0),
        };
        let rounding = match rounding {
            RoundingSaid::Nothing => "none".to_owned(),
            RoundingSaid::OverAll(bound) => format!("{bound:?}"),
            RoundingSaid::ByInput { bits, gap, fixed } => {
                let fixed: String = fixed.iter().map(|own| format!(" {own:?}")).collect();
                format!("by input bits {bits} gap {gap:?} fixed{fixed}")
            }
        };
        let notes = format!("# system {asked}\n# unit 2^{unit}\n# rounding {rounding}\n{}", self.notes);
        let mut problem = format!("secateur problem 1\n{notes}{}", self.forest);
        for row in rows {
            let terms = row.terms.iter().map(|(sum, factor)| format!("{sum}:{factor}"));
            line(&mut problem, &format!("row {}", decimal(&row.bound)), terms);
        }
        self.open = Some((problem, format!("secateur proof 1\n{}", self.stacks)));
    }

    pub(crate) fn step(&mut self, step: &Step) {
        let Some((_, text)) = &mut self.open else { return };
        match step {
            Step::Lens(multipliers) => line(text, "lens", multipliers),
            Step::Meet(axes) => line(text, "meet", axes),
            Step::Narrow { lens, axis, low, high } => line(text, "narrow", [lens, axis, low, high]),
            Step::Split { axis, cell, low_first } => {
                let first = if *low_first { "low" } else { "high" };
                line(text, "split", [&axis.to_string(), &cell.to_string(), first]);
            }
            Step::Close(lens) => line(text, "close", [lens]),
            Step::Cells => text.push_str("cells\n"),
            Step::Join { row, fixed } => line(text, &format!("join {row}"), fixed),
        }
    }

    /// Ends the present proof, whether it was accepted or refused.
    pub(crate) fn end(&mut self, excused: &BTreeSet<Vec<u32>>) {
        let Some((mut problem, proof)) = self.open.take() else { return };
        excused.iter().for_each(|cell| line(&mut problem, "excused", cell));
        let number = self.problems;
        self.problems += 1;
        self.put(&format!("{number:06}.problem"), &problem);
        self.put(&format!("{number:06}.proof"), &format!("{proof}end\n"));
    }

    pub(crate) fn bound(&mut self, text: fmt::Arguments<'_>) {
        let _ = writeln!(self.bounds, "{text}");
    }

    pub(crate) fn family(&mut self, family: &Constraints) {
        let Constraints { columns, at_most, balanced, counted } = family;
        let counted = if *counted { "counted" } else { "free" };
        self.bound(format_args!("family {columns} {at_most} {balanced} {counted}"));
    }

    pub(crate) fn cut(&mut self, terms: &[Term]) {
        self.bounds.push_str("cut\n");
        for term in terms {
            let numbers =
                |list: &[Int]| list.iter().map(|value| format!(" {}", decimal(value))).collect::<String>();
            let parts = [&term.columns, &term.at_most, &term.balanced].map(|list| numbers(list));
            self.bound(format_args!(
                "term {}{} ;{} ;{}",
                decimal(&term.multiplier),
                parts[0],
                parts[1],
                parts[2]
            ));
        }
    }

    pub(crate) fn cover(&mut self, bound: u64, costs: Option<&[u64]>) {
        line(&mut self.bounds, &format!("cover {bound}"), costs.unwrap_or_default());
    }

    pub(crate) fn dual(&mut self, denominator: u64, terms: &[(u32, u64)]) {
        let terms = terms.iter().map(|(cut, numerator)| format!("{cut}:{numerator}"));
        line(&mut self.bounds, &format!("dual {denominator}"), terms);
    }

    /// Writes the rest. An error is that of the first file that could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.end(&BTreeSet::new());
        if !self.bounds.is_empty() {
            let text = format!("secateur bounds 1\n{}end\n", self.bounds);
            self.put("bounds.proof", &text);
        }
        self.failed.map_or(Ok(()), Err)
    }

    fn put(&mut self, name: &str, text: &str) {
        if self.failed.is_none() {
            self.failed = (self.write)(name, text).err();
        }
    }
}

/// Writes a line: one word, then others, all separated by spaces.
fn line(text: &mut String, first: &str, rest: impl IntoIterator<Item = impl fmt::Display>) {
    text.push_str(first);
    for word in rest {
        let _ = write!(text, " {word}");
    }
    text.push('\n');
}

/// A number in decimal digits.
pub(crate) fn decimal(value: &Int) -> String {
    match value.to_i128() {
        Some(small) => small.to_string(),
        None => {
            let bytes: Vec<u8> = value.to_words().iter().flat_map(|word| word.to_le_bytes()).collect();
            BigInt::from_signed_bytes_le(&bytes).to_string()
        }
    }
}

/// The answer about one problem of a dump, or about its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The proof is accepted, after this many steps.
    Proved(usize),
    /// The proof is refused, at this step if a step is to blame.
    Refused(Refusal, Option<usize>),
}

/// Why a dump cannot be read: the line, counted from 1, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The line.
    pub line: usize,
    /// What is wrong.
    pub what: &'static str,
}

type Lines<'t> = Box<dyn Iterator<Item = (usize, Vec<&'t str>)> + 't>;

fn lines<'t>(text: &'t str, head: &'static str) -> Result<Lines<'t>, Unreadable> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut all = text.split('\n').enumerate().filter(|(_, text)| !text.starts_with('#'));
    match all.next() {
        Some((_, first)) if first == head => {}
        _ => return Err(Unreadable { line: 1, what: "the first line is not that of such a file" }),
    }
    Ok(Box::new(all.map(|(at, text)| (at + 1, text.split(' ').collect()))))
}

/// The columns that a family may have: a certificate's list is no longer, and a cover takes memory
/// for each of them.
const MOST_COLUMNS: u32 = 1 << 20;

/// Reads one number.
fn number<T: std::str::FromStr>(line: usize, word: &str) -> Result<T, Unreadable> {
    // Each number has one spelling: digits, with a minus sign if it is negative.
    let digits = word.strip_prefix('-').unwrap_or(word);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let short = digits == "0" && word == "0" || !digits.starts_with('0');
    let read = word.parse().ok().filter(|_| plain && short);
    read.ok_or(Unreadable { line, what: "a number was expected" })
}

fn numbers<T: std::str::FromStr>(line: usize, words: &[&str]) -> Result<Vec<T>, Unreadable> {
    words.iter().map(|word| number(line, word)).collect()
}

fn wide(line: usize, word: &str) -> Result<Int, Unreadable> {
    if let Ok(small) = number::<i128>(line, word) {
        return Ok(Int::from(small));
    }
    // Reading the decimal digits of a longer number would take too long.
    if word.len() > 1 << 14 {
        return Err(Unreadable { line, what: "a number has too many digits" });
    }
    let value: BigInt = number(line, word)?;
    let mut words: Vec<u64> = value.magnitude().to_u64_digits();
    words.push(0);
    let magnitude = Int::from_words(words);
    Ok(if value.sign() == Sign::Minus { magnitude.negated() } else { magnitude })
}

/// Two numbers with a sign between them.
fn pair(line: usize, word: &str, between: char) -> Result<(&str, &str), Unreadable> {
    word.split_once(between).ok_or(Unreadable { line, what: "two numbers were expected" })
}

/// Refuses a name that comes twice: it could be read in two ways.
fn once(line: usize, names: impl Iterator<Item = u32>) -> Result<(), Unreadable> {
    let mut seen = BTreeSet::new();
    let mut names = names;
    if names.all(|name| seen.insert(name)) {
        Ok(())
    } else {
        Err(Unreadable { line, what: "a sum is named twice" })
    }
}

fn wides(line: usize, words: &[&str]) -> Result<Vec<Int>, Unreadable> {
    words.iter().map(|word| wide(line, word)).collect()
}

/// Checks one problem and its proof, given as the text of a dump.
pub fn check_dump(problem: &str, proof: &str, limits: &Limits) -> Result<Answer, Unreadable> {
    let unexpected = |line| Unreadable { line, what: "no such line has a place here" };
    let (mut axes, mut sums, mut rows) = (None, None, Vec::new());
    let mut trees: Vec<Tree> = Vec::new();
    let mut excused: BTreeSet<Vec<u32>> = BTreeSet::new();
    let mut section = 0;
    for (at, words) in lines(problem, "secateur problem 1")? {
        // Axes, sums, trees, rows and excused cells come in this order.
        let place = ["axes", "sums", "tree", "row", "excused"].iter().position(|word| *word == words[0]);
        let place = place.unwrap_or(2);
        if place < section {
            return Err(unexpected(at));
        }
        section = place;
        match (words[0], &words[1..]) {
            ("axes", sizes) if axes.is_none() => axes = Some(numbers::<u32>(at, sizes)?),
            ("sums", [count]) if sums.is_none() => sums = Some(number::<u32>(at, count)?),
            ("tree", []) => trees.push(Tree { nodes: Vec::new() }),
            ("split", [axis, yes, no, cells @ ..]) => {
                let range = |word: &&str| -> Result<Range, Unreadable> {
                    let (from, to) = pair(at, word, '-')?;
                    Ok((number(at, from)?, number(at, to)?))
                };
                let cells = cells.iter().map(range).collect::<Result<_, _>>()?;
                let [axis, yes, no] = [axis, yes, no].map(|word| number(at, word));
                let tree = trees.last_mut().ok_or(unexpected(at))?;
                tree.nodes.push(Node::Split { axis: axis?, cells, yes: yes?, no: no? });
            }
            ("leaf", added) => {
                let one = |word: &&str| {
                    let (sum, value) = pair(at, word, ':')?;
                    Ok((number(at, sum)?, wide(at, value)?))
                };
                let added: Vec<(u32, Int)> = added.iter().map(one).collect::<Result<_, Unreadable>>()?;
                once(at, added.iter().map(|(sum, _)| *sum))?;
                trees.last_mut().ok_or(unexpected(at))?.nodes.push(Node::Leaf(added));
            }
            ("row", [bound, terms @ ..]) => {
                let one = |word: &&str| {
                    let (sum, factor) = pair(at, word, ':')?;
                    Ok((number(at, sum)?, number(at, factor)?))
                };
                let terms: Vec<(u32, i64)> = terms.iter().map(one).collect::<Result<_, Unreadable>>()?;
                once(at, terms.iter().map(|(sum, _)| *sum))?;
                rows.push(Row { terms, bound: wide(at, bound)? });
            }
            ("excused", cell) => {
                let cell: Vec<u32> = numbers(at, cell)?;
                let sizes: &[u32] = axes.as_deref().unwrap_or_default();
                if cell.len() != sizes.len() || cell.iter().zip(sizes).any(|(own, size)| own >= size) {
                    return Err(Unreadable { line: at, what: "no such cell is in the grid" });
                }
                excused.insert(cell);
            }
            _ => return Err(unexpected(at)),
        }
    }
    let missing = Unreadable { line: 1, what: "the file has no axes, no sums or no rows" };
    let (axes, sums) = axes.zip(sums).filter(|_| !rows.is_empty()).ok_or(missing)?;
    let forest = Forest::new(axes, sums, trees).map_err(|error| Unreadable { line: 1, what: error.what })?;
    let (stacks, steps) = steps_of(proof)?;
    let count = steps.len();
    let excuse = Box::new(|cell: &[u32]| excused.contains(cell));
    Ok(match check(&forest, &rows, &stacks, steps, excuse, *limits) {
        Ok(()) => Answer::Proved(count),
        Err((refusal, step)) => Answer::Refused(refusal, step),
    })
}

fn steps_of(proof: &str) -> Result<(Vec<Vec<u32>>, Vec<Step>), Unreadable> {
    let (mut stacks, mut steps, mut ended) = (Vec::new(), Vec::new(), false);
    for (at, words) in lines(proof, "secateur proof 1")? {
        let unexpected = Unreadable { line: at, what: "no such line has a place here" };
        if ended {
            return Err(unexpected);
        }
        steps.push(match (words[0], &words[1..]) {
            ("stack", trees) if steps.is_empty() => {
                stacks.push(numbers(at, trees)?);
                continue;
            }
            ("end", []) => {
                ended = true;
                continue;
            }
            ("lens", multipliers) => Step::Lens(numbers(at, multipliers)?),
            ("meet", axes) => Step::Meet(numbers(at, axes)?),
            ("narrow", [lens, axis, low, high]) => Step::Narrow {
                lens: number(at, lens)?,
                axis: number(at, axis)?,
                low: number(at, low)?,
                high: number(at, high)?,
            },
            ("split", [axis, cell, first @ ("low" | "high")]) => {
                Step::Split { axis: number(at, axis)?, cell: number(at, cell)?, low_first: *first == "low" }
            }
            ("close", [lens]) => Step::Close(number(at, lens)?),
            ("cells", []) => Step::Cells,
            ("join", [row, fixed @ ..]) => Step::Join { row: number(at, row)?, fixed: numbers(at, fixed)? },
            _ => return Err(unexpected),
        });
    }
    if ended { Ok((stacks, steps)) } else { Err(Unreadable { line: 1, what: "the last line is not `end`" }) }
}

/// Checks the bounds of a dump.
pub fn check_bounds_dump(text: &str, limits: &Limits) -> Result<Answer, Unreadable> {
    let mut family: Option<Constraints> = None;
    let mut cuts: Option<Cuts> = None;
    let mut terms: Option<Vec<Term>> = None;
    let mut cover: Option<Cover> = None;
    let mut crossings = Crossings::default();
    let (mut steps, mut ended) = (0, false);
    for (at, words) in lines(text, "secateur bounds 1")? {
        let unexpected = Unreadable { line: at, what: "no such line has a place here" };
        if ended {
            return Err(unexpected);
        }
        // A cut is complete as soon as a line comes that is not one of its terms.
        if words[0] != "term"
            && let (Some(terms), Some(cuts)) = (terms.take(), &mut cuts)
            && let Err(refusal) = cuts.add(&terms)
        {
            return Ok(Answer::Refused(refusal, Some(steps - 1)));
        }
        let inside = cover.is_some();
        let done = match (words[0], &words[1..]) {
            ("end", []) => {
                ended = true;
                continue;
            }
            ("family", [columns, at_most, balanced, counted @ ("counted" | "free")]) if family.is_none() => {
                let numbers = [columns, at_most, balanced].map(|word| number::<u32>(at, word));
                let [columns, at_most, balanced] = numbers;
                let columns = columns?;
                if columns > MOST_COLUMNS {
                    return Err(Unreadable { line: at, what: "a family has too many columns" });
                }
                let own = Constraints {
                    columns: columns as usize,
                    at_most: at_most? as usize,
                    balanced: balanced? as usize,
                    counted: *counted == "counted",
                };
                (family, cuts) = (Some(own), Some(Cuts::new(own, *limits)));
                continue;
            }
            ("term", [multiplier, rest @ ..]) if terms.is_some() => {
                let lists: Vec<&[&str]> = rest.split(|word| *word == ";").collect();
                let [columns, at_most, balanced] = lists[..] else { return Err(unexpected) };
                let term = Term {
                    multiplier: wide(at, multiplier)?,
                    columns: wides(at, columns)?,
                    at_most: wides(at, at_most)?,
                    balanced: wides(at, balanced)?,
                };
                terms.get_or_insert_default().push(term);
                continue;
            }
            ("cut", []) if !inside && cuts.is_some() => {
                terms = Some(Vec::new());
                Ok(false)
            }
            ("cover", [bound, costs @ ..]) if !inside => {
                let items = cuts.as_ref().ok_or(unexpected)?.items();
                let costs = if costs.is_empty() { None } else { Some(numbers(at, costs)?) };
                Cover::new(items, costs, number(at, bound)?).map(|own| {
                    cover = Some(own);
                    false
                })
            }
            ("branch", [item]) => cover.as_mut().ok_or(unexpected)?.branch(number(at, item)?).map(|()| false),
            ("dual", [denominator, parts @ ..]) => {
                let one = |word: &&str| {
                    let (cut, numerator) = pair(at, word, ':')?;
                    Ok((number(at, cut)?, number(at, numerator)?))
                };
                let parts: Vec<(u32, u64)> = parts.iter().map(one).collect::<Result<_, Unreadable>>()?;
                let (Some(cover), Some(cuts)) = (&mut cover, &cuts) else { return Err(unexpected) };
                cover.dual(cuts, number(at, denominator)?, &parts)
            }
            ("crossing", [column, low, high]) if !inside => {
                crossings.add(number(at, column)?, number(at, low)?, number(at, high)?).map(|()| false)
            }
            _ => return Err(unexpected),
        };
        match done {
            Err(refusal) => return Ok(Answer::Refused(refusal, Some(steps))),
            Ok(true) => cover = None,
            Ok(false) => {}
        }
        steps += 1;
    }
    match (ended, cover) {
        (false, _) => Err(Unreadable { line: 1, what: "the last line is not `end`" }),
        (true, Some(_)) => Ok(Answer::Refused(Refusal::Open, None)),
        (true, None) => Ok(Answer::Proved(steps)),
    }
}
