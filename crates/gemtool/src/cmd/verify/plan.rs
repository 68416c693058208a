//! What is measured: every combination that the device has; what it lacks is said, and counted.

use std::fmt;

use gem_coherency::platform::Caps;
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode};
use gem_coherency_exercise::Error;
use gem_coherency_exercise::Result;
use serde::Serialize;

use super::object::Object;
use super::paths::Mocs;
use super::setup::Setup;
use crate::args::{self, Via};

/// Something that is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skip {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

/// A caching mode, and the level that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cached {
    /// The mode; none where the device decides.
    pub caching: Option<CachingMode>,
    /// The level.
    pub level: CacheLevel,
}

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Old values by the first path, new ones by the second; the third reads.
    HandOver(Via, Via, Via),
    /// The second path writes over what the first one wrote; then the caches let go.
    Overwrite(Via, Via),
    /// The path reads what nobody wrote yet.
    Fresh(Via),
}

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// What is done.
    pub deed: Deed,
    /// To which kind of object.
    pub cached: Cached,
    /// How copies get at it.
    pub mocs: Mocs,
}

impl Cell {
    /// The paths.
    pub fn vias(&self) -> impl Iterator<Item = Via> {
        let vias = match self.deed {
            Deed::HandOver(over, write, read) => [Some(over), Some(write), Some(read)],
            Deed::Overwrite(over, write) => [Some(over), Some(write), None],
            Deed::Fresh(read) => [None, None, Some(read)],
        };
        vias.into_iter().flatten()
    }

    /// Why the kernel's protocol does not cover it; `None` if it does.
    pub fn not_the_kernels(&self, caps: Caps) -> Option<&'static str> {
        let level = self.cached.level;
        let around = |via| matches!(via, Via::CpuWc | Via::CpuGtt);
        if caps.contains(Caps::DISCRETE) {
            Some("a discrete device has no SET_DOMAIN")
        } else if caps.contains(Caps::PAT_AT_CREATE) && self.cached.caching.is_some() {
            Some("with a PAT index of its own choice, userspace flushes")
        } else if self.vias().any(|via| via == Via::GpuSampler) && caps.contains(Caps::LLC_BYPASS_MOCS) {
            Some("the kernel does not know about reads that bypass the LLC")
        } else if !caps.contains(Caps::LLC) && level != CacheLevel::None && self.vias().any(around) {
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
        write!(f, "{} (caching {caching}, copies {})", vias.join(", "), self.mocs.class)
    }
}

/// All of it.
#[derive(Debug)]
pub struct Plan {
    /// What is measured.
    pub cells: Vec<Cell>,
    /// What is not.
    pub skipped: Vec<Skip>,
}

/// Those of `wanted`, or all of them if none is named.
fn chosen(wanted: &[Via]) -> impl Iterator<Item = Via> {
    Via::ALL.iter().copied().filter(|via| wanted.is_empty() || wanted.contains(via))
}

/// The paths that the device has for `access`; what it lacks goes to `skipped`.
fn have(setup: &Setup, wanted: &[Via], access: Access, skipped: &mut Vec<Skip>) -> Vec<Via> {
    let mut found = Vec::new();
    for via in chosen(wanted) {
        match via.missing(&setup.target, access) {
            None => found.push(via),
            Some(_) if wanted.is_empty() && via.is_never(&setup.target, access) => {}
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

/// The kinds of objects that the device accepts.
fn kinds(setup: &Setup, wanted: &[CachingMode], skipped: &mut Vec<Skip>) -> Result<Vec<Cached>> {
    let discrete = setup.device().machine().caps.contains(Caps::DISCRETE);
    let modes: Vec<_> = match wanted {
        [] if discrete => vec![None],
        [] => CachingMode::ALL.iter().copied().map(Some).collect(),
        wanted => wanted.iter().copied().map(Some).collect(),
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
    /// What `args` asks for and the device has.
    ///
    /// # Errors
    /// What allocating answers.
    pub fn new(setup: &Setup, args: &args::Verify) -> Result<Self> {
        let caps = setup.device().machine().caps;
        let (mut cells, mut skipped) = (Vec::new(), Vec::new());
        let overs = have(setup, &args.over, Access::Write, &mut skipped);
        let writes = have(setup, &args.write, Access::Write, &mut skipped);
        let reads = have(setup, &args.read, Access::Read, &mut skipped);
        let copies = Mocs::of_copies(&setup.target);
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
            let mut add = |deed, blits: bool| {
                let entries = if blits { copies.as_slice() } else { copies.get(..1).unwrap_or_default() };
                cells.extend(entries.iter().map(|&mocs| Cell { deed, cached, mocs }));
            };
            let blits = |vias: &[Via]| vias.contains(&Via::GpuBlit);
            // What is asked for by a path is not what lacks such a path.
            if args.over.is_empty() && args.write.is_empty() {
                reads.iter().for_each(|&read| add(Deed::Fresh(read), blits(&[read])));
            }
            for (number, &write) in writes.iter().enumerate() {
                for (other, &over) in overs.iter().enumerate() {
                    if args.read.is_empty() {
                        add(Deed::Overwrite(over, write), blits(&[over, write]));
                    }
                    for (third, &read) in reads.iter().enumerate() {
                        let turn = (number + third) % overs.len();
                        if !args.quick || turn == other {
                            add(Deed::HandOver(over, write, read), blits(&[write, read]));
                        }
                    }
                }
            }
        }
        Ok(Self { cells, skipped })
    }
}
