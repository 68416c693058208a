//! Judges the compiler: compiles shaders for several platforms, executes them, and compares their surfaces with those of a software device of
//! Vulkan, byte by byte.
//!
//! ```console
//! $ cargo run -p shader-judge -- crates/shader/vectors [--all] [--random FIRST COUNT] [NAME...]
//! $ cargo run -p shader-judge -- crates/shader/vectors --driver PLATFORM
//! ```
//! The README beside the shaders describes their directives. Each shader is compiled with discards hoisted and at their place, and
//! each of its instructions is validated. Without `--all`, a shader is compiled for one of the platforms, in turn. With `--random`,
//! COUNT shaders at random follow, of the seeds from FIRST on; the text of one that fails is printed. With a NAME, only shaders whose names
//! contain it are judged.
//!
//! Changes are planted in shaders and in modules. The judge fails if a comparison does, or if too many changes are not noticed.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;

use gem_shader_compiler::{CompiledShader, Error, Stage};
use intel_eu::Platform;
use shader_judge::directives::{Case, Memory};
use shader_judge::execution::Outcome;
use shader_judge::tally::{Planted, Tally};
use shader_judge::tools::Folder;
use shader_judge::vulkan::Vulkan;
use shader_judge::{driver, execution, plant, random, tools, vulkan};

/// The platforms, one of each kind of encoding and of features.
const PLATFORMS: [Platform; 8] = [
    Platform::Hsw,
    Platform::Bdw,
    Platform::Skl,
    Platform::Glk,
    Platform::Jsl,
    Platform::Tgl,
    Platform::Dg2,
    Platform::Mtl,
];
/// Platforms of a module without `--all`.
const SAMPLE: usize = 1;
/// Changes that are planted in a shader.
const CHANGES: usize = 4;
/// Modules that wait to be judged, at most.
const AHEAD: usize = 8;
/// Modules that are judged, at least.
const LEAST_JUDGED: usize = 100;

/// The shaders and platforms to judge.
struct Arguments {
    /// The folder of shaders.
    folder: PathBuf,
    /// Parts of names; all shaders if there are none.
    names: Vec<String>,
    /// Platforms of each module.
    platforms: usize,
    /// Seeds of shaders at random.
    seeds: std::ops::Range<u64>,
    /// The platform whose shaders stand beside those of a driver.
    driver: Option<Platform>,
}

impl Arguments {
    /// Returns the arguments; none if they are wrong.
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let folder = PathBuf::from(words.next()?);
        let mut arguments = Self { folder, names: Vec::new(), platforms: SAMPLE, seeds: 0..0, driver: None };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--all" => arguments.platforms = PLATFORMS.len(),
                "--driver" => arguments.driver = Some(Platform::from_name(&words.next()?)?),
                "--random" => {
                    let first = words.next()?.parse().ok()?;
                    arguments.seeds = first..first + words.next()?.parse::<u64>().ok()?;
                }
                _ => arguments.names.push(word),
            }
        }
        Some(arguments)
    }
}

fn main() -> ExitCode {
    let Some(arguments) = Arguments::parse(std::env::args().skip(1)) else {
        eprintln!("usage: judge FOLDER [--all] [--random FIRST COUNT] [--driver PLATFORM] [NAME...]");
        return ExitCode::from(2);
    };
    let done = match arguments.driver {
        Some(platform) => shaders(&arguments.folder).and_then(|paths| driver::compile(platform, &paths)),
        None => judge(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the shaders at random; returns their files.
fn written(seeds: std::ops::Range<u64>, folder: &Folder) -> Result<Vec<PathBuf>, String> {
    let one = |seed| {
        let (stage, extension) =
            if seed % 2 == 0 { (Stage::Compute, "comp") } else { (Stage::Fragment, "frag") };
        let path = folder.file(&format!("random_{seed}.{extension}"));
        std::fs::write(&path, random::shader(seed, stage))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    };
    seeds.map(one).collect()
}

/// Returns the shaders of the two folders, by name.
fn shaders(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for folder in ["compute", "fragment"].map(|name| folder.join(name)) {
        let read = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        found.extend(read.filter_map(|entry| Some(entry.ok()?.path())));
    }
    found.sort();
    Ok(found)
}

/// Judges the shaders.
fn judge(arguments: &Arguments) -> Result<(), String> {
    let Arguments { folder, names, platforms, seeds, .. } = arguments;
    let (temporary, vulkan, mut tally) = (Folder::new()?, Vulkan::open(true)?, Tally::default());
    let paths = [shaders(folder)?, written(seeds.clone(), &temporary)?].concat();
    let chosen = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        names.is_empty() || names.iter().any(|part| name.contains(part))
    };
    let read = |path: &Path| Ok::<_, String>((Case::read(path)?, tools::module(path, &temporary)?));
    // The tools take half of the time: they are ahead by a few shaders.
    let (sender, receiver) = sync_channel(AHEAD);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let sender = sender;
            for path in paths.iter().filter(chosen) {
                // The receiver is gone after an error.
                let Ok(()) = sender.send((path, read(path))) else { break };
            }
        });
        for (number, (path, one)) in receiver.into_iter().enumerate() {
            let (case, module) = one?;
            let place = |place| (number + place * PLATFORMS.len() / platforms) % PLATFORMS.len();
            let of_case: Vec<_> = (0..*platforms).map(|one| PLATFORMS[place(one)]).collect();
            let (failures, plants) = (tally.failures.len(), path.starts_with(folder));
            let mut judge = Judge { vulkan: &vulkan, temporary: &temporary, tally: &mut tally, plants };
            judge.case(&case, &module, &of_case);
            if tally.failures.len() > failures && !plants {
                eprintln!("{}", std::fs::read_to_string(path).unwrap_or_default());
            }
        }
        Ok::<_, String>(())
    })?;
    println!("judge: {}", vulkan.name());
    tally.print();
    for failure in &tally.failures {
        eprintln!("{failure}");
    }
    if !tally.failures.is_empty() {
        return Err(format!("{} failures", tally.failures.len()));
    }
    if names.is_empty() {
        sufficient(&tally)?;
    }
    Ok(())
}

/// Checks that the judge has done enough.
fn sufficient(tally: &Tally) -> Result<(), String> {
    let judged = tally.modules - tally.unjudged.len();
    if judged < LEAST_JUDGED {
        return Err(format!("Vulkan has run {judged} modules, and {LEAST_JUDGED} are the least"));
    }
    for Planted { all, noticed } in [tally.changed_shaders, tally.changed_modules] {
        if noticed * 4 < all * 3 {
            return Err(format!(
                "{noticed} of {all} planted changes are noticed: three of four are the least"
            ));
        }
    }
    Ok(())
}

/// The judge of a case.
struct Judge<'a> {
    vulkan: &'a Vulkan,
    temporary: &'a Folder,
    tally: &'a mut Tally,
    /// Changes are planted. Shaders at random have operations whose results nothing depends on.
    plants: bool,
}

impl Judge<'_> {
    /// Judges a module on some platforms.
    fn case(&mut self, case: &Case, module: &[u8], platforms: &[Platform]) {
        self.tally.modules += 1;
        let judged = self.reference(case, module);
        let mut expected = judged.as_ref().map(|judged| judged.memory.clone());
        let (mut planted, mut refused) = (!self.plants, 0);
        for platform in platforms {
            let shaders = match self.shaders(case, module, *platform) {
                Ok(Some(shaders)) => shaders,
                Ok(None) => {
                    refused += 1;
                    continue;
                }
                Err(why) => {
                    self.fail(case, *platform, &why);
                    continue;
                }
            };
            if let Some(judged) = &judged {
                self.tally.times.push([shaders.time, judged.compilation]);
            }
            let Some(found) = self.executed(case, *platform, &shaders) else { continue };
            let compared = if judged.is_some() { &mut self.tally.judged } else { &mut self.tally.compared };
            *compared += found.len();
            let expected = expected.get_or_insert_with(|| found[0].memory.clone());
            let different: Vec<_> =
                found.iter().filter_map(|one| difference(expected, &one.memory)).collect();
            if let Some(difference) = different.first() {
                self.fail(case, *platform, difference);
            } else if !planted {
                planted = true;
                self.plant(case, module, &shaders.hoisted, expected);
            }
        }
        if case.refused.is_some() && self.plants && refused == 0 && platforms.len() == PLATFORMS.len() {
            self.tally.failures.push(format!("{}: no platform refuses it: remove `refused`", case.name));
        }
    }

    fn fail(&mut self, case: &Case, platform: Platform, why: &str) {
        self.tally.failures.push(format!("{} {platform}: {why}", case.name));
    }

    /// Runs a module by Vulkan.
    fn reference(&mut self, case: &Case, module: &[u8]) -> Option<vulkan::Judged> {
        let lacks = self.vulkan.lacks(case).map(|need| format!("the device lacks {need}"));
        if let Some(why) = case.unjudged.clone().or(lacks) {
            self.tally.unjudged.push(format!("{}: {why}", case.name));
            return None;
        }
        match self.vulkan.run(case, module, self.temporary) {
            Ok(judged) => Some(judged),
            Err(why) => {
                self.tally.failures.push(format!("{}: {why}", case.name));
                None
            }
        }
    }

    /// Compiles a module for a platform; returns nothing if the platform lacks a feature that the module needs.
    fn shaders(&mut self, case: &Case, module: &[u8], platform: Platform) -> Result<Option<Shaders>, String> {
        let compile = |hoist_discard| {
            let compiled = catch_unwind(|| execution::compile(case, module, platform, hoist_discard));
            compiled.map_err(|_| "the compiler panics".to_owned())
        };
        let (hoisted, time) = match compile(true)? {
            Ok(compiled) => compiled,
            Err(error) => {
                let text = error.to_string();
                let is_capability = matches!(error, Error::Capability { .. }) && !case.needs.is_empty();
                if is_capability || case.refused.as_ref().is_some_and(|refused| text.contains(refused)) {
                    *self.tally.refused.entry(text).or_default().entry(platform).or_default() += 1;
                    return Ok(None);
                }
                return Err(text);
            }
        };
        let (not_hoisted, _) = compile(false)?.map_err(|error| error.to_string())?;
        self.tally.emitted(platform, plant::count(module), execution::check(&hoisted)?);
        execution::check(&not_hoisted)?;
        Ok(Some(Shaders { hoisted, not_hoisted, time }))
    }

    /// Runs shaders; returns the results, unless one fails. Shaders that are the same are run once.
    fn executed(&mut self, case: &Case, platform: Platform, shaders: &Shaders) -> Option<Vec<Outcome>> {
        let mut found = Vec::new();
        for (what, shader) in [("", &shaders.hoisted), ("discards at their place: ", &shaders.not_hoisted)] {
            if !found.is_empty() && shader.code == shaders.hoisted.code {
                continue;
            }
            match execution::run(case, shader, execution::STEPS) {
                Ok(outcome) => found.push(outcome),
                Err(why) => {
                    self.fail(case, platform, &format!("{what}{why}"));
                    return None;
                }
            }
        }
        self.tally.shaders += found.len();
        let (hoisted, not_hoisted) = (found.first()?.lines, found.last()?.lines);
        if hoisted > not_hoisted {
            let why = format!(
                "{hoisted} cache lines are read with discards hoisted, {not_hoisted} with discards at their place"
            );
            self.fail(case, platform, &why);
        }
        if case.stage == Stage::Fragment {
            self.tally.lines.insert(case.name.clone(), [not_hoisted, hoisted]);
        }
        Some(found)
    }

    /// Plants changes in a shader and its module, and counts those that are noticed.
    fn plant(&mut self, case: &Case, module: &[u8], shader: &CompiledShader, expected: &Memory) {
        let notices = |shader: &CompiledShader| {
            let found = execution::run(case, shader, execution::STEPS / 100);
            !found.is_ok_and(|found| difference(expected, &found.memory).is_none())
        };
        let changed = plant::shaders(shader);
        let count = changed.len().min(CHANGES);
        let planted = &mut self.tally.changed_shaders;
        for number in 0..count {
            let number = number * changed.len() / count;
            planted.all += 1;
            planted.noticed += usize::from(notices(&changed[number]));
        }
        if let Some(other) = plant::with_other_comparison(module) {
            let compiled = execution::compile(case, &other, shader.platform, true);
            let planted = &mut self.tally.changed_modules;
            planted.all += 1;
            planted.noticed += usize::from(!compiled.is_ok_and(|(shader, _)| !notices(&shader)));
        }
        let refused = plant::without_return(module)
            .is_none_or(|wrong| tools::validate(&wrong, self.temporary).is_err());
        if !refused {
            self.fail(case, shader.platform, "spirv-val accepts the module without its return");
        }
    }
}

/// A compiled module: with discards hoisted and at their place.
struct Shaders {
    hoisted: CompiledShader,
    not_hoisted: CompiledShader,
    /// The time of a compilation.
    time: std::time::Duration,
}

/// Returns the first difference between surfaces.
fn difference(expected: &Memory, found: &Memory) -> Option<String> {
    for (binding, bytes) in expected {
        let Some(other) = found.get(binding) else { return Some(format!("{binding:?} is missing")) };
        let wrong: Vec<_> = bytes.iter().zip(other).enumerate().filter(|(_, (a, b))| a != b).collect();
        if let Some((place, _)) = wrong.first() {
            let (from, to) = (place & !3, (place | 3) + 1);
            let (a, b) = (bytes.get(from..to), other.get(from..to));
            let count = wrong.len();
            return Some(format!(
                "{binding:?}: {count} bytes differ, at {from:#x} {b:02x?} instead of {a:02x?}"
            ));
        }
    }
    None
}
