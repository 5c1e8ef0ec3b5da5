//! Writes a certificate as a stream.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::claim::Claim;
use crate::encode::{encode, encode_claim};
use crate::magic;
use crate::step::Step;

/// The number of bytes that are collected before they are compressed.
const BLOCK: usize = 1 << 15;

/// Takes the steps of a certificate one by one. Without [`finish`](Self::finish) no reader accepts
/// what has been written.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: ZlibEncoder<W>,
    block: Vec<u8>,
    steps: u64,
    bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a certificate of this claim.
    pub fn new(mut out: W, claim: &Claim) -> io::Result<Self> {
        out.write_all(magic(claim.version()))?;
        let mut block = Vec::with_capacity(2 * BLOCK);
        encode_claim(claim, &mut block);
        // The lowest level suffices: steps compress well, and a higher level takes longer than the
        // search.
        Ok(Self { out: ZlibEncoder::new(out, Compression::new(1)), block, steps: 0, bytes: 0 })
    }

    /// Appends a step.
    pub fn step(&mut self, step: &Step) -> io::Result<()> {
        encode(step, &mut self.block);
        self.steps += 1;
        self.flush()
    }

    /// Appends steps that [`encode`](crate::encode()) has already turned into bytes.
    pub fn encoded(&mut self, bytes: &[u8], steps: u64) -> io::Result<()> {
        self.block.extend_from_slice(bytes);
        self.steps += steps;
        self.flush()
    }

    /// The number of steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Bytes of steps so far, before compression.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.block.len() as u64
    }

    /// Writes the end. `complete` says that every system has been proved.
    pub fn finish(mut self, complete: bool) -> io::Result<W> {
        let steps = self.steps;
        self.step(&Step::End { steps, complete })?;
        self.out.write_all(&self.block)?;
        self.out.finish()
    }

    /// Compresses all whole blocks. The compressor's output may depend on how much it is given at a
    /// time, and equal steps should give equal files however they arrive.
    fn flush(&mut self) -> io::Result<()> {
        let whole = self.block.len() / BLOCK * BLOCK;
        for block in self.block[..whole].chunks(BLOCK) {
            self.out.write_all(block)?;
        }
        self.block.drain(..whole);
        self.bytes += whole as u64;
        Ok(())
    }
}
