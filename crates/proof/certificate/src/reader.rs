//! Reads a certificate as a stream, and refuses everything that is not one.
//!
//! Every byte is accounted for: numbers have only one encoding, unknown kinds are refused, the end
//! states the number of steps, and nothing may follow it. The size of a step is limited, so that no
//! input makes the reader allocate more than a small multiple of what it has read.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::ZlibDecoder;
use num_bigint::BigUint;
use secateur_model::{ClassId, Cut, Domain, FeatureId, Near};
use thiserror::Error;

use crate::claim::{BandClaim, Claim, Effect, OutputRange, Statement};
use crate::digest::Digest;
use crate::encode as code;
use crate::step::{CoverTerm, CutTerm, Intercept, Slack, Step};
use crate::{LONGEST_LIST, LONGEST_NUMBER, MAGIC, MAGIC_2};

/// Why bytes are not a certificate.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum ReadError {
    #[error("step {step}: the file cannot be read: {source}")]
    Io { step: u64, source: io::Error },
    #[error("this is no certificate: it does not begin with \"secateur certificate\"")]
    Magic,
    #[error("a certificate of format {found:?}; this program reads formats 1 and 2")]
    Version { found: String },
    #[error("step {step}: the certificate ends before its end step")]
    Truncated { step: u64 },
    #[error("step {step}: the compressed data is damaged")]
    Compression { step: u64 },
    #[error("step {step}: a number that is too large or not in its shortest form")]
    Number { step: u64 },
    #[error("step {step}: {found} where a choice of {choices} is expected")]
    Choice { step: u64, found: u8, choices: u8 },
    #[error("step {step}: unknown kind {kind:#04x}")]
    UnknownStep { step: u64, kind: u8 },
    #[error("step {step}: {count} entries are more than the {limit} that are allowed")]
    TooLong { step: u64, count: u64, limit: u64 },
    #[error("the end counts {counted} steps, and there are {found}")]
    StepCount { counted: u64, found: u64 },
    #[error(
        "the domain of the claim contradicts itself, is not in its normal form, or has a part that is not known"
    )]
    Domain,
    #[error("something follows the end of the certificate")]
    Trailing,
}

impl ReadError {
    /// A short name for scripts and tests, which never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "malformed.io",
            Self::Magic => "malformed.magic",
            Self::Version { .. } => "malformed.version",
            Self::Truncated { .. } => "malformed.truncated",
            Self::Compression { .. } => "malformed.compression",
            Self::Number { .. } => "malformed.number",
            Self::Choice { .. } => "malformed.choice",
            Self::UnknownStep { .. } => "malformed.unknown_step",
            Self::TooLong { .. } => "malformed.too_long",
            Self::StepCount { .. } => "malformed.step_count",
            Self::Domain => "malformed.domain",
            Self::Trailing => "malformed.trailing",
        }
    }
}

const BUFFER: usize = 1 << 16;
/// A longer first line is not that of a certificate.
const LONGEST_LINE: usize = 64;
/// Memory is reserved for at most this many entries before they have been read.
const AHEAD: u64 = 1 << 10;

/// Hands out the steps of a certificate one by one.
#[derive(Debug)]
pub struct Reader<R: Read> {
    source: ZlibDecoder<BufReader<R>>,
    claim: Claim,
    buffer: Box<[u8]>,
    at: usize,
    filled: usize,
    steps: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the first line and the claim.
    pub fn new(input: R) -> Result<Self, ReadError> {
        let mut input = BufReader::with_capacity(BUFFER, input);
        let version = first_line(&mut input)?;
        let claim = Claim {
            original: Digest([0; 32]),
            pruned: Digest([0; 32]),
            statement: Statement::Decisions { band: BandClaim::Exact, local_rounding: false, cuts: None },
            domain: Domain::everything(),
        };
        let mut reader = Self {
            source: ZlibDecoder::new(input),
            claim,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            at: 0,
            filled: 0,
            steps: 0,
            ended: false,
        };
        reader.claim = reader.read_claim(version)?;
        Ok(reader)
    }

    /// The claim.
    pub fn claim(&self) -> &Claim {
        &self.claim
    }

    /// How many steps have been read.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The next step; `None` after the end step, if nothing follows it.
    pub fn next_step(&mut self) -> Result<Option<Step>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        let step = self.step()?;
        if let Step::End { steps, .. } = step {
            if steps != self.steps {
                return Err(ReadError::StepCount { counted: steps, found: self.steps });
            }
            self.nothing_follows()?;
            self.ended = true;
        } else {
            self.steps += 1;
        }
        Ok(Some(step))
    }

    fn read_claim(&mut self, version: u32) -> Result<Claim, ReadError> {
        let about = if version > 1 { self.choice(7)? } else { code::DECISIONS };
        let original = Digest(self.array()?);
        if about >= code::RANGE {
            let statement = self.read_statement(about)?;
            let domain = self.read_domain()?;
            return Ok(Claim { original, pruned: original, statement, domain });
        }
        let pruned = Digest(self.array()?);
        if about == code::SCORES {
            let within = self.float()?;
            let domain = self.read_domain()?;
            return Ok(Claim { original, pruned, statement: Statement::Scores { within }, domain });
        }
        let band = self.band()?;
        let domain = match version {
            1 if self.choice(2)? == 0 => Domain::everything(),
            1 => Domain::no_missing(),
            _ => self.read_domain()?,
        };
        let local_rounding = self.choice(2)? == 1;
        let cuts = if about == code::CUTS { Some([self.cut()?, self.cut()?]) } else { None };
        let statement = Statement::Decisions { band, local_rounding, cuts };
        Ok(Claim { original, pruned, statement, domain })
    }

    /// What a claim says of one model.
    fn read_statement(&mut self, about: u8) -> Result<Statement, ReadError> {
        Ok(match about {
            code::RANGE => Statement::Range { outputs: self.list(Self::output_range)? },
            code::CLASS | code::NEAR => {
                let allowed = self.ascending()?.into_iter().map(ClassId).collect();
                let cut = if self.choice(2)? == 1 { Some(self.cut()?) } else { None };
                let near = if about == code::NEAR { Some(Box::new(self.near()?)) } else { None };
                Statement::Class { allowed, cut, near }
            }
            _ => {
                let columns = self.ascending()?.into_iter().map(FeatureId).collect();
                let effect = match self.choice(3)? {
                    code::APART => Effect::Apart { within: self.float()? },
                    code::DECIDES => {
                        Effect::Decides { band: self.band()?, local_rounding: self.choice(2)? == 1 }
                    }
                    _ => Effect::Rises {
                        output: self.index()?,
                        falls: self.choice(2)? == 1,
                        bits: self.choice(2)? == 1,
                    },
                };
                Statement::Moves { columns, effect }
            }
        })
    }

    fn output_range(&mut self) -> Result<OutputRange, ReadError> {
        let output = self.index()?;
        let bits = self.choice(4)?;
        let mut limit = |bit: u8| if bits & bit != 0 { self.float().map(Some) } else { Ok(None) };
        Ok(OutputRange { output, at_least: limit(code::AT_LEAST)?, at_most: limit(code::AT_MOST)? })
    }

    fn band(&mut self) -> Result<BandClaim, ReadError> {
        Ok(match self.choice(2)? {
            0 => BandClaim::Exact,
            _ => BandClaim::Score(self.float()?),
        })
    }

    fn near(&mut self) -> Result<Near, ReadError> {
        let counted = self.choice(2)? == 1;
        let mut list = || {
            let values = self.list(Self::float)?;
            // Missing values and zeros are written in one way.
            let plain = |value: &f64| match value.is_nan() {
                true => value.to_bits() == f64::NAN.to_bits(),
                false => value.to_bits() != (-0.0f64).to_bits(),
            };
            if values.iter().all(plain) { Ok(values) } else { Err(ReadError::Domain) }
        };
        Ok(Near { row: list()?, than: list()?, weights: list()?, counted })
    }

    fn cut(&mut self) -> Result<Cut, ReadError> {
        Ok(Cut { score: self.float()?, gap: self.float()? })
    }

    #[inline]
    fn step(&mut self) -> Result<Step, ReadError> {
        let first = self.byte()?;
        let high = first >> 3;
        Ok(match first & 7 {
            code::CLOSE => Step::Close { lens: self.short(high)? },
            code::NARROW => {
                let lens = self.short(high)?;
                Step::Narrow { lens, axis: self.index()?, low: self.index()?, high: self.index()? }
            }
            kind @ (code::SPLIT_LOW_FIRST | code::SPLIT_HIGH_FIRST) => Step::Split {
                axis: self.short(high)?,
                cell: self.index()?,
                low_first: kind == code::SPLIT_LOW_FIRST,
            },
            code::CELLS if high == 0 => Step::Cells,
            code::JOIN => Step::Join { row: self.short(high)?, fixed: self.ascending()? },
            code::EXTENDED => self.extended(first)?,
            _ => return Err(ReadError::UnknownStep { step: self.steps, kind: first }),
        })
    }

    fn extended(&mut self, first: u8) -> Result<Step, ReadError> {
        Ok(match first >> 3 {
            code::STACK => Step::Stack { original: self.ascending()?, pruned: self.ascending()? },
            code::SYSTEM => Step::System {
                winner: self.index()?,
                other: self.index()?,
                slack: if self.choice(2)? == 0 { Slack::Global } else { Slack::Local },
            },
            // In other claims no step has this number.
            code::SCORE_SYSTEM if self.claim.has_score_systems() => {
                Step::ScoreSystem { output: self.index()?, below: self.choice(2)? == 1 }
            }
            code::CLASS_SYSTEM if matches!(self.claim.statement, Statement::Class { .. }) => {
                Step::ClassSystem { class: self.index()? }
            }
            code::SHOWN if self.claim.has_score_systems() && self.claim.is_about_one_model() => {
                Step::Shown { output: self.index()?, values: self.list(Self::float)? }
            }
            code::LENS => Step::Lens { multipliers: self.list(Self::number)? },
            code::MEET => Step::Meet { first: self.ascending()? },
            code::POINT => Step::Point { values: self.list(Self::float)? },
            code::COLUMNS => Step::Columns {
                intercept: match self.choice(4)? {
                    0 => Intercept::None,
                    1 => Intercept::Scaled,
                    2 => Intercept::Free,
                    _ => Intercept::Counted,
                },
                columns: self.list(Self::ascending)?,
            },
            code::CUT => Step::Cut { terms: self.list(Self::cut_term)? },
            code::COVER => Step::Cover {
                costs: if self.choice(2)? == 1 { Some(self.list(Self::number)?) } else { None },
                bound: self.number()?,
            },
            code::BRANCH => Step::Branch { column: self.index()? },
            code::DUAL => Step::Dual { denominator: self.number()?, terms: self.list(Self::cover_term)? },
            code::CROSSING => Step::Crossing {
                point: self.index()?,
                feature: self.index()?,
                low: self.float()?,
                high: self.float()?,
            },
            code::END => Step::End { steps: self.number()?, complete: self.choice(2)? == 1 },
            _ => return Err(ReadError::UnknownStep { step: self.steps, kind: first }),
        })
    }

    fn cut_term(&mut self) -> Result<CutTerm, ReadError> {
        let (point, winner, other) = (self.index()?, self.index()?, self.index()?);
        let length = self.number()?;
        if length > LONGEST_NUMBER {
            return Err(ReadError::TooLong { step: self.steps, count: length, limit: LONGEST_NUMBER });
        }
        let mut bytes = Vec::with_capacity(length as usize);
        for _ in 0..length {
            bytes.push(self.byte()?);
        }
        if bytes.last() == Some(&0) {
            return Err(ReadError::Number { step: self.steps });
        }
        Ok(CutTerm { point, winner, other, multiplier: BigUint::from_bytes_le(&bytes) })
    }

    fn cover_term(&mut self) -> Result<CoverTerm, ReadError> {
        Ok(CoverTerm { cut: self.index()?, numerator: self.number()? })
    }

    pub(crate) fn list<T>(
        &mut self,
        mut entry: impl FnMut(&mut Self) -> Result<T, ReadError>,
    ) -> Result<Vec<T>, ReadError> {
        let count = self.length()?;
        let mut list = Vec::with_capacity(count.min(AHEAD) as usize);
        for _ in 0..count {
            list.push(entry(self)?);
        }
        Ok(list)
    }

    fn ascending(&mut self) -> Result<Vec<u32>, ReadError> {
        let mut next = 0u64;
        self.list(|reader| {
            let value = reader.number()?.checked_add(next).and_then(|value| u32::try_from(value).ok());
            let value = value.ok_or(ReadError::Number { step: reader.steps })?;
            next = u64::from(value) + 1;
            Ok(value)
        })
    }

    fn length(&mut self) -> Result<u64, ReadError> {
        let count = self.number()?;
        if count > LONGEST_LIST {
            return Err(ReadError::TooLong { step: self.steps, count, limit: LONGEST_LIST });
        }
        Ok(count)
    }

    pub(crate) fn choice(&mut self, choices: u8) -> Result<u8, ReadError> {
        let found = self.byte()?;
        if found < choices { Ok(found) } else { Err(ReadError::Choice { step: self.steps, found, choices }) }
    }

    #[inline]
    fn short(&mut self, high: u8) -> Result<u32, ReadError> {
        if high != code::FOLLOWS {
            return Ok(high.into());
        }
        let value = self.index()?;
        if value < code::FOLLOWS.into() {
            return Err(ReadError::Number { step: self.steps });
        }
        Ok(value)
    }

    #[inline]
    pub(crate) fn index(&mut self) -> Result<u32, ReadError> {
        u32::try_from(self.number()?).map_err(|_| ReadError::Number { step: self.steps })
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, ReadError> {
        let mut value = 0u64;
        let mut shift = 0;
        loop {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            // No bits beyond 64, and no empty last byte.
            if shift > 63 || shift == 63 && part > 1 || byte == 0 && shift > 0 {
                return Err(ReadError::Number { step: self.steps });
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    pub(crate) fn float(&mut self) -> Result<f64, ReadError> {
        Ok(f64::from_bits(u64::from_le_bytes(self.array()?)))
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            *byte = self.byte()?;
        }
        Ok(bytes)
    }

    #[inline]
    fn byte(&mut self) -> Result<u8, ReadError> {
        if self.at == self.filled && !self.fill()? {
            return Err(ReadError::Truncated { step: self.steps });
        }
        let byte = self.buffer[self.at];
        self.at += 1;
        Ok(byte)
    }

    /// Is there more of the compressed stream?
    fn fill(&mut self) -> Result<bool, ReadError> {
        let step = self.steps;
        loop {
            match self.source.read(&mut self.buffer) {
                Ok(count) => {
                    (self.at, self.filled) = (0, count);
                    return Ok(count > 0);
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::UnexpectedEof => return Err(ReadError::Truncated { step }),
                    io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                        return Err(ReadError::Compression { step });
                    }
                    _ => return Err(ReadError::Io { step, source: error }),
                },
            }
        }
    }

    /// Demands that the stream ends here, with its checksum, and that the file ends with it.
    fn nothing_follows(&mut self) -> Result<(), ReadError> {
        if self.at != self.filled || self.fill()? {
            return Err(ReadError::Trailing);
        }
        let step = self.steps;
        let rest = self.source.get_mut().fill_buf().map_err(|source| ReadError::Io { step, source })?;
        if rest.is_empty() { Ok(()) } else { Err(ReadError::Trailing) }
    }
}

/// The version that the first line names.
fn first_line(input: &mut impl BufRead) -> Result<u32, ReadError> {
    let mut line = Vec::new();
    let failed = |source| ReadError::Io { step: 0, source };
    input.take(LONGEST_LINE as u64).read_until(b'\n', &mut line).map_err(failed)?;
    if line == MAGIC {
        return Ok(1);
    }
    if line == MAGIC_2 {
        return Ok(2);
    }
    let Some(version) = line.strip_prefix(b"secateur certificate ") else {
        return Err(if line.len() < MAGIC.len() && MAGIC.starts_with(&line) {
            ReadError::Truncated { step: 0 }
        } else {
            ReadError::Magic
        });
    };
    match version.strip_suffix(b"\n") {
        Some(version) => Err(ReadError::Version { found: String::from_utf8_lossy(version).into_owned() }),
        None if MAGIC.starts_with(&line) || MAGIC_2.starts_with(&line) => {
            Err(ReadError::Truncated { step: 0 })
        }
        None => Err(ReadError::Magic),
    }
}
