//! Damaged modules are refused, or compile. None panics, whatever its words are.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gem_shader_compiler::{Features, Options, Shader, Stage};
use intel_eu::Platform;

/// The modules, and the stages of their entry points with the name "main".
const MODULES: [(&str, &[u8], Stage); 6] = [
    ("control", include_bytes!("data/control.spv"), Stage::Compute),
    ("functions", include_bytes!("data/functions.spv"), Stage::Compute),
    ("widths", include_bytes!("data/widths.spv"), Stage::Compute),
    ("colour", include_bytes!("data/colour.spv"), Stage::Fragment),
    ("entries", include_bytes!("data/entries.spv"), Stage::Compute),
    ("entries", include_bytes!("data/entries.spv"), Stage::Fragment),
];
/// Returns a quarter of a number of cases, and all of them with EVERY_CASE in the environment (`ci/unit --all`).
fn cases(all: usize) -> usize {
    if std::env::var_os("EVERY_CASE").is_some() { all } else { all / 4 }
}

/// Words of a module's header.
const HEADER: usize = 5;

/// Numbers that look random, the same ones in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        // Marsaglia's xorshift64.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit
    }
}

/// Reads, specializes and compiles a module; returns whether it compiles for one of two platforms.
fn compiles(name: &str, how: &str, bytes: &[u8], stage: Stage) -> bool {
    let compile = || {
        let Ok(mut shader) = Shader::read(bytes) else { return false };
        if shader.specialize("main", stage, &[], &Features::of(Platform::Skl)).is_err() {
            return false;
        }
        let shaders =
            [Platform::Hsw, Platform::Tgl].map(|platform| shader.compile(platform, &Options::default()));
        shaders.iter().any(Result::is_ok)
    };
    catch_unwind(AssertUnwindSafe(compile)).unwrap_or_else(|_| panic!("{name} {stage}: {how}"))
}

/// Returns the words of a module.
fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Returns the bytes of words.
fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns the place of each instruction.
fn instructions(words: &[u32]) -> Vec<usize> {
    let mut places = vec![HEADER];
    while let Some(at) =
        places.last().map(|last| last + (words[*last] >> 16) as usize).filter(|at| *at < words.len())
    {
        places.push(at);
    }
    places
}

#[test]
fn whole_modules_compile() {
    for (name, module, stage) in MODULES {
        assert!(compiles(name, "whole", module, stage), "{name} {stage}");
    }
}

#[test]
fn every_truncation_is_refused() {
    for (name, module, stage) in MODULES {
        for length in 0..module.len() {
            assert!(
                !compiles(name, &format!("{length} bytes"), &module[..length], stage),
                "{name}: {length} bytes"
            );
        }
    }
}

#[test]
fn instructions_may_be_missing_or_doubled() {
    for (first, (name, module, stage)) in MODULES.into_iter().enumerate() {
        let words = words(module);
        // Every third one, or twelfth: each is compiled twice.
        for at in instructions(&words).into_iter().skip(first % 3).step_by(36 / cases(12)) {
            let end = at + (words[at] >> 16) as usize;
            let without = [&words[..at], &words[end..]].concat();
            compiles(name, &format!("without word {at}"), &bytes(&without), stage);
            let doubled = [&words[..end], &words[at..]].concat();
            compiles(name, &format!("twice word {at}"), &bytes(&doubled), stage);
        }
    }
}

#[test]
fn flipped_bits_are_refused_or_compile() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut shaders = 0;
    for (name, module, stage) in MODULES {
        for _ in 0..cases(600) {
            let mut damaged = module.to_vec();
            let flips: Vec<_> = (0..=random.below(3)).map(|_| random.below(8 * module.len())).collect();
            for flip in &flips {
                damaged[flip / 8] ^= 1 << (flip % 8);
            }
            shaders += u32::from(compiles(name, &format!("bits {flips:?}"), &damaged, stage));
        }
    }
    // Some are: the others are not refused for their first words only.
    assert!(shaders as usize >= cases(80), "{shaders}");
}

#[test]
fn replaced_words_are_refused_or_compile() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut shaders = 0;
    for (name, module, stage) in MODULES {
        let (words, places) = (words(module), instructions(&words(module)));
        for _ in 0..cases(1200) {
            let mut damaged = words.clone();
            let mut how = String::new();
            for _ in 0..=random.below(2) {
                let first = places[random.below(places.len())];
                let count = (words[first] >> 16) as usize;
                // An id becomes another one, an instruction another one of its length, or a word anything.
                let (at, word) = match random.below(8) {
                    0 => (first, words[first] & 0xffff_0000 | random.below(420) as u32),
                    1 => (first, words[places[random.below(places.len())]]),
                    2 => (first + random.below(count), random.next()),
                    3 => (first + random.below(count), random.below(6) as u32),
                    4 => (first + random.below(count), u32::MAX - random.below(3) as u32),
                    _ => (first + random.below(count), random.below(words[3] as usize) as u32),
                };
                damaged[at] = word;
                how += &format!("word {at} is {word:#x} ");
            }
            shaders += u32::from(compiles(name, &how, &bytes(&damaged), stage));
        }
    }
    assert!(shaders as usize >= cases(80), "{shaders}");
}

#[test]
fn every_opcode_is_read_or_refused() {
    let header = [0x0723_0203, 0x0001_0000, 0, 100, 0];
    let reads = |instruction: &[u32]| {
        let module = bytes(&[&header[..], instruction].concat());
        let read = || Shader::read(&module).is_ok();
        u32::from(catch_unwind(read).unwrap_or_else(|_| panic!("{instruction:#x?}")))
    };
    let (mut read, mut constants) = (0, 0);
    // Opcodes are below 8192: the last ones are about 6500.
    for opcode in 0..0x2000 {
        for count in 0..=4 {
            for operand in [0, 1, 0x6d61_696e, u32::MAX] {
                let operands = vec![operand; count as usize];
                read += reads(&[vec![(count + 1) << 16 | opcode], operands.clone()].concat());
                // OpSpecConstantOp of type 1 with result 2.
                constants += reads(&[vec![(count + 4) << 16 | 52, 1, 2, opcode], operands].concat());
            }
        }
    }
    assert!(read > 100 && constants > 100, "{read} {constants}");
}
