//! Tracking of buffer objects that the caller keeps.

use std::fmt::Display;
use std::sync::Arc;

use gem_coherency_policy::Errno;
use gem_coherency_policy::xe::{self, CpuCaching, most_cached};

use super::alloc::zeroes_stay;
use crate::backend::{Created, Mapping};
use crate::error::{Error, Result};
use crate::fork::Confined;
use crate::object::bo::Bo;
use crate::object::shared::{
    New, Origin, Readers, SharedBo, SharedDevice, WaitedBy, level_of, level_when_bound,
};
use crate::platform::level_mode;
use crate::policy::Path;
use crate::policy::kernel::Creation;
use crate::tracking::{Adopted, Past};
use crate::units::PAGE_BYTES;
use crate::vocabulary::{CacheLevel, Handle, MmapMode};

/// The caller's knowledge about the contents of an object that is adopted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The zeroes of a new object: no agent has accessed it.
    New,
    /// Any agent may have written it: every line counts as dirty and as stale.
    Unknown,
}

/// The object of xe, and the PAT indices by which the caller binds it.
#[derive(Clone, Copy, Debug)]
struct Bindings {
    object: xe::Object,
    /// A bit for each index that a page table can have.
    indices: u64,
    /// An index that none can have, to be refused by name.
    beyond: Option<u16>,
    /// Another object that was named.
    other: Option<xe::Object>,
}

impl Bindings {
    /// Adds an index.
    const fn with(self, pat_index: u16) -> Self {
        match 1_u64.checked_shl(pat_index as u32) {
            Some(bit) => Self { indices: self.indices | bit, ..self },
            None => Self { beyond: Some(pat_index), ..self },
        }
    }

    /// Returns each index once.
    fn indices(self) -> impl Iterator<Item = u16> {
        let is_one = move |&index: &u16| self.indices >> index & 1 != 0;
        (0..u64::BITS as u16).filter(is_one).chain(self.beyond)
    }

    /// Returns the level of the object.
    ///
    /// # Errors
    /// Those of [`level_when_bound`].
    fn level(self, device: &SharedDevice) -> Result<CacheLevel> {
        self.indices().try_fold(CacheLevel::None, |level, pat_index| {
            Ok(most_cached(level, level_when_bound(device, &self.object, pat_index)?))
        })
    }
}

/// A buffer object that the caller created, and that it maps and closes itself ([`super::Device::adopt`]).
#[derive(Debug)]
pub struct AdoptRequest {
    handle: Handle,
    size: u64,
    level: Option<CacheLevel>,
    keeps_level: bool,
    bound: Option<Bindings>,
    mapping: Option<Mapping>,
    contents: Contents,
    waited_by: WaitedBy,
    readers: Readers,
}

impl AdoptRequest {
    /// Creates a request for the object of `size` bytes with this handle in the device's file. The kernel is asked for
    /// its level, the library maps it if it has to, its contents are unknown, the library waits for the GPU, and any agent may
    /// read it. On a device of xe there is no such question, and the request needs [`AdoptRequest::bound`].
    pub const fn new(handle: Handle, size: u64) -> Self {
        Self {
            handle,
            size,
            level: None,
            keeps_level: false,
            bound: None,
            mapping: None,
            contents: Contents::Unknown,
            waited_by: WaitedBy::Library,
            readers: Readers::ALL,
        }
    }

    /// Sets the level, so that the kernel is not asked (GET_CACHING).
    #[must_use]
    pub fn level(mut self, level: CacheLevel) -> Self {
        self.level = Some(level);
        self
    }

    /// Sets the level of an object whose PAT index was chosen at creation; neither SET_CACHING nor the display
    /// changes it.
    #[must_use]
    pub fn fixed_level(mut self, level: CacheLevel) -> Self {
        self.keeps_level = true;
        self.level(level)
    }

    /// Sets, under xe, how the object was created, and adds a PAT index by which the caller binds it: call it once for each index. The level is that of
    /// the most cached mapping, and no other is to be set. [`Bo::bound_by`] adds indices later. The kernel is not asked whether it was created so.
    #[must_use]
    pub fn bound(mut self, object: xe::Object, pat_index: u16) -> Self {
        let before = self.bound.unwrap_or(Bindings { object, indices: 0, beyond: None, other: None });
        let other = before.other.or((before.object != object).then_some(object));
        self.bound = Some(Bindings { other, ..before }.with(pat_index));
        self
    }

    /// Sets the mapping of the whole object that accesses and flushes use. It must exist as long as the BO, or until
    /// [`Bo::unmap`].
    ///
    /// Without it, reported stores count as made through a write-back mapping (fixed on discrete devices).
    #[must_use]
    pub fn mapped(mut self, mapping: Mapping) -> Self {
        self.mapping = Some(mapping);
        self
    }

    /// Sets the knowledge about the contents.
    #[must_use]
    pub fn contents(mut self, contents: Contents) -> Self {
        self.contents = contents;
        self
    }

    /// Sets the component that waits for the GPU's writes before the CPU accesses the object.
    #[must_use]
    pub fn waited_by(mut self, waited_by: WaitedBy) -> Self {
        self.waited_by = waited_by;
        self
    }

    /// Sets the agents that may read the object without a call of this library's that names it, as a batch that was not
    /// reported does. [`Bo::unmap`] and [`Bo::remap`] flush for them alone. Lines that none of them misses stay dirty, and are
    /// flushed before a call hands them to another agent.
    ///
    /// The GPU through the page table's class is always one of them. The display joins them when the BO is shown
    /// ([`Bo::prepare_scanout`]), and every agent when others may know it ([`Bo::export`], [`Bo::never_reuse`]). An agent that
    /// the platform lacks reads nothing.
    #[must_use]
    pub fn readers(mut self, readers: &[Path]) -> Self {
        self.readers = Readers::of(readers);
        self
    }
}

/// Creates the BO of an object of the caller's.
pub(super) fn adopt(device: &Arc<Confined<SharedDevice>>, request: AdoptRequest) -> Result<Bo> {
    device.check()?;
    let AdoptRequest {
        handle,
        size,
        mut level,
        mut keeps_level,
        bound,
        mut mapping,
        contents,
        waited_by,
        readers,
    } = request;
    let _span = tracing::debug_span!("adopt", handle = handle.get(), bytes = size).entered();
    if size == 0 || size % PAGE_BYTES != 0 {
        return Err(Error::BadSize { size, why: "an object has whole pages, and at least one" });
    }
    // Its pages could never be had (`shmem_sg_alloc_table`), and its marks would take a five-hundredth of its size.
    if device.largest_region_bytes.is_some_and(|largest| size > largest) {
        return Err(Error::BadSize {
            size,
            why: "the object is larger than each memory region of the device",
        });
    }
    if mapping.as_ref().is_some_and(|mapping| mapping.len() != size) {
        return Err(Error::BadSize { size, why: "the mapping has another size" });
    }
    if let Some(bindings) = bound {
        let refused = |what, why| {
            let platform = device.machine.platform.name;
            Err(Error::NotAvailable { what, platform, why, errno: Errno::EINVAL })
        };
        if let Some(other) = bindings.other {
            let what =
                format!("an object that is {}, and also {}", described(&bindings.object), described(&other));
            return refused(what, "each AdoptRequest::bound of a request is about the same object");
        }
        if let Some(level) = level {
            return refused(
                format!("level {level} of a bound object"),
                "the level follows from its mappings",
            );
        }
        check_object(device, &bindings.object, size, mapping.as_ref())?;
        level = Some(bindings.level(device)?);
        keeps_level = true;
    } else if device.is_xe() {
        return Err(Error::NotAvailable {
            what: "an object of the caller's without AdoptRequest::bound".to_owned(),
            platform: device.machine.platform.name,
            why: "xe has no request for how an object was created",
            errno: Errno::EOPNOTSUPP,
        });
    }
    let level = level.unwrap_or_else(|| level_of(device, handle, Creation::User));
    let past = match contents {
        Contents::New => Past::Known,
        Contents::Unknown => Past::Unknown,
    };
    let created = Created { handle, size_bytes: size };
    let new = New { created, level, origin: Origin::Adopted(past), keeps_level, waited_by, readers };
    let adopted = device.registry.adopt(handle, |number| {
        let shared = SharedBo::new(device, number, new)?;
        if let Some(mapping) = mapping.take() {
            shared.use_mapping(mapping)?;
        }
        if let Some(Bindings { object, .. }) = bound {
            device.drm.learn(handle, object);
        }
        // With a PAT index the kernel may have been told to flush nothing.
        let zeroes = (keeps_level && !device.is_xe())
            || zeroes_stay(device, handle, Creation::User, Some(level_mode(level)));
        // The CPU has no line of a write-combining object of xe.
        let can_be_dirty = bound.is_none_or(|bound| bound.object.caching != Some(CpuCaching::Wc));
        if (contents == Contents::Unknown && can_be_dirty) || zeroes {
            shared.mark_all_dirty();
        }
        Ok::<_, Error>(Arc::new(Confined::new(shared)))
    })?;
    if let Adopted::Before(shared) = &adopted {
        check_same(shared, &new, bound.map(|bound| bound.object))?;
        if bound.is_some() {
            shared.join_level(level)?;
        }
        join(shared, mapping)?;
        shared.readers.join(readers);
    }
    tracing::debug!(handle = handle.get(), bytes = size, %level, ?contents, ?readers, "adopt");
    let (Adopted::Now(shared) | Adopted::Before(shared)) = adopted;
    Ok(Bo::from_shared(shared))
}

/// Checks what the caller says of an object of xe.
///
/// # Errors
/// [`Error::BadSize`]; [`Error::NotAvailable`] for a mapping in another mode than the object's.
fn check_object(
    device: &SharedDevice,
    object: &xe::Object,
    size: u64,
    mapping: Option<&Mapping>,
) -> Result<()> {
    if object.size != size {
        return Err(Error::BadSize { size: object.size, why: "the mapping's object has another size" });
    }
    let has = device.drm.xe().and_then(|rules| rules.map_mode(object));
    match mapping.map(Mapping::mode).zip(has) {
        Some((mode, has)) if mode != has => Err(Error::NotAvailable {
            what: format!("a mapping in mode {mode} of an object that xe maps in mode {has}"),
            platform: device.machine.platform.name,
            why: "the mode follows from the object's creation",
            errno: Errno::EINVAL,
        }),
        _ => Ok(()),
    }
}

/// Returns how an object was created, for an error.
fn described(object: &xe::Object) -> String {
    let caching = object.caching.map_or("import".to_owned(), |caching| caching.to_string());
    format!("{caching}, placement {:#x}, flags {:#x}", object.placement, object.flags.bits())
}

/// Checks that the object was adopted before with the same facts.
fn check_same(shared: &SharedBo, new: &New, bound: Option<xe::Object>) -> Result<()> {
    let handle = shared.handle.get();
    if !matches!(shared.origin, Origin::Adopted(_)) {
        return Err(Error::HandleInUse { handle });
    }
    let differs = |what, adopted: &dyn Display, asked: &dyn Display| {
        Err(Error::AdoptedOtherwise { handle, what, adopted: adopted.to_string(), asked: asked.to_string() })
    };
    if shared.size != new.created.size_bytes {
        return differs("size", &shared.size, &new.created.size_bytes);
    }
    if let Some(asked) = bound {
        let known = shared.device.drm.known(shared.handle);
        if let Some(adopted) = known.filter(|&known| known != asked) {
            return differs("the object", &described(&adopted), &described(&asked));
        }
    } else if shared.keeps_level != new.keeps_level || (new.keeps_level && shared.level() != new.level) {
        let level = |is_fixed, level| format!("{} {level}", if is_fixed { "fixed" } else { "changeable" });
        return differs(
            "level",
            &level(shared.keeps_level, shared.level()),
            &level(new.keeps_level, new.level),
        );
    }
    if shared.waited_by != new.waited_by {
        return differs("wait for the GPU", &shared.waited_by, &new.waited_by);
    }
    Ok(())
}

/// Uses another mapping of an object that was adopted before, if it has to be.
fn join(shared: &SharedBo, mapping: Option<Mapping>) -> Result<()> {
    let Some(mapping) = mapping else { return Ok(()) };
    match (shared.maps.current().map(Mapping::mode), mapping.mode()) {
        // The flush of stores by a write-back mapping includes the fence that those by others need, except the aperture's.
        (None, _) | (Some(MmapMode::Wc | MmapMode::Uc), MmapMode::Wb) => shared.use_mapping(mapping),
        (Some(MmapMode::Wb), MmapMode::Wc | MmapMode::Uc) => Ok(()),
        (Some(adopted), asked) if adopted == asked => Ok(()),
        (Some(adopted), asked) => Err(Error::AdoptedOtherwise {
            handle: shared.handle.get(),
            what: "map mode",
            adopted: adopted.to_string(),
            asked: asked.to_string(),
        }),
    }
}
