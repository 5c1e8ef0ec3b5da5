//! The instruction sets of this processor, asked once: the processor says which instructions it
//! has, the operating system which registers it saves.

use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use core::sync::atomic::{AtomicU8, Ordering};

/// SSE4.2 and POPCNT.
pub(super) const SSE42: u8 = 1;
/// AVX2, and all of the above.
pub(super) const AVX2: u8 = 2;
/// AVX-512 F, BW, DQ and VL, and all of the above.
pub(super) const AVX512: u8 = 4;
/// AVX-512 VBMI, and all of the above.
pub(super) const VBMI: u8 = 8;

const ASKED: u8 = 128;

/// Does the processor have this instruction set?
pub(super) fn has(what: u8) -> bool {
    // The answer is kept because asking is slow. Threads that ask at the same time get the same
    // answer.
    static FOUND: AtomicU8 = AtomicU8::new(0);
    let mut found = FOUND.load(Ordering::Relaxed);
    if found & ASKED == 0 {
        found = ASKED | asked();
        FOUND.store(found, Ordering::Relaxed);
    }
    found & what == what
}

#[allow(unused_unsafe, reason = "before Rust 1.90 asking was unsafe")]
fn asked() -> u8 {
    if cfg!(miri) {
        // Miri executes none of these instructions, not even the one that asks.
        return 0;
    }
    let bit = |word: u32, bit: u32| word >> bit & 1 == 1;
    // SAFETY: every 64-bit x86 processor has this instruction. Question 0 returns the number of
    // questions.
    let (questions, first) = unsafe { (__cpuid(0).eax, __cpuid(1)) };
    let mut found = 0;
    if !(bit(first.ecx, 20) && bit(first.ecx, 23)) {
        return found;
    }
    found |= SSE42;
    // Without this bit a program cannot ask which registers the system saves when it switches
    // programs.
    if questions < 7 || !bit(first.ecx, 27) {
        return found;
    }
    // SAFETY: bit 27 (OSXSAVE) says that the system has enabled this instruction.
    let kept = unsafe { kept_registers() };
    // SAFETY: as above, and question 7 exists.
    let more = unsafe { __cpuid_count(7, 0) };
    // AVX2 needs the system to save registers of 128 bits and their upper halves (0x6), and AVX.
    if kept & 0x6 != 0x6 || !bit(first.ecx, 28) || !bit(more.ebx, 5) {
        return found;
    }
    found |= AVX2;
    // AVX-512 needs the system to save masks, upper halves and sixteen more registers (0xe6), and
    // F, DQ, BW and VL.
    if kept & 0xe6 != 0xe6 || ![16, 17, 30, 31].into_iter().all(|at| bit(more.ebx, at)) {
        return found;
    }
    found |= AVX512;
    if bit(more.ecx, 1) {
        found |= VBMI;
    }
    found
}

/// The registers that the system saves.
#[target_feature(enable = "xsave")]
fn kept_registers() -> u64 {
    // SAFETY: register 0 exists on every processor that has the instruction.
    unsafe { _xgetbv(0) }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn the_standard_library_finds_the_same() {
        let sse42 =
            std::arch::is_x86_feature_detected!("sse4.2") && std::arch::is_x86_feature_detected!("popcnt");
        let avx2 = sse42 && std::arch::is_x86_feature_detected!("avx2");
        let avx512 = avx2
            && std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512vl");
        let vbmi = avx512 && std::arch::is_x86_feature_detected!("avx512vbmi");
        let expected = [(SSE42, sse42), (AVX2, avx2), (AVX512, avx512), (VBMI, vbmi)];
        for (what, expected) in expected {
            assert_eq!(has(what), expected, "{what}");
        }
    }
}
