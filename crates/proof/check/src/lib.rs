//! `secateur-check ORIGINAL PRUNED CERTIFICATE`: does this certificate prove that the two models
//! decide alike, or that their scores are near? `secateur-check MODEL CERTIFICATE`: does it prove what
//! it says of one model?
//!
//! Exit codes: 0 valid; 1 invalid; 2 bad usage, or a file that cannot be read; 3 incomplete.

mod dumps;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use secateur_certificate::{
    Digest, PACKING_MAGIC, PackingRecord, ReadError, Reader, explain_claim, explain_step,
};
use secateur_checker::{
    Asked, Limits, Scorer, Verdict, aligned, check_and_dump, check_where, check_with_threads,
};
use secateur_formats::{DomainFile, ModelFile};
use secateur_model::{Domain, Ensemble};
use secateur_source::{Packed, PackingVerdict, at_threshold, check_packing, verdict_json};

const USAGE: &str = "\
Check a certificate that two models decide alike, or that their scores are near,
on every input or on every input of the domain that it names; what one model
does there; or that a packed model, or one written as source, has the same bits

Usage: secateur-check ORIGINAL PRUNED CERTIFICATE [OPTIONS]
       secateur-check MODEL CERTIFICATE [OPTIONS]
       secateur-check MODEL PACKED.spk CERTIFICATE [OPTIONS]
       secateur-check MODEL SOURCE.c CERTIFICATE [OPTIONS]
       secateur-check --explain[=N] CERTIFICATE
       secateur-check --kernel DIR

Options:
  --band BAND    Demand a claim: 0 for one about exact sums, ties included; or a
                 score for one about what the libraries decide, at least this
                 near to the original's decision boundary. A certificate with a
                 larger band, or of the other kind, is invalid
  --within EPS   Demand a claim about scores: that they are at most EPS apart. A
                 certificate with a larger distance, or one about decisions, is
                 invalid
  --domain FILE  Demand a claim about every input of this domain (TOML). A
                 certificate whose domain is smaller, or cannot be compared, is
                 invalid
  --threshold P  Demand a claim about decisions at this probability of class 1,
                 in place of the libraries' own rules. A certificate about
                 other decisions is invalid. Without this option, one about a
                 threshold is
  --every-input  Demand a claim about every input. A certificate that leaves
                 any out is invalid, and so is one for a model that reads f64
                 beside one that reads f32: it is about f32 numbers
  --where FILE   A model whose scores the claim's domain asks for; may be given
                 more than once. Models that the --domain file names are known
  --threads N    Check with N threads, each of which lays the models out for
                 itself; one unless given. The verdict is the same
  --dump DIR     Write each problem that the certificate has to solve, and its
                 proof, as text into a new or empty folder, so that another
                 kernel can check them (docs/spec/dump.md)
  --kernel DIR   Check such a folder with the kernel alone, without any model
  --json         Print one JSON object
  --explain[=N]  Print the certificate as text, with its first N steps (all
                 unless given). Nothing is checked
  -h, --help     Print this

Exit codes: 0 valid; 1 invalid; 2 bad usage or unreadable files; 3 incomplete.
";

/// The arguments of the command.
#[derive(Default, PartialEq)]
struct Arguments {
    files: Vec<PathBuf>,
    json: bool,
    /// The default is one.
    threads: Option<usize>,
    /// The number of steps to print.
    explain: Option<u64>,
    band: Option<f64>,
    within: Option<f64>,
    threshold: Option<f64>,
    every_input: bool,
    domain: Option<PathBuf>,
    /// Models whose scores the claim's domain may ask for.
    scorers: Vec<PathBuf>,
    /// Where problems and proofs are written.
    dump: Option<PathBuf>,
    /// A folder of problems and proofs to check.
    kernel: Option<PathBuf>,
}

impl Arguments {
    /// The requirements on the claim, except for a threshold, which depends on the files.
    fn asked<'a>(&self, domain: Option<&'a Domain>) -> Asked<'a> {
        Asked { band: self.band, within: self.within, every_input: self.every_input, domain }
    }
}

/// Runs the command and returns its exit code. The first argument is the name of the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    run_fitted(arguments, &|text| text.to_owned())
}

/// The same, with the answer for people passed through `fit`, for example to wrap it for a
/// terminal.
pub fn run_fitted(arguments: impl IntoIterator<Item = OsString>, fit: &dyn Fn(&str) -> String) -> u8 {
    let arguments = match parse(arguments.into_iter().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => return printed(USAGE, 0),
        Err(message) => return failed(&format!("{message}\n\n{USAGE}")),
    };
    match answer(&arguments) {
        Ok((text, code)) if arguments.json => printed(&text, code),
        Ok((text, code)) => printed(&fit(&text), code),
        Err(message) => failed(&message),
    }
}

fn parse(words: impl Iterator<Item = OsString>) -> Result<Option<Arguments>, String> {
    let mut arguments = Arguments::default();
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        match text.as_str() {
            "-h" | "--help" => return Ok(None),
            "--json" => arguments.json = true,
            "--every-input" => arguments.every_input = true,
            "--explain" => arguments.explain = Some(u64::MAX),
            "--band" => {
                let value = words.next().ok_or("--band needs a value")?;
                arguments.band = Some(band(&value.to_string_lossy())?);
            }
            "--within" => {
                let value = words.next().ok_or("--within needs a value")?;
                arguments.within = Some(within(&value.to_string_lossy())?);
            }
            "--threads" => {
                let value = words.next().ok_or("--threads needs a number")?;
                arguments.threads = Some(threads(&value.to_string_lossy())?);
            }
            _ if text.starts_with("--threads=") => {
                arguments.threads = Some(threads(&text["--threads=".len()..])?);
            }
            "--threshold" => {
                let value = words.next().ok_or("--threshold needs a value")?;
                arguments.threshold = Some(threshold(&value.to_string_lossy())?);
            }
            "--domain" => {
                arguments.domain = Some(words.next().ok_or("--domain needs a file")?.into());
            }
            "--where" => {
                arguments.scorers.push(words.next().ok_or("--where needs a file")?.into());
            }
            "--dump" => arguments.dump = Some(words.next().ok_or("--dump needs a folder")?.into()),
            "--kernel" => arguments.kernel = Some(words.next().ok_or("--kernel needs a folder")?.into()),
            _ if text.starts_with("--dump=") => arguments.dump = Some(text["--dump=".len()..].into()),
            _ if text.starts_with("--kernel=") => arguments.kernel = Some(text["--kernel=".len()..].into()),
            _ if text.starts_with("--threshold=") => {
                arguments.threshold = Some(threshold(&text["--threshold=".len()..])?);
            }
            _ if text.starts_with("--where=") => arguments.scorers.push(text["--where=".len()..].into()),
            _ if text.starts_with("--domain=") => {
                arguments.domain = Some(text["--domain=".len()..].into());
            }
            _ if text.starts_with("--explain=") => {
                let count = text["--explain=".len()..].parse();
                arguments.explain = Some(count.map_err(|_| format!("{text}: not a number of steps"))?);
            }
            _ if text.starts_with("--band=") => arguments.band = Some(band(&text["--band=".len()..])?),
            _ if text.starts_with("--within=") => {
                arguments.within = Some(within(&text["--within=".len()..])?);
            }
            _ if text.starts_with('-') && text.len() > 1 => return Err(format!("unknown option {text}")),
            _ => arguments.files.push(word.into()),
        }
    }
    if arguments.band.is_some() && arguments.within.is_some() {
        return Err(
            "--band demands a claim about decisions and --within one about scores; give one of them".into()
        );
    }
    if arguments.threshold.is_some() && arguments.within.is_some() {
        return Err(
            "--threshold demands a claim about decisions and --within one about scores; give one of them"
                .into(),
        );
    }
    if arguments.dump.is_some() && arguments.threads.is_some_and(|threads| threads > 1) {
        return Err("--dump writes what one thread checks; leave --threads out".into());
    }
    if arguments.kernel.is_some() {
        let alone =
            Arguments { kernel: arguments.kernel.clone(), json: arguments.json, ..Arguments::default() };
        return if arguments == alone {
            Ok(Some(arguments))
        } else {
            Err("--kernel DIR takes no models and no other option but --json".into())
        };
    }
    let fewest = if arguments.explain.is_some() { 1 } else { 2 };
    if (fewest..=3).contains(&arguments.files.len()) {
        return Ok(Some(arguments));
    }
    Err(format!(
        "{} files given; ORIGINAL PRUNED CERTIFICATE are needed, or MODEL CERTIFICATE",
        arguments.files.len()
    ))
}

fn threads(text: &str) -> Result<usize, String> {
    let most = 1 << 10;
    let threads = text.parse().ok().filter(|threads| (1..=most).contains(threads));
    threads.ok_or_else(|| format!("--threads {text}: give a number from 1 to {most}"))
}

fn band(text: &str) -> Result<f64, String> {
    let band = text.parse().ok().filter(|band: &f64| *band >= 0.0 && band.is_finite());
    band.ok_or_else(|| format!("{text:?} is not a band: give 0 or a positive number"))
}

fn threshold(text: &str) -> Result<f64, String> {
    let threshold = text.parse().ok().filter(|threshold: &f64| *threshold > 0.0 && *threshold < 1.0);
    threshold.ok_or_else(|| format!("{text:?} is not a threshold: give a number between 0 and 1"))
}

fn within(text: &str) -> Result<f64, String> {
    let within = text.parse().ok().filter(|within: &f64| *within >= 0.0 && within.is_finite());
    within.ok_or_else(|| format!("{text:?} is not a distance of scores: give 0 or a positive number"))
}

fn answer(arguments: &Arguments) -> Result<(String, u8), String> {
    if let Some(folder) = &arguments.kernel {
        return dumps::checked(folder, arguments.json);
    }
    let certificate = arguments.files.last().ok_or(USAGE)?;
    let open = || File::open(certificate).map_err(|error| format!("{}: {error}", certificate.display()));
    if let Some(most) = arguments.explain {
        return explain(certificate, open()?, most).map(|()| (String::new(), 0));
    }
    let unreadable = |error: ReadError| format!("{}: {error} ({})", certificate.display(), error.code());
    let alone = arguments.files.len() == 2;
    let packing = packing(certificate)?;
    let one_model = match &packing {
        Some(_) => false,
        None => Reader::new(open()?).map_err(unreadable)?.claim().is_about_one_model(),
    };
    if alone != one_model {
        let (about, files) = match one_model {
            true => ("one model", "MODEL CERTIFICATE"),
            false => ("two", "ORIGINAL PRUNED CERTIFICATE"),
        };
        return Err(format!("{}: this certificate is about {about}; give {files}", certificate.display()));
    }
    let original = read(&arguments.files[0])?;
    // One model is both.
    let second = if alone { None } else { Some(second(&arguments.files[1])?) };
    let asked = match &arguments.domain {
        Some(path) => {
            let told = |error| format!("{}: {error}", path.display());
            let digest = |model: &Ensemble| Digest::of(model).0;
            let file = DomainFile::read(path).and_then(|file| file.resolve(original.ensemble(), &digest));
            Some(file.map_err(told)?)
        }
        None => None,
    };
    let given = scorers(arguments, original.ensemble())?;
    let mut scorers: Vec<Scorer<'_>> =
        given.iter().map(|(model, name)| Scorer { model, name: name.as_str() }).collect();
    scorers.extend(asked.iter().flat_map(Scorer::of));
    if let Some((bytes, second)) = packing.zip(second.as_ref()) {
        if arguments.dump.is_some() {
            return Err(
                "--dump: the certificate of a packed model has no problems of its own to write".to_owned()
            );
        }
        let packed = match second {
            Second::Model(file) => Packed::File(file),
            Second::Source(bytes) => Packed::Source(bytes),
        };
        let verdict =
            check_packing(&original, packed, &scorers, &bytes, &|| false, arguments.threads.unwrap_or(1))
                .map_err(|error| format!("{}: {error} ({})", certificate.display(), error.code()))?;
        return answer_packing(
            &original,
            verdict,
            matches!(packed, Packed::Source(_)),
            asked.as_ref(),
            arguments,
        );
    }
    let pruned = match &second {
        None => &original,
        Some(Second::Model(pruned)) => pruned,
        Some(Second::Source(_)) => {
            return Err(format!(
                "{}: source is checked with the certificate that `secateur pack` wrote beside it, and {} is another kind",
                arguments.files[1].display(),
                certificate.display()
            ));
        }
    };
    let pruned_aligned = aligned(original.ensemble(), pruned.ensemble());
    let pruned_model = pruned_aligned.as_ref().unwrap_or(pruned.ensemble());
    let limits = Limits::default();
    let mut file = open()?;
    let models = [original.ensemble(), pruned_model];
    let verdict = match arguments.threads {
        Some(threads) if threads > 1 => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(|error| format!("{}: {error}", certificate.display()))?;
            check_with_threads(models[0], models[1], &scorers, &bytes, &limits, &|| false, threads)
        }
        _ => match &arguments.dump {
            Some(folder) => dumps::write(folder, |dump| {
                check_and_dump(models[0], models[1], &scorers, file, &limits, &|| false, dump)
            })?,
            None => check_where(models[0], models[1], &scorers, file, &limits, &|| false),
        },
    };
    let verdict = at_threshold(verdict.map_err(unreadable)?, arguments.threshold, [&original, pruned]);
    let verdict = verdict.asked_for(&arguments.asked(asked.as_ref()), original.ensemble());
    let code = match verdict {
        Verdict::Valid(_) => 0,
        Verdict::Invalid { .. } => 1,
        Verdict::Incomplete { .. } => 3,
    };
    let text = if arguments.json {
        serde_json::to_string_pretty(&verdict_json(&verdict, original.ensemble()))
            .map_err(|error| error.to_string())?
            + "\n"
    } else {
        verdict.words(original.ensemble())
    };
    Ok((text, code))
}

/// The models of `--where`, with their columns in the order of the original's, and their names.
fn scorers(arguments: &Arguments, original: &Ensemble) -> Result<Vec<(Ensemble, String)>, String> {
    let one = |path: &PathBuf| {
        let file = read(path)?;
        let model = aligned(original, file.ensemble()).unwrap_or_else(|| file.ensemble().clone());
        Ok((model, path.display().to_string()))
    };
    arguments.scorers.iter().map(one).collect()
}

/// The bytes of a certificate of a packing; `None` if the file is of another kind.
fn packing(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let unreadable = |error: io::Error| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    io::Read::by_ref(&mut file)
        .take(PACKING_MAGIC.len() as u64)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes != PACKING_MAGIC {
        return Ok(None);
    }
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Some(bytes))
}

/// The answer about a packed model.
fn answer_packing(
    original: &ModelFile,
    verdict: PackingVerdict,
    is_source: bool,
    asked: Option<&Domain>,
    arguments: &Arguments,
) -> Result<(String, u8), String> {
    let verdict = verdict.asked_for(&arguments.asked(asked), arguments.threshold, original);
    let code = match &verdict {
        PackingVerdict::Valid(_) => 0,
        PackingVerdict::Invalid(_) => 1,
        PackingVerdict::Incomplete(_) => 3,
    };
    let model = original.ensemble();
    if arguments.json {
        let text = serde_json::to_string_pretty(&verdict.json(model)).map_err(|error| error.to_string())?;
        return Ok((text + "\n", code));
    }
    Ok((verdict.words(is_source, model), code))
}

/// The second file: a model, or a model as source.
enum Second {
    Model(ModelFile),
    Source(Vec<u8>),
}

fn second(path: &Path) -> Result<Second, String> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("").to_ascii_lowercase();
    let is_source = matches!(ending.as_str(), "c" | "h" | "rs" | "wasm");
    if !is_source {
        return read(path).map(Second::Model);
    }
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Second::Source(bytes))
}

fn read(path: &Path) -> Result<ModelFile, String> {
    ModelFile::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Prints while it reads, because a certificate may be far larger than memory.
fn explain(path: &Path, file: File, most: u64) -> Result<(), String> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let told = |result: io::Result<()>| match result {
        // The reader of our output has closed it, for example `head`; this is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(String::new()),
        other => other.map_err(|error| format!("stdout cannot be written: {error}")),
    };
    let result = (|| {
        if let Some(bytes) = packing(path)? {
            let record =
                PackingRecord::parse(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            told(writeln!(out, "packing of the model {} as the file {}", record.original, record.packed))?;
            if let Some(pruning) = &record.pruning {
                let [model, proof] = [pruning.model.len(), pruning.certificate.len()];
                told(writeln!(
                    out,
                    "pruned first: a model of {model} bytes, with a certificate of {proof} bytes"
                ))?;
            }
            if let Some(leaves) = &record.quantised {
                let proof = |certificate: &Option<Vec<u8>>, none: &str| match certificate {
                    Some(bytes) => format!("with a certificate of {} bytes", bytes.len()),
                    None => none.to_owned(),
                };
                told(writeln!(
                    out,
                    "quantised leaves: scores within {:e}, {}; the same decisions {}",
                    leaves.within,
                    proof(&leaves.scores, "from the leaves of each tree"),
                    proof(&leaves.decisions, "not claimed")
                ))?;
            }
            return told(out.flush());
        }
        let unreadable = |error| format!("{}: {error}", path.display());
        let mut reader = Reader::new(file).map_err(unreadable)?;
        told(out.write_all(explain_claim(reader.claim()).as_bytes()))?;
        for number in 0..most {
            let Some(step) = reader.next_step().map_err(unreadable)? else { break };
            told(writeln!(out, "{number:>8}  {}", explain_step(&step)))?;
        }
        told(out.flush())
    })();
    match result {
        Err(message) if message.is_empty() => Ok(()),
        other => other,
    }
}

fn printed(text: &str, code: u8) -> u8 {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => failed(&format!("stdout: {error}")),
        _ => code,
    }
}

fn failed(message: &str) -> u8 {
    let _ = writeln!(io::stderr(), "error: {message}");
    2
}
