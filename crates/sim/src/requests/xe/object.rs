//! GEM_CREATE and GEM_MMAP_OFFSET of xe.

use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::backend::Created;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::{Backing, Snapshot};
use gem_coherency::sync::Mutex;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::Agent;
use gem_coherency::xe::{self, Create, CreateFlags, LOCAL, MapFlags, Refusal};
use gem_coherency_uapi::xe::{
    DRM_IOCTL_XE_GEM_CREATE, DRM_IOCTL_XE_GEM_MMAP_OFFSET, drm_xe_gem_create, drm_xe_gem_mmap_offset,
};

use super::properties;
use crate::SimDevice;
use crate::kernel::hardware::LINUX_7_2;
use crate::kernel::injected_faults::Needs;
use crate::kernel::limits::{OFFSET_PAGES, SYSTEM_BYTES};
use crate::kernel::mappings::window::Window;
use crate::kernel::objects::object::{Object, XeObject};
use crate::kernel::objects::state::NewObject;
use crate::kernel::spaces::vm::Vm;
use crate::memory::backing_store::{BackingStore, Zeroing};
use crate::observe::asked::AskedRequest;
use crate::observe::trace_event::TraceEvent;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::vocabulary::MmapMode;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_XE_GEM_CREATE, Everyone => create;
    DRM_IOCTL_XE_GEM_MMAP_OFFSET, Everyone => mmap_offset;
};

/// The offset of the barrier page in the device's file (`XE_PCI_BARRIER_MMAP_OFFSET`).
const BARRIER_OFFSET: u64 = 0x50 << 12;

/// The property of an object (`DRM_XE_GEM_CREATE_SET_PROPERTY_PXP_TYPE`).
const PXP_TYPE: u32 = 0;

/// `xe_gem_create_ioctl`.
fn create(caller: &mut Caller<'_>, args: &mut drm_xe_gem_create) -> Result<()> {
    let request = DRM_IOCTL_XE_GEM_CREATE.name;
    let device = caller.device;
    device.system.enter(request, Needs::Memory)?;
    let Some(kernel) = device.system.xe else { return refuse(request, Errno::ENODEV) };
    let asked = Create {
        size: args.size,
        placement: args.placement,
        flags: CreateFlags::from_bits_retain(args.flags),
        cpu_caching: args.cpu_caching,
        handle: args.handle,
        reserved: args.pad != [0; 3] || args.reserved != [0; 2],
        extension: args.extensions != 0,
    };
    let answer = kernel.device.create(&asked);
    device.system.trace.ask(answer.err(), || AskedRequest::Create(asked));
    let created = match answer {
        Ok(created) => created,
        // The size is compared with the page of local memory when memory is allocated, after the VM was found.
        Err(refusal @ Refusal { rule, .. })
            if rule != xe::Rule::CreateSize || !args.size.is_multiple_of(PAGE_BYTES) || args.size == 0 =>
        {
            return refuse(request, device.refused(request, refusal, None, args.size));
        }
        Err(_) => {
            device.vm_of(request, args.vm_id)?;
            return refuse(request, Errno::EINVAL);
        }
    };
    let vm = device.vm_of(request, args.vm_id)?;
    let walked = properties::walk(caller, args.extensions, |property, value| match property {
        PXP_TYPE => properties::set_pxp_type(value),
        _ => Err(Errno::EINVAL),
    });
    let object = device.create_of_xe(request, created, vm.as_deref())?;
    walked.or_else(|errno| refuse(request, errno))?;
    args.handle = device.named(request, object)?.handle.get();
    Ok(())
}

/// `xe_gem_mmap_offset_ioctl`.
fn mmap_offset(caller: &mut Caller<'_>, args: &mut drm_xe_gem_mmap_offset) -> Result<()> {
    let request = DRM_IOCTL_XE_GEM_MMAP_OFFSET.name;
    let device = caller.device;
    device.system.enter(request, Needs::Memory)?;
    let Some(kernel) = device.system.xe else { return refuse(request, Errno::ENODEV) };
    let flags = MapFlags::from_bits_retain(args.flags);
    let reserved = args.extensions != 0 || args.reserved != [0; 2];
    if let Err(Refusal { errno, rule }) = kernel.device.map_offset(args.handle, flags, reserved) {
        tracing::debug!(%rule, "refused");
        return refuse(request, errno);
    }
    if flags.contains(MapFlags::PCI_BARRIER) {
        args.offset = BARRIER_OFFSET;
        return Ok(());
    }
    args.offset = device.offset_of(request, args.handle, MmapMode::Fixed)?;
    Ok(())
}

impl SimDevice {
    /// Maps the barrier page, if `offset` is its: memory that nothing reads (`xe_pci_barrier_mmap`).
    ///
    /// # Errors
    /// EINVAL for more than the page.
    pub(in crate::requests) fn barrier_page(&self, len: u64, offset: u64) -> Result<Option<Window>> {
        let is_discrete = self.system.xe.is_some_and(|kernel| kernel.device.platform.discrete);
        // 6.12 has none.
        if !is_discrete || self.system.machine.kernel < LINUX_7_2 || offset != BARRIER_OFFSET {
            return Ok(None);
        }
        if len > PAGE_BYTES {
            return refuse("mmap", Errno::EINVAL);
        }
        let backing = Arc::new(Mutex::new(BackingStore::new(PAGE_BYTES, Zeroing::Gpu, None)));
        Ok(Some(Window::of_memory(backing, 0)))
    }

    /// Returns the VM with this id; `None` for 0.
    ///
    /// # Errors
    /// ENOENT.
    fn vm_of(&self, request: &'static str, id: u32) -> Result<Option<Arc<Vm>>> {
        if id == 0 {
            return Ok(None);
        }
        let vm = self.tables().vm(id);
        if vm.is_some() { Ok(vm) } else { refuse(request, Errno::ENOENT) }
    }

    /// Creates an object, with its pages unless they are deferred (`xe_bo_create_user`); `private_to` is the VM that it is
    /// created for.
    ///
    /// # Errors
    /// ENOSPC for more than a mapping can have; as [`Object::validate`].
    pub(in crate::requests) fn create_of_xe(
        &self,
        request: &'static str,
        created: xe::Object,
        private_to: Option<&Vm>,
    ) -> Result<Arc<Object>> {
        let Some(kernel) = self.system.xe else { return refuse(request, Errno::ENODEV) };
        let state = NewObject::of_xe(&kernel.device, &created, kernel.without);
        let NewObject { snapshot, zeroed_by, .. } = state;
        let is_local = created.placement & LOCAL != 0;
        // No offset for mappings is left, which is allocated first.
        if created.size / PAGE_BYTES > OFFSET_PAGES {
            return refuse(request, Errno::ENOSPC);
        }
        let is_deferred = created.flags.contains(CreateFlags::DEFER_BACKING);
        if created.size > SYSTEM_BYTES && (!is_local || is_deferred) {
            return refuse(request, Errno::ENOMEM);
        }
        let zeroing = if zeroed_by == Agent::Cpu { Zeroing::Cpu } else { Zeroing::Gpu };
        let of_xe = XeObject::new(created, private_to.map(|vm| vm.number));
        let object = Object::of_xe(&self.system, of_xe, snapshot, zeroing);
        let traced = TraceEvent::CreatedByXe {
            size: created.size,
            snapshot: state.in_shared_cache(&kernel.device),
            zeroed_by,
            created,
            is_dumb: request != DRM_IOCTL_XE_GEM_CREATE.name,
        };
        self.system.trace.add(object.id(), traced);
        if !is_deferred {
            // Before 7.2, a VM whose batches are preempted when objects move keeps its own (`xe_bo_move`).
            let keeps_own = self.system.machine.kernel < LINUX_7_2;
            let keeper = private_to.filter(|vm| keeps_own && vm.mode.is_preempted());
            object.validate(request, &|other| keeper.is_some_and(|vm| vm.maps(other.id())))?;
        }
        Ok(object)
    }

    /// Creates the object of a dumb buffer under xe (`xe_bo_dumb_create`).
    pub(in crate::requests) fn create_dumb_of_xe(
        &self,
        request: &'static str,
        device: &xe::Device,
        size_bytes: u64,
    ) -> Result<Created> {
        let page = device.platform.local_page_bytes.map_or(PAGE_BYTES, u64::from);
        let Some(size) = size_bytes.checked_next_multiple_of(page) else {
            return refuse(request, Errno::EINVAL);
        };
        let object = self.create_of_xe(request, device.dumb(size), None)?;
        self.named(request, object)
    }

    /// Returns the state of an import, or of the process's own pages, under xe.
    pub(in crate::requests) fn foreign_state(&self, backing: Backing) -> Option<Snapshot> {
        let kernel = self.system.xe?;
        let imported = xe::Object::imported(0);
        Some(Snapshot { backing, ..NewObject::of_xe(&kernel.device, &imported, None).snapshot })
    }
}
