//! The caching state of a new object.

use crate::errno::Errno;

use crate::platform::Caps;
use crate::policy::{Rule, coherency};
use crate::vocabulary::{CacheLevel, Coherency, Domains};

use super::Refusal;
use super::pages::starts_dirty;
use super::rules::KernelRules;
use super::snapshot::{Backing, Creation, Snapshot};

/// The PAT index of level NONE on graphics 12.70 (`cachelevel_to_pat`).
const PAT_UNCACHED: u8 = 2;
/// The PAT index of level LLC on graphics 12.70.
const PAT_CACHED: u8 = 3;
/// The largest PAT index on graphics 12.70 (`max_pat_index`).
const PAT_MAX: u8 = 4;

impl Snapshot {
    /// Returns the state of an object that was just created.
    ///
    /// # Errors
    /// The kernel's refusal, if the platform lacks such objects.
    pub fn created(caps: Caps, rules: &KernelRules, creation: Creation) -> Result<Self, Refusal> {
        match creation {
            Creation::User if caps.contains(Caps::DISCRETE) => {
                Ok(object(caps, rules, Backing::LocalSystem, CacheLevel::Llc))
            }
            Creation::User => {
                let user = rules.shmem_is_user;
                Ok(Self { user, ..object(caps, rules, Backing::Shmem, default_level(caps, rules)) })
            }
            Creation::UserWithPat(index) => with_pat(caps, rules, index),
            Creation::Userptr if !caps.intersects(Caps::LLC | Caps::SNOOP) => {
                Err(Refusal::new(Errno::ENODEV, Rule::NoSnoop))
            }
            Creation::Userptr => {
                let user = rules.foreign_acquire_flush;
                Ok(Self { user, ..object(caps, rules, Backing::Userptr, CacheLevel::Llc) })
            }
            Creation::Import => Ok(imported(caps, rules)),
            Creation::Internal => {
                Ok(Self { user: false, ..object(caps, rules, Backing::Internal, llc_level(caps)) })
            }
            // Stolen pages are pinned at creation, which clears the dirty bit: they have no struct pages.
            Creation::Stolen => Ok(Self {
                user: false,
                dirty: false,
                read_domains: Domains::CPU | Domains::GTT,
                write_domain: Domains::empty(),
                pages: true,
                ..object(caps, rules, Backing::Stolen, llc_level(caps))
            }),
            Creation::Phys => Ok(phys(caps, rules)),
            Creation::Local if caps.contains(Caps::DISCRETE) => Ok(Self {
                read_domains: Domains::WC,
                write_domain: Domains::WC,
                dirty: false,
                ..object(caps, rules, Backing::Local, CacheLevel::None)
            }),
            Creation::Local => Err(Refusal::new(Errno::ENODEV, Rule::NotOnPlatform)),
        }
    }
}

/// Returns the state of a zeroed object in the CPU domain, without pages.
fn object(caps: Caps, rules: &KernelRules, backing: Backing, level: CacheLevel) -> Snapshot {
    let coherent = coherency(caps, level);
    Snapshot {
        backing,
        level,
        user_pat: None,
        coherent,
        dirty: starts_dirty(caps, rules, coherent),
        read_domains: Domains::CPU,
        write_domain: Domains::CPU,
        pages: false,
        framebuffer: false,
        pinned: false,
        user: true,
    }
}

/// Returns the level LLC if the platform has an LLC, NONE otherwise.
fn llc_level(caps: Caps) -> CacheLevel {
    if caps.contains(Caps::LLC) { CacheLevel::Llc } else { CacheLevel::None }
}

/// Returns the level of an ordinary object: as [`llc_level`], but LLC on graphics 12.70 from 6.5 on, although
/// it has no LLC.
fn default_level(caps: Caps, rules: &KernelRules) -> CacheLevel {
    if rules.pat_index && caps.contains(Caps::PAT_AT_CREATE) { CacheLevel::Llc } else { llc_level(caps) }
}

/// Returns the state of an object whose PAT index userspace chose (`i915_gem_object_set_pat_index`).
///
/// The kernel treats every index but the uncached one as coherent. Index 0 therefore counts as coherent
/// although it is write-back without coherency: userspace must make all of its flushes.
fn with_pat(caps: Caps, rules: &KernelRules, index: u8) -> Result<Snapshot, Refusal> {
    if !rules.pat_index {
        return Err(Refusal::new(Errno::EINVAL, Rule::NotOnPlatform));
    }
    if !caps.contains(Caps::PAT_AT_CREATE) {
        return Err(Refusal::new(Errno::ENODEV, Rule::NotOnPlatform));
    }
    if index > PAT_MAX {
        return Err(Refusal::new(Errno::EINVAL, Rule::NotOnPlatform));
    }
    let level = match index {
        PAT_UNCACHED => CacheLevel::None,
        PAT_CACHED | PAT_MAX => CacheLevel::Llc,
        // 0 is write-back and 1 is write-through, both without coherency; the level WT stands for both.
        _ => CacheLevel::Wt,
    };
    let user = rules.shmem_is_user;
    Ok(Snapshot { user_pat: Some(index), user, ..object(caps, rules, Backing::Shmem, level) })
}

/// Returns the state of a dma-buf from another device. The kernel never sets its level, which is therefore
/// that of a zeroed structure.
///
/// With PAT indices, zero means LLC on gen12. On 12.70 it means no level; GET_CACHING reports NONE.
fn imported(caps: Caps, rules: &KernelRules) -> Snapshot {
    let zero_is_cached = rules.pat_index && caps.contains(Caps::GEN12) && !caps.contains(Caps::PAT_AT_CREATE);
    let level = if zero_is_cached { CacheLevel::Llc } else { CacheLevel::None };
    Snapshot {
        coherent: Coherency::empty(),
        dirty: false,
        read_domains: Domains::GTT,
        write_domain: Domains::empty(),
        user: rules.foreign_acquire_flush,
        ..object(caps, rules, Backing::Import, level)
    }
}

/// Returns the state of a shmem object after its conversion (`i915_gem_object_attach_phys`): the copy has
/// pages. The release of the shmem pages left the CPU domain.
fn phys(caps: Caps, rules: &KernelRules) -> Snapshot {
    let shmem = object(caps, rules, Backing::Phys, default_level(caps, rules));
    let cached = shmem.coherent.contains(Coherency::WRITE);
    let dirty = !caps.contains(Caps::DISCRETE)
        && (!cached || (rules.release_marks_dirty && !caps.contains(Caps::LLC)));
    Snapshot { dirty, pages: true, user: rules.shmem_is_user, ..shmem }
}
