//! Any bytes as a SPIR-V module: it is refused, or each entry point is refused, or it compiles to valid instructions.

#![no_main]

use gem_coherency_fuzz::watch;
use gem_shader_compiler::{Error, Features, Options, Shader, Stage};
use intel_eu::{Platform, encodings, validate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| watch::nothing_lost(|| {
    let [first, module @ ..] = bytes else { return };
    let platforms: Vec<Platform> = Platform::all().collect();
    let platform = platforms[usize::from(*first) % platforms.len()];
    let options = Options { hoist_discard: first & 0x80 == 0 };
    let refused = |error: Error| assert!(!error.to_string().is_empty(), "{:?}", error.class());
    let entries = match Shader::read(module) {
        Ok(shader) => shader.entry_points().collect::<Vec<_>>(),
        Err(error) => return refused(error),
    };
    for entry in entries.iter().take(4) {
        let Ok(mut shader) = Shader::read(module) else { panic!("a module was read before") };
        let stage = entry.stage.unwrap_or(Stage::Compute);
        if let Err(error) = shader.specialize(&entry.name, stage, &[], &Features::of(platform)) {
            refused(error);
            continue;
        }
        match shader.compile(platform, &options) {
            Ok(shader) => {
                for (at, encoding) in encodings(&shader.code) {
                    let instruction = encoding
                        .and_then(|one| one.decode(platform))
                        .unwrap_or_else(|error| panic!("{platform} {at}: {error}"));
                    let broken = validate(platform, &instruction);
                    assert!(broken.is_empty(), "{platform} {at}: {}", broken[0]);
                }
            }
            Err(error) => refused(error),
        }
    }
}));
