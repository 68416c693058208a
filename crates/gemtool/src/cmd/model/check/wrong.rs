//! The violation at the end of a trace: the read of wrong bytes, or the lost write.

use gem_coherency::platform::Caps;
use gem_coherency::policy::driver::{CpuMemory, Path, cpu_memory};
use gem_coherency::policy::kernel::Backing;
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode};
use gem_coherency_check::{Action, Buffer, Property, Setting, State, Trace, TraceStep, Value, Window};
use gem_coherency_memory_model::{self as memory_model, Assumption, Line, Place, Route};
use serde::Serialize;

/// The violation at the end of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct Wrong {
    /// Describes it in one or two sentences.
    pub sentence: String,
    /// The read, if the violation is one.
    pub read: Option<Read>,
}

/// A read of wrong bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Read {
    /// The reader and its path.
    pub reader: String,
    /// The line.
    pub line: usize,
    /// Index of the part within the line: line 0 has one, line 1 has two.
    pub part: usize,
    /// The place from which the bytes come.
    pub from: Source,
    /// The bytes' value.
    pub value: Value,
}

/// The place where a read finds its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The CPU's caches.
    Cache,
    /// Memory.
    Memory,
    /// The GPU's own caches.
    GpuCache,
}

impl Source {
    const ALL: [Self; 3] = [Self::Cache, Self::Memory, Self::GpuCache];

    fn words(self) -> &'static str {
        match self {
            Self::Cache => "the CPU's cache",
            Self::Memory => "memory",
            Self::GpuCache => "the GPU's own cache",
        }
    }

    /// Returns the copy of a granule in this place.
    fn copy(self, state: &State, granule: usize) -> Option<Value> {
        match self {
            Self::Cache => state.cached(granule),
            Self::Memory => Some(state.memory[granule]),
            Self::GpuCache => state.gpu[granule],
        }
    }
}

impl Wrong {
    /// Describes the violation at the end of `trace`.
    pub fn of(trace: &Trace) -> Self {
        let read = trace.steps.last().and_then(|last| Some((last, read(trace, last)?)));
        if let Some((last, read)) = read {
            return Self { sentence: read_sentence(&read, &last.after), read: Some(read) };
        }
        let sentence = match trace.steps.last() {
            None => "It does not hold at the beginning.".to_owned(),
            Some(last) => state_sentence(trace.property, last),
        };
        Self { sentence, read: None }
    }
}

/// Describes a violation of a property of states.
fn state_sentence(property: Property, last: &TraceStep) -> String {
    let state = &last.after;
    match property {
        Property::NoLostWrite => {
            let kept = |granule: &usize| {
                Source::ALL.iter().take(2).any(|at| at.copy(state, *granule) == Some(Value::Newest))
                    || Buffer::ALL
                        .iter()
                        .any(|&buffer| state.buffered[buffer as usize][*granule] == Some(Value::Newest))
            };
            match (0..state.memory.len()).find(|granule| !kept(granule)) {
                Some(granule) => {
                    format!("The last write to {} is lost.", part_name(granule))
                }
                None => "A write is lost.".to_owned(),
            }
        }
        Property::Marked => {
            let newer = |line: &usize| {
                let granules = if *line == 0 { 0..1 } else { 1..3 };
                state.lines[*line] == Line::Dirty
                    && !state.tracked.dirty.has(*line)
                    && granules.into_iter().any(|granule| {
                        state.cached(granule) == Some(Value::Newest) && state.memory[granule] != Value::Newest
                    })
            };
            match (0..state.lines.len()).find(newer) {
                Some(line) => format!(
                    "Line {line} is newer in the CPU's cache than in memory, and the library does not track it."
                ),
                None => {
                    "A line is older in the CPU's cache than in memory, and the library does not track it."
                        .to_owned()
                }
            }
        }
        Property::KernelInvariants => format!(
            "The object has {}, is {} and has the level {}.",
            if last.kernel.pages { "pages" } else { "no pages" },
            if last.kernel.dirty { "dirty" } else { "not dirty" },
            last.kernel.level,
        ),
        Property::NewestRead | Property::NoLeak => format!("Wrong bytes are read ({}).", last.step),
    }
}

/// Describes the read, and says where the newest bytes are at that time.
fn read_sentence(read: &Read, state: &State) -> String {
    let granule = read.line + read.part;
    let what = match read.value {
        Value::Newest => "the last value written",
        Value::Old => "bytes from before the last write",
        Value::Secret => "the previous owner's data",
    };
    let reader = &read.reader;
    let (part, from, value) = (part_name(granule), read.from.words(), read.value);
    let newest = match newest_at(state, granule, read.from) {
        Some(place) => format!("The newest bytes are in {place}."),
        None => "The newest bytes are lost.".to_owned(),
    };
    format!("{reader} reads {part} from {from} and gets {value}: {what}. {newest}")
}

/// Returns the place of the newest copy of a granule.
fn newest_at(state: &State, granule: usize, read: Source) -> Option<String> {
    if state.cached(granule) == Some(Value::Newest) {
        let held = state.lines[usize::from(granule != 0)];
        let unwritten = held == Line::Dirty && read == Source::Memory;
        let why = if unwritten { " that was not written back" } else { "" };
        return Some(format!("the CPU's cache, in a {held} line{why}"));
    }
    let waits = |&&buffer: &&Buffer| state.buffered[buffer as usize][granule] == Some(Value::Newest);
    if let Some(buffer) = Buffer::ALL.iter().find(waits) {
        return Some(format!("the {buffer} buffers, not yet in memory"));
    }
    if state.memory[granule] != Value::Newest {
        return None;
    }
    Some(match read {
        Source::Cache => "memory, and the stale line was not dropped".to_owned(),
        Source::Memory | Source::GpuCache => "memory".to_owned(),
    })
}

/// Returns the name of a granule.
fn part_name(granule: usize) -> &'static str {
    match granule {
        0 => "line 0",
        1 => "the first half of line 1",
        _ => "the second half of line 1",
    }
}

/// Returns the read of the last step, if it makes one.
fn read(trace: &Trace, last: &TraceStep) -> Option<Read> {
    let is_wrong = |value: Value| match trace.property {
        Property::NoLeak => value == Value::Secret,
        Property::NewestRead => value != Value::Newest,
        Property::NoLostWrite | Property::Marked | Property::KernelInvariants => false,
    };
    let (reader, route, line) = reader(trace, last)?;
    let expected = source(&trace.setting, last, route, line)?;
    // A planted fault changes the path of some reads.
    let sources = std::iter::once(expected).chain(Source::ALL);
    let granules: &[usize] = if line == 0 { &[0] } else { &[1, 2] };
    sources
        .flat_map(|from| granules.iter().map(move |&granule| (from, granule)))
        .filter_map(|(from, granule)| Some((from, granule, from.copy(&last.after, granule)?)))
        .find(|&(_, _, value)| is_wrong(value))
        .map(|(from, granule, value)| Read { reader, line, part: granule - line, from, value })
}

/// Returns the reader of the last step, its route, and the line.
fn reader(trace: &Trace, last: &TraceStep) -> Option<(String, Route, usize)> {
    let path = match last.after.window {
        Window::Cpu { mode, .. } => Some(Path::Cpu(mode)),
        Window::Gpu { mocs, .. } => Some(Path::Gpu(mocs)),
        Window::Display => Some(Path::Display),
        Window::Announced { .. } => Some(Path::Cpu(MmapMode::Wb)),
        Window::Closed => None,
    };
    let by_path = |path: Path, line| {
        let (name, route) = match path {
            Path::Cpu(mode) => (format!("The CPU ({mode})"), cpu_route(last.kernel.level, mode)),
            Path::Gpu(mocs) => (format!("The GPU ({mocs})"), Route::Gpu(mocs)),
            Path::Display => ("The display".to_owned(), Route::Display),
        };
        (name, route, line)
    };
    match last.step {
        Action::Touch(path, Access::Read, line) => Some(by_path(path, line)),
        Action::Load(line) => path.map(|path| by_path(path, line)),
        Action::Pread(line) => {
            let cached = trace.kernel.backing.has_struct_pages();
            let route = if cached { Route::CpuCached } else { Route::Aperture };
            Some(("PREAD".to_owned(), route, line))
        }
        Action::Touch(_, Access::Write, _)
        | Action::CacheMove(..)
        | Action::Drain(..)
        | Action::Complete
        | Action::HandOver
        | Action::Reuse
        | Action::Open(_)
        | Action::Store(_)
        | Action::Upload(..)
        | Action::Call(_)
        | Action::Pwrite(..) => None,
    }
}

/// Returns the CPU's route through a mapping.
fn cpu_route(level: CacheLevel, mode: MmapMode) -> Route {
    match cpu_memory(level, mode) {
        CpuMemory::Cached => Route::CpuCached,
        CpuMemory::Combining | CpuMemory::Uncached => Route::CpuUncached,
        CpuMemory::Aperture => Route::Aperture,
    }
}

/// Returns the place where a read on `route` finds the bytes of a line.
///
/// Uses the state after the read: a repeated read would find them in the same place.
fn source(setting: &Setting, last: &TraceStep, route: Route, line: usize) -> Option<Source> {
    let hardware = setting.hardware();
    let keeps = !setting.held.hold(Assumption::GpuCachesEndWithBatch);
    if keeps && matches!(route, Route::Gpu(_)) {
        return Some(Source::GpuCache);
    }
    // DG1's accesses to system memory snoop, whatever the level of an import.
    let import = last.kernel.backing == Backing::Import && hardware.caps.contains(Caps::DG1);
    let level = if import { CacheLevel::Llc } else { last.kernel.level };
    let effect = memory_model::effect(hardware, level, route, Access::Read, last.after.lines[line])?;
    Some(match effect.at {
        Place::Cache => Source::Cache,
        Place::Memory => Source::Memory,
    })
}
