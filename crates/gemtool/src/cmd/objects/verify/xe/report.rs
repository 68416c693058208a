//! The results of `gemtool verify` under xe.

use std::fmt;

use gem_coherency::Errno;
use gem_coherency::xe::{CpuCaching, Create, CreateFlags, LOCAL, PatCoherency, Refusal};
use serde::{Serialize, Serializer};

use crate::args::{Forget, Via};
use crate::cmd::device::DeviceLine;
use crate::cmd::objects::alloc::xe::Requirement;
use crate::cmd::objects::verify::plan::Skip;
use crate::cmd::objects::verify::report::{Check, Kind, Refused, Totals, Unflushed, as_text};

/// The smallest size of [`Item::unused`]: no page of it is among those that a CPU keeps for itself.
const LEAST_UNUSED: u64 = 64 << 10;

/// An object to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The request.
    pub create: Create,
}

impl Item {
    /// Creates the item of a request.
    pub const fn new(create: Create) -> Self {
        Self { create }
    }

    /// Returns an item of which no pages were used before: TTM keeps those of write-combining objects for objects of the same size.
    pub fn unused(self) -> Self {
        let size = (2 * self.create.size).next_power_of_two().max(LEAST_UNUSED);
        Self { create: Create { size, ..self.create } }
    }

    /// Returns how the CPU maps it.
    pub fn cpu_caching(&self) -> CpuCaching {
        if self.create.cpu_caching == CpuCaching::Wb.number() { CpuCaching::Wb } else { CpuCaching::Wc }
    }

    /// Returns whether it may be in local memory.
    pub const fn is_local(&self) -> bool {
        self.create.placement & LOCAL != 0
    }

    /// Returns whether the display may show it.
    pub const fn is_shown(&self) -> bool {
        self.create.flags.contains(CreateFlags::SCANOUT)
    }

    /// Returns the item alone, and with each PAT index.
    pub fn with(self, indices: &[u16]) -> impl Iterator<Item = (Self, Option<u16>)> {
        [None].into_iter().chain(indices.iter().copied().map(Some)).map(move |index| (self, index))
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let caching = match self.cpu_caching() {
            CpuCaching::Wb => "write-back",
            CpuCaching::Wc => "write-combining",
        };
        let memory = if self.is_local() { "local" } else { "system" };
        let shown = if self.is_shown() { ", for the display" } else { "" };
        write!(f, "{caching} in {memory} memory{shown}")
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            cpu_caching: CpuCaching,
            local: bool,
            scanout: bool,
            size_bytes: u64,
        }
        let fields = Fields {
            cpu_caching: self.cpu_caching(),
            local: self.is_local(),
            scanout: self.is_shown(),
            size_bytes: self.create.size,
        };
        fields.serialize(serializer)
    }
}

/// The kernel's answer to a request, and the one that the rules foresee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The check that the rules expect to fail; none if they expect success.
    pub foreseen: Option<Refusal>,
    /// The errno; none if the request succeeded.
    pub seen: Option<Errno>,
}

impl Answer {
    /// Creates the pair.
    pub const fn new(foreseen: Option<Refusal>, seen: Option<Errno>) -> Self {
        Self { foreseen, seen }
    }

    /// Returns whether the request succeeded, as foreseen.
    pub const fn is_success(&self) -> bool {
        self.foreseen.is_none() && self.seen.is_none()
    }

    /// Returns whether both are the same.
    pub fn is_foreseen(&self) -> bool {
        self.foreseen.map(|refusal| refusal.errno) == self.seen
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            foreseen: Option<String>,
            seen: Option<String>,
            rule: Option<&'static str>,
            reason: Option<&'static str>,
        }
        let fields = Fields {
            foreseen: self.foreseen.map(|refusal| refusal.errno.to_string()),
            seen: self.seen.map(|errno| errno.to_string()),
            rule: self.foreseen.map(|refusal| refusal.rule.name()),
            reason: self.foreseen.map(|refusal| refusal.rule.reason()),
        };
        fields.serialize(serializer)
    }
}

/// The accesses of one combination of paths.
#[derive(Clone, Debug, Serialize)]
pub struct AccessRow {
    /// The kind of the measurement.
    pub kind: Kind,
    /// The path that wrote the old values.
    pub over: Option<Via>,
    /// The path that wrote the new values.
    pub write: Option<Via>,
    /// The path that read.
    pub read: Via,
    /// The requirement of the rules; of a new object, what the kernel does itself, and none in local memory.
    pub decision: Option<Requirement>,
    /// Result with the library's drains.
    #[serde(rename = "library")]
    pub with_library: Check,
    /// Result without them.
    pub without_flushes: Unflushed,
}

impl AccessRow {
    /// Returns whether every check passed.
    pub fn passed(&self) -> bool {
        self.with_library.wrong().is_none() && self.without_flushes.passed()
    }
}

/// An object and a PAT index.
#[derive(Clone, Debug, Serialize)]
pub struct XeRow {
    /// The object.
    pub object: Item,
    /// The PAT index of its mapping; none for its creation.
    pub pat_index: Option<u16>,
    /// The index's coherency; none if there is no such index.
    pub coherency: Option<PatCoherency>,
    /// The answer of GEM_CREATE, or of VM_BIND.
    pub answer: Answer,
    /// The accesses; none if the object is not bound, and by an index that compresses.
    pub accesses: Vec<AccessRow>,
}

/// The report of all measurements.
#[derive(Clone, Debug, Serialize)]
pub struct XeVerifyReport {
    /// The device.
    pub device: DeviceLine,
    /// The seed; a string in JSON, because JavaScript's numbers are exact up to 2^53 only.
    #[serde(serialize_with = "as_text")]
    pub seed: u64,
    /// Number of lines of each object that are stored to.
    pub lines: u64,
    /// Number of lines stored to, for each round.
    pub counts: Vec<u64>,
    /// The library's action that was left out, or null.
    pub forget: Option<Forget>,
    /// Every check passed.
    pub passed: bool,
    /// Numbers of results.
    pub totals: Totals,
    /// The combinations left out, with reasons.
    pub skipped: Vec<Skip>,
    /// The measurements that were refused.
    pub refused: Vec<Refused>,
    /// The objects and PAT indices.
    pub rows: Vec<XeRow>,
}

impl XeVerifyReport {
    /// Creates the report on `rows`.
    pub fn new(
        device: DeviceLine,
        (seed, lines, counts): (u64, u64, Vec<u64>),
        forget: Option<Forget>,
        skipped: Vec<Skip>,
        refused: Vec<Refused>,
        rows: Vec<XeRow>,
    ) -> Self {
        let mut totals = Totals { skipped: skipped.len() as u64, ..Totals::default() };
        for row in &rows {
            totals.note(row.answer.is_foreseen());
            for access in &row.accesses {
                totals.note(access.with_library.wrong().is_none());
                totals.add_unflushed(&access.without_flushes);
            }
        }
        let passed = totals.failed == 0 && refused.is_empty();
        Self { device, seed, lines, counts, forget, passed, totals, skipped, refused, rows }
    }
}
