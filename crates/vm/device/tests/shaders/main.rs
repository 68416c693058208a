//! Compiled shaders leave the bytes of `intel_eu::execute`, which shares no code.
//!
//! They are those of crates/shader/vectors, on the emulated execution units. A shader of which one instruction is changed does so, too, and most of these leave other bytes than
//! the unchanged one. `ci/shader-compiler` compares `intel_eu::execute` with a software device of Vulkan.

// The library alone uses a part of this.
#[allow(dead_code, unused_imports)]
#[path = "../../src/eu/mod.rs"]
mod eu;

use eu::layout::Form;
use eu::{Stop, Thread};
use gem_shader_compiler::{CompiledShader, Error};
use intel_eu::Platform;
use shader_judge::directives::{Case, Memory};
use shader_judge::{execution, plant, tools};
use std::io::Write;
use std::path::Path;

/// A platform of each form that the emulated GPU knows, but for the differences between gen8 and gen9.
const PLATFORMS: [(Platform, Form); 7] = [
    (Platform::Hsw, Form::Gen7),
    (Platform::Bdw, Form::Gen8),
    (Platform::Skl, Form::Gen8),
    (Platform::Glk, Form::Gen8),
    (Platform::Jsl, Form::Gen11),
    (Platform::Tgl, Form::Gen12),
    (Platform::Dg2, Form::XeHp),
];
/// Lanes of a thread.
const LANES: u32 = 0xffff;
/// Changes that are planted in a shader, and steps of a thread of one on the other interpreter.
const CHANGES: usize = 2;
const STEPS: u64 = 20_000;
/// Comparisons that find the same bytes, at least.
const LEAST: usize = 17;
/// The distance of the shaders that are compared, each on one platform; with EVERY_CASE in the environment (`ci/unit --all`), all are, on all.
const DISTANCE: usize = 6;

/// The surfaces of a shader, in the order of its binding table.
struct Surfaces(Vec<Vec<u8>>);

impl eu::memory::Memory for Surfaces {
    fn read(&mut self, binding: u8, offset: u64, bytes: &mut [u8]) -> Result<(), String> {
        let surface = self.0.get(usize::from(binding)).ok_or("no such surface")?;
        bytes.fill(0);
        let from = surface.get(offset as usize..).unwrap_or_default();
        bytes.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    fn write(&mut self, binding: u8, offset: u64, bytes: &[u8]) -> Result<(), String> {
        let surface = self.0.get_mut(usize::from(binding)).ok_or("no such surface")?;
        let to = surface.get_mut(offset as usize..).unwrap_or_default();
        to.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    fn read_line(&mut self, _: u8, _: [u64; 2], _: &mut [u8]) -> Result<(), String> {
        Err("a picture".into())
    }

    fn write_line(&mut self, _: u8, _: [u64; 2], _: &[u8]) -> Result<(), String> {
        Err("a picture".into())
    }
}

/// Runs a shader on the surfaces of a case.
fn run(case: &Case, shader: &CompiledShader, form: Form) -> Result<Memory, String> {
    let mut memory = case.memory();
    let bytes = shader.surfaces.iter().map(|used| memory.remove(&used.binding).ok_or("no directive"));
    let mut surfaces = Surfaces(bytes.collect::<Result<_, _>>()?);
    let sizes: Vec<_> = surfaces.0.iter().map(|bytes| bytes.len() as u32).collect();
    let constants = shader.constants(case.extent, &sizes);
    let code = eu::Shader::read(form, |offset| {
        let words = shader.code.get(offset as usize..).and_then(|rest| rest.as_chunks::<4>().0.first_chunk());
        words.map(|words| words.map(u32::from_le_bytes)).ok_or_else(|| "the shader's bytes end".to_owned())
    });
    for number in 0..shader.threads(case.extent).map_err(|error| error.to_string())? {
        let mut thread = Thread::new(form, LANES, &mut surfaces);
        thread.registers.set_dword(0, 1, number)?;
        for (index, word) in constants.iter().enumerate() {
            thread.registers.set_dword(1, index, *word)?;
        }
        match thread.run(&code) {
            Ok(()) => {}
            Err(Stop::Unknown(error)) => return Err(format!("thread {number}: {error}")),
            Err(Stop::Endless) => return Err(format!("thread {number} never ends")),
        }
    }
    memory.extend(shader.surfaces.iter().map(|used| used.binding).zip(surfaces.0));
    Ok(memory)
}

/// The comparisons.
#[derive(Default)]
struct Tally {
    shaders: usize,
    /// Comparisons that find the same bytes.
    compared: usize,
    /// Changed shaders that both run, and those of them that leave other bytes than the unchanged one.
    changed: usize,
    noticed: usize,
    /// Shaders that the compiler refuses: `ci/shader-compiler` judges that.
    not_compiled: Vec<String>,
    failures: Vec<String>,
}

impl Tally {
    fn shader(&mut self, case: &Case, module: &[u8], platform: Platform, form: Form) {
        let name = format!("{} {platform}", case.name);
        let shader = match execution::compile(case, module, platform, true) {
            Ok((shader, _)) => shader,
            Err(Error::Capability { .. }) if !case.needs.is_empty() => return,
            Err(error) if case.refused.as_ref().is_some_and(|why| error.to_string().contains(why)) => return,
            Err(error) => return self.not_compiled.push(format!("{name}: {error}")),
        };
        let expected = match execution::run(case, &shader, execution::STEPS) {
            Ok(outcome) => outcome.memory,
            Err(error) => return self.failures.push(format!("{name}: {error}")),
        };
        match run(case, &shader, form) {
            Ok(found) if found == expected => self.compared += 1,
            Ok(_) => return self.failures.push(format!("{name}: other bytes")),
            Err(error) => return self.failures.push(format!("{name}: {error}")),
        }
        let changed = plant::shaders(&shader);
        let count = changed.len().min(CHANGES);
        for number in 0..count {
            let shader = &changed[number * changed.len() / count];
            let one = execution::run(case, shader, STEPS);
            if let Some((one, other)) = one.ok().and_then(|one| Some((one, run(case, shader, form).ok()?))) {
                self.changed += 1;
                self.noticed += usize::from(other != expected);
                if one.memory != other {
                    self.failures.push(format!("{name}: other bytes of a changed shader"));
                }
            }
        }
    }
}

/// Prints a line that the test harness does not capture.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[test]
fn shaders_leave_the_same_bytes_on_both_interpreters() {
    let Ok(folder) = tools::Folder::new() else { panic!("no folder for modules") };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../crates/shader/vectors");
    let mut paths = Vec::new();
    for stage in ["compute", "fragment"] {
        let found = std::fs::read_dir(source.join(stage)).unwrap();
        paths.extend(found.map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    let all = std::env::var_os("EVERY_CASE").is_some();
    let mut tally = Tally::default();
    for (number, path) in paths.iter().enumerate().filter(|(number, _)| all || number % DISTANCE == 0) {
        let case = Case::read(path).unwrap();
        let module = match tools::module(path, &folder) {
            Ok(module) => module,
            Err(error) if error.contains("install glslang-tools") => {
                return say(&format!("{error}: 1 test skipped"));
            }
            Err(error) => panic!("{error}"),
        };
        tally.shaders += 1;
        for (place, (platform, form)) in PLATFORMS.into_iter().enumerate() {
            if all || place == number % PLATFORMS.len() {
                tally.shader(&case, &module, platform, form);
            }
        }
    }
    let Tally { shaders, compared, changed, noticed, not_compiled, failures } = tally;
    println!(
        "{shaders} shaders: {compared} comparisons find the same bytes; {noticed} of {changed} changes are noticed"
    );
    if !not_compiled.is_empty() {
        say(&format!("{not_compiled:#?}: {} comparisons skipped, of refused shaders", not_compiled.len()));
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(compared >= LEAST, "{compared} comparisons");
    assert!(noticed * 4 >= changed * 3, "{noticed} of {changed} changes are noticed");
}
