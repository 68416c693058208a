//! Counts of the judge, and the report of them.

use std::collections::BTreeMap;
use std::time::Duration;

use intel_eu::Platform;

/// The counts of a platform.
#[derive(Clone, Debug, Default)]
pub struct Emitted {
    /// Instructions of the modules.
    pub of_modules: usize,
    /// Instructions of the shaders.
    pub of_shaders: usize,
    /// Instructions of a shader for each one of its module.
    ratios: Vec<f64>,
}

/// Changes that were planted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Planted {
    /// All of them.
    pub all: usize,
    /// Those with other bytes, or whose shader cannot go on.
    pub noticed: usize,
}

/// Counts of the judge.
#[derive(Debug, Default)]
pub struct Tally {
    /// Modules.
    pub modules: usize,
    /// Shaders that were run.
    pub shaders: usize,
    /// Comparisons of the surfaces of a shader with those of Vulkan.
    pub judged: usize,
    /// Comparisons with those of another platform.
    pub compared: usize,
    /// Modules that Vulkan does not run, with the reason.
    pub unjudged: Vec<String>,
    /// Errors by which platforms refuse modules, with the number of modules.
    pub refused: BTreeMap<String, BTreeMap<Platform, usize>>,
    /// Failures.
    pub failures: Vec<String>,
    /// Instructions, by platform.
    pub emitted: BTreeMap<Platform, Emitted>,
    /// Cache lines that fragment shaders read, by name: with discards at their place, and hoisted.
    pub lines: BTreeMap<String, [usize; 2]>,
    /// Time of our compilations, and of Vulkan's.
    pub times: Vec<[Duration; 2]>,
    /// Changes of shaders.
    pub changed_shaders: Planted,
    /// Changes of modules.
    pub changed_modules: Planted,
}

/// Returns the middle one of some numbers.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Tally {
    /// Counts the instructions of a shader and of its module.
    pub fn emitted(&mut self, platform: Platform, of_module: usize, of_shader: usize) {
        let emitted = self.emitted.entry(platform).or_default();
        emitted.of_modules += of_module;
        emitted.of_shaders += of_shader;
        emitted.ratios.push(of_shader as f64 / of_module as f64);
    }

    /// Prints the counts.
    pub fn print(&self) {
        for (platform, emitted) in &self.emitted {
            let Emitted { of_modules, of_shaders, ratios } = emitted;
            println!(
                "{platform}: {} modules, {of_shaders} instructions of {of_modules} of SPIR-V: {:.1} each, median {:.1}",
                ratios.len(),
                *of_shaders as f64 / *of_modules as f64,
                median(ratios.clone())
            );
        }
        for (error, platforms) in &self.refused {
            let counts: Vec<_> =
                platforms.iter().map(|(platform, count)| format!("{platform} {count}")).collect();
            println!("modules refused ({error}): {}", counts.join(", "));
        }
        for reason in &self.unjudged {
            println!("not run by Vulkan: {reason}");
        }
        let mut total = [0; 2];
        for (name, lines) in &self.lines {
            total = [total[0] + lines[0], total[1] + lines[1]];
            if lines[0] != lines[1] {
                println!("{name}: {} cache lines read, {} with discards hoisted", lines[0], lines[1]);
            }
        }
        let fewer = self.lines.values().filter(|lines| lines[1] < lines[0]).count();
        println!(
            "{} fragment shaders: {} cache lines read, {} with discards hoisted, fewer in {fewer}",
            self.lines.len(),
            total[0],
            total[1]
        );
        let ratios =
            self.times.iter().map(|[ours, other]| ours.as_secs_f64() / other.as_secs_f64()).collect();
        println!("time of a compilation: {:.2} of Vulkan's (median)", median(ratios));
        for (what, Planted { all, noticed }) in
            [("instructions", self.changed_shaders), ("comparisons of modules", self.changed_modules)]
        {
            println!("{noticed} of {all} changed {what} noticed");
        }
        println!(
            "{} modules, {} shaders: {} compared with Vulkan, {} with another platform; {} failures",
            self.modules,
            self.shaders,
            self.judged,
            self.compared,
            self.failures.len()
        );
    }
}
