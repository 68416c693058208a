//! GEM_CREATE and GEM_CREATE_EXT.

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::injected_faults::Needs;
use crate::kernel::limits;
use crate::kernel::objects::object::Object;
use crate::observe::trace_event::TraceEvent;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, extensions, refuse};
use gem_coherency::backend::{Created, Placement};
use gem_coherency::error::Result;
use gem_coherency::platform::{Call, Caps};
use gem_coherency::policy::kernel::{Creation, Snapshot};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_CREATE, DRM_IOCTL_I915_GEM_CREATE_EXT, I915_GEM_CREATE_EXT_FLAG_NEEDS_CPU_ACCESS,
    I915_GEM_CREATE_EXT_MEMORY_REGIONS, I915_GEM_CREATE_EXT_PROTECTED_CONTENT, I915_GEM_CREATE_EXT_SET_PAT,
    drm_i915_gem_create, drm_i915_gem_create_ext, drm_i915_gem_create_ext_memory_regions,
    drm_i915_gem_create_ext_protected_content, drm_i915_gem_create_ext_set_pat,
};
use gem_coherency_uapi::i915_exec::drm_i915_gem_memory_class_instance;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_CREATE, Everyone => create;
};

/// The request that 5.10 lacks.
pub(in crate::requests) static AFTER_5_10: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_CREATE_EXT, Everyone => create_ext;
};

/// Largest number of regions in a list (`INTEL_REGION_UNKNOWN`).
const MOST_REGIONS: u32 = 7;
/// The largest PAT index (`max_pat_index` of Meteor Lake).
const MAX_PAT_INDEX: u32 = 4;

/// The object that the extensions request (`struct create_ext`).
#[derive(Debug, Default)]
pub(crate) struct Requested {
    /// The allowed memory regions, best first.
    placements: Vec<Placement>,
    pat_index: Option<u8>,
    /// The CPU must be able to access the object in every region.
    cpu_access: bool,
}

/// `i915_gem_create_ioctl`.
fn create(caller: &mut Caller<'_>, args: &mut drm_i915_gem_create) -> Result<()> {
    let created = caller.device.create_ioctl(args.size)?;
    (args.handle, args.size) = (created.handle.get(), created.size_bytes);
    Ok(())
}

/// `i915_gem_create_ext_ioctl`.
fn create_ext(caller: &mut Caller<'_>, args: &mut drm_i915_gem_create_ext) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CREATE_EXT.name;
    let (device, caller) = (caller.device, &*caller);
    device.system.enter(request, Needs::Memory)?;
    if args.flags & !I915_GEM_CREATE_EXT_FLAG_NEEDS_CPU_ACCESS != 0 {
        return refuse(request, Errno::EINVAL);
    }
    let cpu_access = args.flags & I915_GEM_CREATE_EXT_FLAG_NEEDS_CPU_ACCESS != 0;
    let mut requested = Requested { cpu_access, ..Requested::default() };
    let walked = extensions::walk(caller.memory, args.extensions, |name, address| {
        extend(caller, &mut requested, name, address).map_err(|error| error.errno())
    });
    if let Err(errno) = walked {
        return refuse(request, errno);
    }
    let created = device.create_requested(args.size, &requested)?;
    (args.handle, args.size) = (created.handle.get(), created.size_bytes);
    Ok(())
}

/// Applies one extension of GEM_CREATE_EXT (`create_extensions`).
fn extend(caller: &Caller<'_>, requested: &mut Requested, name: u32, address: u64) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CREATE_EXT.name;
    let device = caller.device;
    match name {
        I915_GEM_CREATE_EXT_MEMORY_REGIONS => {
            let list: drm_i915_gem_create_ext_memory_regions = caller.get(request, address)?;
            if list.pad != 0 || list.num_regions == 0 || list.num_regions > MOST_REGIONS {
                return refuse(request, Errno::EINVAL);
            }
            let regions = (0..u64::from(list.num_regions)).map(|index| {
                let len = size_of::<drm_i915_gem_memory_class_instance>() as u64;
                let address = list.regions.wrapping_add(index * len);
                let region: drm_i915_gem_memory_class_instance = caller.get(request, address)?;
                Ok(Placement { class: region.memory_class, instance: region.memory_instance })
            });
            device.place(requested, regions)
        }
        I915_GEM_CREATE_EXT_PROTECTED_CONTENT => {
            let protected: drm_i915_gem_create_ext_protected_content = caller.get(request, address)?;
            if protected.flags != 0 {
                return refuse(request, Errno::EINVAL);
            }
            if device.system.machine.has_pxp() { Ok(()) } else { refuse(request, Errno::ENODEV) }
        }
        I915_GEM_CREATE_EXT_SET_PAT => {
            device.check(request, Call::CreateWithPat)?;
            let set_pat: drm_i915_gem_create_ext_set_pat = caller.get(request, address)?;
            device.set_pat(requested, set_pat.pat_index)
        }
        _ => refuse(request, Errno::EINVAL),
    }
}

impl SimDevice {
    /// Creates an object in system memory.
    pub(crate) fn create_ioctl(&self, size_bytes: u64) -> Result<Created> {
        let request = DRM_IOCTL_I915_GEM_CREATE.name;
        self.system.enter(request, Needs::Memory)?;
        self.create_as(request, size_bytes, PAGE_BYTES, Creation::User)
    }

    /// Creates an object with a PAT index.
    pub(crate) fn create_with_pat_ioctl(&self, size_bytes: u64, pat: u32) -> Result<Created> {
        let request = DRM_IOCTL_I915_GEM_CREATE_EXT.name;
        self.system.enter(request, Needs::Memory)?;
        self.check(request, Call::CreateWithPat)?;
        let mut requested = Requested::default();
        self.set_pat(&mut requested, pat)?;
        self.create_requested(size_bytes, &requested)
    }

    /// Creates an object that may be placed in any of the regions.
    pub(crate) fn create_in_ioctl(&self, size_bytes: u64, placements: &[Placement]) -> Result<Created> {
        let request = DRM_IOCTL_I915_GEM_CREATE_EXT.name;
        self.system.enter(request, Needs::Memory)?;
        if placements.is_empty() || placements.len() > MOST_REGIONS as usize {
            return refuse(request, Errno::EINVAL);
        }
        let mut requested = Requested::default();
        self.place(&mut requested, placements.iter().copied().map(Ok))?;
        self.create_requested(size_bytes, &requested)
    }

    /// Sets the allowed regions (`set_placements`); only once, and without duplicates.
    fn place(
        &self,
        requested: &mut Requested,
        regions: impl Iterator<Item = Result<Placement>>,
    ) -> Result<()> {
        let request = DRM_IOCTL_I915_GEM_CREATE_EXT.name;
        let discrete = self.system.machine.caps.contains(Caps::DISCRETE);
        let mut placements = Vec::new();
        for region in regions {
            let region = region?;
            let known = region == Placement::SYSTEM || (discrete && region == Placement::LOCAL);
            if !known || placements.contains(&region) {
                return refuse(request, Errno::EINVAL);
            }
            placements.push(region);
        }
        if !requested.placements.is_empty() {
            return refuse(request, Errno::EINVAL);
        }
        requested.placements = placements;
        Ok(())
    }

    /// Sets the PAT index (`ext_set_pat`); the last one counts.
    fn set_pat(&self, requested: &mut Requested, index: u32) -> Result<()> {
        match u8::try_from(index) {
            Ok(small) if index <= MAX_PAT_INDEX => {
                requested.pat_index = Some(small);
                Ok(())
            }
            _ => refuse(DRM_IOCTL_I915_GEM_CREATE_EXT.name, Errno::EINVAL),
        }
    }

    /// Creates the object that the extensions request.
    fn create_requested(&self, size_bytes: u64, requested: &Requested) -> Result<Created> {
        let request = DRM_IOCTL_I915_GEM_CREATE_EXT.name;
        let may_be = |place| requested.placements.contains(&place);
        // Only objects that can move to system memory can guarantee CPU access, and only for them it is
        // accepted.
        if requested.cpu_access && (requested.placements.len() < 2 || !may_be(Placement::SYSTEM)) {
            return refuse(request, Errno::EINVAL);
        }
        let local_page = self.system.machine.platform.local_page_bytes.map_or(PAGE_BYTES, u64::from);
        let page_bytes = if may_be(Placement::LOCAL) { local_page } else { PAGE_BYTES };
        let creation = match (requested.pat_index, requested.placements.first()) {
            (Some(index), _) => Creation::UserWithPat(index),
            (None, Some(&Placement::LOCAL)) => Creation::Local,
            (None, _) => Creation::User,
        };
        self.create_as(request, size_bytes, page_bytes, creation)
    }

    /// Creates an object whose size is rounded up to `page_bytes` (`__i915_gem_object_create_user_ext`).
    pub(in crate::requests) fn create_as(
        &self,
        request: &'static str,
        size_bytes: u64,
        page_bytes: u64,
        creation: Creation,
    ) -> Result<Created> {
        let rules = &self.system.rules;
        let snapshot = Snapshot::created(self.system.machine.caps, rules, creation)
            .or_else(|refusal| refuse(request, refusal.errno.unwrap_or(Errno::EINVAL)))?;
        let size = match size_bytes.checked_next_multiple_of(page_bytes) {
            None | Some(0) => return refuse(request, Errno::EINVAL),
            Some(size) => size,
        };
        if let Some(errno) = limits::too_big(self.system.machine, size) {
            return refuse(request, errno);
        }
        let object = Object::new(&self.system, size, snapshot);
        self.system.trace.add(object.id(), TraceEvent::Created { size, creation });
        self.named(request, object)
    }
}
