//! The plan: every combination that the device supports; unsupported ones are listed and counted.

use std::fmt;

use gem_coherency::platform::Caps;
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, MocsClass};
use gem_coherency_exercise::Error;
use gem_coherency_exercise::Result;
use serde::Serialize;

use super::object::Object;
use super::paths::Mocs;
use super::setup::Setup;
use crate::args::{self, Via};

/// A combination that is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skip {
    /// The combination.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// A caching mode and its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cached {
    /// The mode; none if the device decides.
    pub caching: Option<CachingMode>,
    /// The level.
    pub level: CacheLevel,
}

/// The accesses of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accesses {
    /// The first path writes old values, the second new ones, and the third reads.
    HandOver(Via, Via, Via),
    /// The second path overwrites the first one's values; then all lines are evicted.
    Overwrite(Via, Via),
    /// The path reads a new object.
    Fresh(Via),
}

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The accesses.
    pub accesses: Accesses,
    /// The kind of object.
    pub cached: Cached,
    /// The MOCS setting of copies and shaders.
    pub mocs: Mocs,
}

impl Cell {
    /// Returns the paths.
    pub fn vias(&self) -> impl Iterator<Item = Via> {
        let vias = match self.accesses {
            Accesses::HandOver(over, write, read) => [Some(over), Some(write), Some(read)],
            Accesses::Overwrite(over, write) => [Some(over), Some(write), None],
            Accesses::Fresh(read) => [None, None, Some(read)],
        };
        vias.into_iter().flatten()
    }

    /// Returns whether the GPU runs a shader.
    pub fn runs_shader(&self) -> bool {
        self.vias().any(|via| via == Via::GpuShader)
    }

    /// Returns why the kernel's protocol does not cover it; `None` if it does.
    pub fn outside_protocol(&self, caps: Caps) -> Option<&'static str> {
        let level = self.cached.level;
        let is_uncached = |via| matches!(via, Via::CpuWc | Via::CpuGtt);
        if caps.contains(Caps::DISCRETE) {
            Some("a discrete device has no SET_DOMAIN")
        } else if caps.contains(Caps::PAT_AT_CREATE) && self.cached.caching.is_some() {
            Some("with a PAT index of its own choice, userspace flushes")
        } else if self.mocs.class == MocsClass::BypassLlc {
            Some("the kernel does not know about accesses that bypass the LLC")
        } else if !caps.contains(Caps::LLC)
            && level != CacheLevel::None
            && self.mocs.class != MocsClass::PageTable
        {
            Some("the kernel does not know about MOCS entries that do not snoop")
        } else if !caps.contains(Caps::LLC) && level != CacheLevel::None && self.vias().any(is_uncached) {
            Some("the kernel treats a snooped object as coherent in every mapping")
        } else {
            None
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vias: Vec<_> = self.vias().map(Via::name).collect();
        let caching = self.cached.caching.map_or("the device's default", CachingMode::name);
        write!(f, "{} (caching {caching}, MOCS class {})", vias.join(", "), self.mocs.class)
    }
}

/// The plan of all measurements.
#[derive(Debug)]
pub struct Plan {
    /// The measurements.
    pub cells: Vec<Cell>,
    /// The combinations left out.
    pub skipped: Vec<Skip>,
}

/// Returns the paths of `requested`, or all of them if it is empty.
fn chosen(requested: &[Via]) -> impl Iterator<Item = Via> {
    Via::ALL.iter().copied().filter(|via| requested.is_empty() || requested.contains(via))
}

/// Returns the paths that the device supports for `access`; adds the others to `skipped`.
fn have(setup: &Setup, requested: &[Via], access: Access, skipped: &mut Vec<Skip>) -> Vec<Via> {
    let mut found = Vec::new();
    for via in chosen(requested) {
        match via.missing(&setup.target, access) {
            None => found.push(via),
            Some(_) if requested.is_empty() && via.is_never(&setup.target, access) => {}
            Some(why) => {
                let skip = Skip { what: format!("{} ({access})", via.name()), why };
                if !skipped.contains(&skip) {
                    skipped.push(skip);
                }
            }
        }
    }
    found
}

/// Returns the kinds of objects that the device accepts.
fn kinds(setup: &Setup, requested: &[CachingMode], skipped: &mut Vec<Skip>) -> Result<Vec<Cached>> {
    let discrete = setup.device().machine().caps.contains(Caps::DISCRETE);
    let modes: Vec<_> = match requested {
        [] if discrete => vec![None],
        [] => CachingMode::ALL.iter().copied().map(Some).collect(),
        requested => requested.iter().copied().map(Some).collect(),
    };
    let mut kinds = Vec::new();
    for caching in modes {
        match Object::new(setup, caching, Mocs::PAGE_TABLE) {
            Ok(object) => kinds.push(Cached { caching, level: object.bo().level() }),
            Err(Error::Library(gem_coherency::Error::NotAvailable { what, why, .. })) => {
                skipped.push(Skip { what, why: why.to_owned() })
            }
            Err(error) => return Err(error),
        }
    }
    Ok(kinds)
}

impl Plan {
    /// Plans the measurements that `args` requests and the device supports.
    ///
    /// # Errors
    /// The errors of allocating a BO.
    pub fn new(setup: &Setup, args: &args::Verify) -> Result<Self> {
        let caps = setup.device().machine().caps;
        let (mut cells, mut skipped) = (Vec::new(), Vec::new());
        let overs = have(setup, &args.over, Access::Write, &mut skipped);
        let writes = have(setup, &args.write, Access::Write, &mut skipped);
        let reads = have(setup, &args.read, Access::Read, &mut skipped);
        let (copies, shaders) = (Mocs::of_copies(&setup.target), Mocs::of_shaders(&setup.target));
        for cached in kinds(setup, &args.caching, &mut skipped)? {
            let mut usable = |vias: &[Via]| -> Vec<Via> {
                let is_so = |via: &&Via| match via.refusal(caps, cached.level, Mocs::PAGE_TABLE) {
                    None => true,
                    Some(why) => {
                        let what = format!("{} at level {}", via.name(), cached.level);
                        let skip = Skip { what, why };
                        if !skipped.contains(&skip) {
                            skipped.push(skip);
                        }
                        false
                    }
                };
                vias.iter().filter(is_so).copied().collect()
            };
            let (overs, writes, reads) = (usable(&overs), usable(&writes), usable(&reads));
            let mut add = |accesses, decided: &[Via]| {
                let settings = match decided {
                    vias if vias.contains(&Via::GpuShader) => shaders.as_slice(),
                    vias if vias.contains(&Via::GpuBlit) => copies.as_slice(),
                    _ => copies.get(..1).unwrap_or_default(),
                };
                cells.extend(settings.iter().map(|&mocs| Cell { accesses, cached, mocs }));
            };
            // A request for a write path excludes measurements without a write.
            if args.over.is_empty() && args.write.is_empty() {
                reads.iter().for_each(|&read| add(Accesses::Fresh(read), &[read]));
            }
            for (number, &write) in writes.iter().enumerate() {
                for (other, &over) in overs.iter().enumerate() {
                    if args.read.is_empty() {
                        add(Accesses::Overwrite(over, write), &[over, write]);
                    }
                    for (third, &read) in reads.iter().enumerate() {
                        let turn = (number + third) % overs.len();
                        if !args.quick || turn == other {
                            add(Accesses::HandOver(over, write, read), &[write, read]);
                        }
                    }
                }
            }
        }
        // A shader that hangs the GPU spoils what comes after it.
        cells.sort_by_key(Cell::runs_shader);
        Ok(Self { cells, skipped })
    }
}
