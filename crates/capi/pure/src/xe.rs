//! Mappings under the kernel driver xe, without a device.

use core::ffi::{c_int, c_uint};

use gem_coherency_policy::Errno;
use gem_coherency_policy::platform::GraphicsVersion;
use gem_coherency_policy::vocabulary::{KernelVersion, PAGE_BYTES, Unknown};
use gem_coherency_policy::xe::{
    self, Bind, BindFlags, CpuCaching, Create, CreateFlags, Decision, Device, Memory, Object, Refusal, Use,
    Verdict,
};

use super::failure::{Failure, answer};
use super::platform::{chars, kernel};
use super::pointers::{Out, borrow};
use super::rule;
use super::types::{self, gemco_decision};
use super::xe_types::{
    self, gemco_xe_device, gemco_xe_mapping, gemco_xe_memory, gemco_xe_refusal, gemco_xe_request,
};

/// Looks up a device of the kernel driver xe by its PCI ID, without opening it.
///
/// kernel_major, kernel_minor: the kernel version, or 0, 0 for the newest one with known rules.
/// graphics_major, graphics_minor: the version of the graphics IP (ip_ver_major and ip_ver_minor of the main GT in
/// DRM_XE_DEVICE_QUERY_GT_LIST), or 0, 0 for the platform's, which is also what devices before Meteor Lake report.
///
/// Returns 0; -ENODEV for an ID that xe of this kernel does not list; -EINVAL for a kernel before 6.12, and for a graphics
/// version without a PAT table. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_xe_device_by_id(
    pci_id: u16,
    kernel_major: u16,
    kernel_minor: u16,
    graphics_major: u8,
    graphics_minor: u8,
    device: *mut gemco_xe_device,
) -> c_int {
    answer("gemco_xe_device_by_id", || {
        // SAFETY: room for a device: the caller's obligation.
        let out = unsafe { Out::new(device, "device") }?;
        let graphics = GraphicsVersion::new(graphics_major, graphics_minor);
        let device = looked_up(pci_id, kernel(kernel_major, kernel_minor), graphics)?;
        out.set(gemco_xe_device {
            name: chars(device.platform.name()),
            title: chars(device.platform.title()),
            pci_id,
            kernel_major,
            kernel_minor,
            graphics_major: device.graphics.major,
            graphics_minor: device.graphics.minor,
            regions: device.regions(),
            pat_indices: device.pat.entries.len() as c_uint,
            reserved: [0; 2],
        });
        Ok(0)
    })
}

/// Returns whether the kernel accepts a mapping in an address space without page faults: first GEM_CREATE of the object,
/// then VM_BIND (DRM_XE_VM_BIND_OP_MAP, for the process's pages _MAP_USERPTR).
///
/// Memory is taken to be there, and handles and syncs to be right.
///
/// refusal: the request that is refused, its errno and the check that fails, the first in the kernel's order; may be NULL.
///
/// Returns 0 if the kernel accepts the requests, else the errno of the refusal, which is positive; -EINVAL for a question
/// that cannot be asked: NULL, a bad number. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_xe_bind_refusal(
    device: *const gemco_xe_device,
    mapping: *const gemco_xe_mapping,
    refusal: *mut gemco_xe_refusal,
) -> c_int {
    answer("gemco_xe_bind_refusal", || {
        // SAFETY: a device, a mapping, and room for a refusal: the caller's obligations.
        let (asked, out) = unsafe { (Question::new(device, mapping)?, Out::optional(refusal, "refusal")?) };
        let result = match asked.object() {
            Err(refusal) => refused(gemco_xe_request::GEMCO_XE_GEM_CREATE, refusal),
            Ok(object) => match asked.device.bind(&[asked.bind(object.as_ref())], false) {
                Err((_, refusal)) => refused(gemco_xe_request::GEMCO_XE_VM_BIND, refusal),
                Ok(()) => gemco_xe_refusal {
                    request: gemco_xe_request::GEMCO_XE_NO_REQUEST as c_uint,
                    error: 0,
                    rule: 0,
                },
            },
        };
        if let Some(out) = out {
            out.set(result);
        }
        Ok(result.error)
    })
}

/// Decides what is required between a write to memory and the next access to it, if a mapping of the whole of it has the
/// PAT index. The mapping's offset, address, range and bind_flags are ignored.
///
/// writer, next: a gemco_xe_agent. when: a gemco_xe_when.
/// decision: the verdict with its rule; may be NULL.
///
/// Returns the verdict, a gemco_verdict: GEMCO_DRAIN means gemco_pre_flush_fence by the thread that stored, before the
/// request that submits; GEMCO_FLUSH gemco_flush_range over what the CPU wrote; GEMCO_FLUSH_GPU that the batch flushes the
/// GPU's caches; GEMCO_REFUSED that there is no such access. The CPU never has to invalidate. -EINVAL for NULL and for a bad
/// number. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_xe_needs_flush(
    device: *const gemco_xe_device,
    mapping: *const gemco_xe_mapping,
    writer: c_uint,
    next: c_uint,
    when: c_uint,
    decision: *mut gemco_decision,
) -> c_int {
    answer("gemco_xe_needs_flush", || {
        // SAFETY: a device, a mapping, and room for a decision: the caller's obligations.
        let (asked, out) = unsafe { (Question::new(device, mapping)?, Out::optional(decision, "decision")?) };
        let writer = xe_types::agent(writer, "writer")?;
        let next = xe_types::agent(next, "next")?;
        let when = xe_types::when(when, "when")?;
        let decided: gemco_decision = match asked.object() {
            // An object that GEM_CREATE refuses does not exist.
            Err(refusal) => Decision { verdict: Verdict::Refused, rule: refusal.rule },
            Ok(object) => {
                let memory = object.as_ref().map_or(Memory::Process, Memory::Object);
                asked.device.needs_flush(memory, asked.pat_index, writer, next, when)
            }
        }
        .into();
        if let Some(out) = out {
            out.set(decided);
        }
        Ok(decided.verdict as c_int)
    })
}

/// Chooses the memory and the mapping for a use.
///
/// purpose: a gemco_xe_use. size: the size in bytes, not 0.
/// mapping: the fields memory, placement and create_flags of GEM_CREATE, and pat_index of VM_BIND; size and range are `size`,
/// rounded up to the pages of the placement. The other fields are 0: the caller sets the address, and for its own pages the
/// offset.
///
/// Returns 0; -EOPNOTSUPP for GEMCO_XE_USE_SCANOUT on a device without a display; -EINVAL for NULL and for a bad number. Any
/// thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_xe_choose(
    device: *const gemco_xe_device,
    purpose: c_uint,
    size: u64,
    mapping: *mut gemco_xe_mapping,
) -> c_int {
    answer("gemco_xe_choose", || {
        // SAFETY: a device, and room for a mapping: the caller's obligations.
        let (device, out) = unsafe { (found(device)?, Out::new(mapping, "mapping")?) };
        let purpose = xe_types::purpose(purpose, "purpose")?;
        let pages = size.checked_next_multiple_of(PAGE_BYTES).filter(|&size| size != 0);
        let pages = pages.ok_or(Failure::argument("size", "is 0, or larger than the address space"))?;
        let choice = device.choose(purpose, pages).ok_or(Failure::Argument {
            errno: Errno::EOPNOTSUPP,
            name: "purpose",
            why: "is GEMCO_XE_USE_SCANOUT, and the device has no display",
        })?;
        // What is not created has no placement, and the caching of its origin.
        let memory = if purpose == Use::Userptr {
            gemco_xe_memory::GEMCO_XE_MEMORY_USERPTR
        } else {
            gemco_xe_memory::GEMCO_XE_MEMORY_IMPORT
        };
        let (memory, placement, create_flags, size) =
            choice.create.map_or((memory as c_uint, 0, 0, pages), |new| {
                (new.cpu_caching.into(), new.placement, new.flags.bits(), new.size)
            });
        out.set(gemco_xe_mapping {
            memory,
            placement,
            create_flags,
            bind_flags: 0,
            pat_index: choice.pat_index.into(),
            pad: 0,
            size,
            offset: 0,
            address: 0,
            range: size,
            reserved: [0; 2],
        });
        Ok(0)
    })
}

/// Returns the object that is mapped, or the refusal of GEM_CREATE, and the PAT index.
///
/// # Errors
/// EINVAL for a bad number, and for the process's own pages, which are no object.
pub fn mapped_object(
    device: Device,
    mapping: &gemco_xe_mapping,
) -> Result<(Result<Object, Refusal>, u16), Failure> {
    let asked = Question::of(device, mapping)?;
    match asked.object().transpose() {
        Some(object) => Ok((object, asked.pat_index)),
        None => Err(Failure::argument("mapping->memory", "is GEMCO_XE_MEMORY_USERPTR, which has no handle")),
    }
}

/// The memory of a mapping.
#[derive(Clone, Copy)]
enum Kind {
    /// An object of GEM_CREATE.
    Created(Create),
    /// An object of another driver, with its size.
    Import(u64),
    /// The process's own pages.
    Process,
}

/// A question about a mapping with its numbers checked.
struct Question {
    device: Device,
    kind: Kind,
    pat_index: u16,
    bind_flags: BindFlags,
    offset: u64,
    address: u64,
    range: u64,
}

impl Question {
    /// Checks a device and a mapping from C.
    ///
    /// # Safety
    /// As the module says.
    unsafe fn new(device: *const gemco_xe_device, mapping: *const gemco_xe_mapping) -> Result<Self, Failure> {
        // SAFETY: a device and a mapping: the caller's obligations.
        let (device, mapping) = unsafe { (found(device)?, borrow(mapping, "mapping")?) };
        Self::of(device, mapping)
    }

    /// Checks a mapping.
    fn of(device: Device, mapping: &gemco_xe_mapping) -> Result<Self, Failure> {
        let &gemco_xe_mapping { memory, placement, create_flags, size, pat_index, .. } = mapping;
        types::reserved(mapping.pad, "mapping->pad")?;
        types::reserved(mapping.reserved, "mapping->reserved")?;
        let wrong = |name, value| Failure::Number { name, value };
        const WB: c_uint = gemco_xe_memory::GEMCO_XE_MEMORY_WB as c_uint;
        const WC: c_uint = gemco_xe_memory::GEMCO_XE_MEMORY_WC as c_uint;
        const IMPORT: c_uint = gemco_xe_memory::GEMCO_XE_MEMORY_IMPORT as c_uint;
        const USERPTR: c_uint = gemco_xe_memory::GEMCO_XE_MEMORY_USERPTR as c_uint;
        let kind = match memory {
            WB | WC => Kind::Created(Create {
                placement,
                flags: CreateFlags::from_bits_retain(create_flags),
                ..Create::new(size, if memory == WB { CpuCaching::Wb } else { CpuCaching::Wc })
            }),
            IMPORT => Kind::Import(size),
            USERPTR => Kind::Process,
            _ => return Err(wrong("mapping->memory", memory)),
        };
        if !matches!(kind, Kind::Created(_)) && (placement, create_flags) != (0, 0) {
            let name = if placement != 0 { "mapping->placement" } else { "mapping->create_flags" };
            return Err(Failure::argument(name, "is not 0, and GEM_CREATE does not make such memory"));
        }
        Ok(Self {
            device,
            kind,
            pat_index: u16::try_from(pat_index).map_err(|_| wrong("mapping->pat_index", pat_index))?,
            bind_flags: BindFlags::from_bits_retain(mapping.bind_flags),
            offset: mapping.offset,
            address: mapping.address,
            range: mapping.range,
        })
    }

    /// Returns the object, or none for the process's pages.
    ///
    /// # Errors
    /// The refusal of GEM_CREATE.
    fn object(&self) -> Result<Option<Object>, Refusal> {
        match &self.kind {
            Kind::Created(request) => self.device.create(request).map(Some),
            Kind::Import(size) => Ok(Some(Object::imported(*size))),
            Kind::Process => Ok(None),
        }
    }

    /// Returns the request that binds the object, or the process's pages.
    fn bind<'a>(&self, object: Option<&'a Object>) -> Bind<'a> {
        let &Self { offset, address, range, pat_index, bind_flags, .. } = self;
        let bind = match object {
            Some(object) => Bind { offset, range, ..Bind::map(object, address, pat_index) },
            None => Bind::userptr(offset, address, range, pat_index),
        };
        Bind { flags: bind_flags, ..bind }
    }
}

/// Returns a refusal to C.
fn refused(request: gemco_xe_request, refusal: Refusal) -> gemco_xe_refusal {
    gemco_xe_refusal {
        request: request as c_uint,
        error: refusal.errno.get(),
        rule: rule::of_xe(refusal.rule),
    }
}

/// Returns the device of a PCI ID; 0.0 is the platform's graphics version.
fn looked_up(id: u16, kernel: KernelVersion, graphics: GraphicsVersion) -> Result<Device, Unknown> {
    let device = xe::by_id(id)?.device(kernel)?;
    if device.platform.ids(kernel).all(|listed| listed != id) {
        return Err(Unknown::DeviceUnderKernel { id, kernel });
    }
    if (graphics.major, graphics.minor) == (0, 0) { Ok(device) } else { device.with_graphics(graphics) }
}

/// Returns the device that C passes, which it may have filled itself.
///
/// # Safety
/// As the module says.
unsafe fn found(device: *const gemco_xe_device) -> Result<Device, Failure> {
    // SAFETY: a device: the caller's obligation.
    let device = unsafe { borrow(device, "device") }?;
    types::reserved(device.reserved, "device->reserved")?;
    let graphics = GraphicsVersion::new(device.graphics_major, device.graphics_minor);
    Ok(looked_up(device.pci_id, kernel(device.kernel_major, device.kernel_minor), graphics)?)
}
