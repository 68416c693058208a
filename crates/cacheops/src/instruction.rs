//! The CPU's cache instructions.
#![deny(unsafe_code)]

use gem_coherency_policy::words;

words! {
    /// A cache-line instruction, in ascending order of preference.
    Instruction, "cache instruction in GEM_COHERENCY_CACHEOPS" {
        /// Flushes a line, ordered with other CLFLUSHes; every x86_64 CPU has it.
        Clflush = "clflush",
        /// Flushes a line, unordered with other lines.
        Clflushopt = "clflushopt",
        /// Writes a line back; the line may stay cached.
        Clwb = "clwb",
    }
}

words! {
    /// The instruction that stores whole lines non-temporally, in ascending order of preference.
    StoreInstruction, "store instruction in GEM_COHERENCY_CACHEOPS" {
        /// None: ordinary stores, and every line is written back.
        Mov = "mov-store",
        /// Non-temporal stores of 16 bytes (SSE2).
        Sse2 = "movntdq",
        /// Non-temporal stores of 32 bytes (AVX).
        Avx = "vmovntdq-ymm",
        /// Non-temporal stores of a line (AVX-512F).
        Avx512 = "vmovntdq-zmm",
    }
}

words! {
    /// The instruction that loads from write-combining memory, in ascending order of preference.
    LoadInstruction, "load instruction in GEM_COHERENCY_CACHEOPS" {
        /// Ordinary loads, each a separate memory read.
        Mov = "mov-load",
        /// Streaming loads, which read memory by lines (SSE4.1).
        Movntdqa = "movntdqa",
    }
}

#[cfg(test)]
std::thread_local! {
    /// The instructions that this thread executed since [`recorded`] was called last: the name, and the line's address.
    static EXECUTED: core::cell::RefCell<Vec<(&'static str, usize)>> = const { core::cell::RefCell::new(Vec::new()) };
}

/// Records an instruction that is about to be executed.
#[cfg(test)]
pub(super) fn record(instruction: &'static str, line: usize) {
    EXECUTED.with_borrow_mut(|all| all.push((instruction, line)));
}

/// Returns the instructions that this thread executed since the last call.
#[cfg(test)]
pub(super) fn recorded() -> Vec<(&'static str, usize)> {
    EXECUTED.take()
}
