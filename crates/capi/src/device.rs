//! Devices.

use std::ffi::{c_char, c_int, c_uint};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use nix::errno::Errno;

use super::decision::described;
use super::error::{Failure, query, run};
use super::objects::{Out, add_reference, borrow, string, take_reference};
use super::software::{self, Software};
use super::types::gemco_platform;
use gem_coherency::device::{Device, DeviceSpec, ReuseStats};
use gem_coherency::drm::node::{self, Node};
use gem_coherency::drm::{Drm, Param};

/// An open device.
///
/// Made by gemco_device_open and its like, with one reference; gemco_device_ref adds one, gemco_device_unref takes one away. A BO
/// keeps its device open, whether there is a reference or not. Any thread may use it, several at once.
pub struct gemco_device {
    pub(super) device: Device,
    /// The software device behind it, if it is one.
    pub(super) soft: Option<Arc<Software>>,
}

static_assertions::assert_impl_all!(gemco_device: Send, Sync);

/// Opens a device whose PCI id is unknown, too: then nothing is taken to be coherent.
pub const GEMCO_OPEN_CONSERVATIVE: c_uint = 1;

/// What became of BOs and of wishes for them since the device was opened.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_reuse_stats {
    /// Allocations that were answered with a kept object.
    pub hits: u64,
    /// Allocations that could have been, and were not.
    pub misses: u64,
    /// Objects that were found, and that the GPU was not done with.
    pub busy: u64,
    /// Objects whose contents the kernel had taken.
    pub purged: u64,
    /// Objects that were closed after waiting too long.
    pub aged: u64,
    /// Objects that were closed because there was no room.
    pub evicted: u64,
    /// Bytes that are kept now.
    pub held_bytes: u64,
    /// Objects that are kept now.
    pub held: u64,
}

impl From<ReuseStats> for gemco_reuse_stats {
    fn from(stats: ReuseStats) -> Self {
        let ReuseStats { hits, misses, busy, purged, aged, evicted, held_bytes, held } = stats;
        Self { hits, misses, busy, purged, aged, evicted, held_bytes, held: held as u64 }
    }
}

/// The device at `pointer`, which this process opened.
///
/// # Safety
/// It is null, misaligned, or points to a device that lives during `'a`.
pub(super) unsafe fn open_device<'a>(pointer: *const gemco_device) -> Result<&'a gemco_device, Failure> {
    // SAFETY: the caller's obligation, passed on.
    let device = unsafe { borrow(pointer, "device") }?;
    device.device.check_process()?;
    Ok(device)
}

/// Asks an open device what it is.
fn taken(drm: Arc<dyn Drm>, soft: Option<Arc<Software>>, flags: c_uint) -> Result<gemco_device, Failure> {
    let device = match flags {
        0 => Device::from_drm(drm)?,
        GEMCO_OPEN_CONSERVATIVE => Device::with_conservative_platform(drm)?,
        _ => return Err(Failure::Number { name: "flags", value: flags }),
    };
    Ok(gemco_device { device, soft })
}

/// Opens what a name says.
fn opened(spec: &DeviceSpec, flags: c_uint) -> Result<gemco_device, Failure> {
    match spec {
        DeviceSpec::Path(path) => taken(Arc::new(Node::open(path)?), None, flags),
        DeviceSpec::Soft(name) => {
            let (drm, soft) = software::open(name)?;
            taken(drm, Some(soft), flags)
        }
    }
}

/// Opens the device that `name` says: a path ("/dev/dri/renderD128"), or a software device ("sim:jsl").
///
/// flags: 0, or GEMCO_OPEN_CONSERVATIVE.
/// device: the new device, with one reference, which the caller gives back with gemco_device_unref.
///
/// Returns 0; -ENOENT, -EACCES and others of open(2); -ENODEV for what is not i915's (/dev/null, another driver's node), and
/// for an unknown PCI id; -EINVAL for a bad name. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_open(
    name: *const c_char,
    flags: c_uint,
    device: *mut *mut gemco_device,
) -> c_int {
    run("gemco_device_open", || {
        // SAFETY: a string, and room for a pointer: the caller's obligations.
        let (name, out) = unsafe { (string(name, "name")?, Out::new(device, "device")?) };
        out.give(opened(&name.parse()?, flags)?);
        Ok(0)
    })
}

/// Opens the device behind `device` once more: another file, with handles of its own for the same objects. What the one exports
/// the other can import and map, as another process would.
///
/// A path is opened again; a software device, which is one of its own for each gemco_device_open, stays the same one.
///
/// flags, again: as for gemco_device_open.
///
/// Returns 0; as gemco_device_open. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_open_again(
    device: *const gemco_device,
    flags: c_uint,
    again: *mut *mut gemco_device,
) -> c_int {
    run("gemco_device_open_again", || {
        // SAFETY: a device, and room for a pointer: the caller's obligations.
        let (device, out) = unsafe { (open_device(device)?, Out::new(again, "again")?) };
        out.give(match &device.soft {
            Some(soft) => {
                let (drm, soft) = software::open_again(soft);
                taken(drm, Some(soft), flags)?
            }
            None => taken(Arc::new(Node::open(device.device.drm().name())?), None, flags)?,
        });
        Ok(0)
    })
}

/// Opens the first node of i915 in /dev/dri; never a software device.
///
/// As gemco_device_open; -ENODEV if there is none.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_open_first(flags: c_uint, device: *mut *mut gemco_device) -> c_int {
    run("gemco_device_open_first", || {
        // SAFETY: room for a pointer: the caller's obligation.
        let out = unsafe { Out::new(device, "device") }?;
        out.give(taken(Arc::new(Node::open(node::find().first()?)?), None, flags)?);
        Ok(0)
    })
}

/// Takes a device file that the caller has opened: it is duplicated, so GEM handles mean the same to both, and the caller
/// goes on to own, and to close, its own.
///
/// fd: of an i915 node.
///
/// As gemco_device_open; -EBADF for what is not open.
///
/// # Safety
/// As the module says; `fd` is not closed during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_open_fd(
    fd: c_int,
    flags: c_uint,
    device: *mut *mut gemco_device,
) -> c_int {
    run("gemco_device_open_fd", || {
        // SAFETY: room for a pointer: the caller's obligation.
        let out = unsafe { Out::new(device, "device") }?;
        // SAFETY: not negative: checked; not closed during the call: the caller's obligation.
        let node = Node::from_fd(unsafe { descriptor(fd, "fd") }?)?;
        out.give(taken(Arc::new(node), None, flags)?);
        Ok(0)
    })
}

/// An open file of the caller's.
///
/// # Safety
/// It is not closed during `'a`.
pub(super) unsafe fn descriptor<'a>(fd: c_int, name: &'static str) -> Result<BorrowedFd<'a>, Failure> {
    if fd < 0 {
        return Err(Failure::Argument { errno: Errno::EBADF, name, why: "is negative" });
    }
    // SAFETY: not negative; one that is not open is an error of the first call that uses it.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// Adds a reference; returns `device`, or NULL for NULL.
///
/// Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_ref(device: *mut gemco_device) -> *mut gemco_device {
    // SAFETY: null, or a device: the caller's obligation.
    match query("gemco_device_ref", || unsafe {
        let _ = Arc::into_raw(add_reference(device, "device")?);
        Ok(0)
    }) {
        0 => device,
        _ => std::ptr::null_mut(),
    }
}

/// Gives a reference back; the last one closes the device, once its BOs are gone. NULL is nothing.
///
/// Any thread.
///
/// # Safety
/// As the module says; the reference is the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_unref(device: *mut gemco_device) {
    run("gemco_device_unref", || {
        // SAFETY: null, or a device and a reference of the caller's: its obligation.
        drop(unsafe { take_reference(device, "device") }?);
        Ok(0)
    });
}

/// What the device is, and what it can do; the device's own word goes over the table's.
///
/// Returns 0; what CHIPSET_ID answers. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_platform(
    device: *const gemco_device,
    platform: *mut gemco_platform,
) -> c_int {
    query("gemco_device_platform", || {
        // SAFETY: a device, and room for a platform: the caller's obligations.
        let (device, out) = unsafe { (open_device(device)?, Out::new(platform, "platform")?) };
        let id = device.device.drm().param(Param::ChipsetId)?;
        out.set(described(device.device.machine(), u16::try_from(id).unwrap_or(0)));
        Ok(0)
    })
}

/// What MOCS entry `index` means for coherency on this device.
///
/// Returns a gemco_mocs; -EINVAL. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_mocs(device: *const gemco_device, index: c_uint) -> c_int {
    query("gemco_device_mocs", || {
        // SAFETY: a device: the caller's obligation.
        let device = unsafe { open_device(device) }?;
        let index = u8::try_from(index).map_err(|_| Failure::Number { name: "index", value: index })?;
        Ok(device.device.mocs_class(index) as c_int)
    })
}

/// How many GEM handles and CPU mappings are open by the library on the device; for finding leaks.
///
/// handles, mappings: each may be NULL. Returns 0. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_open_counts(
    device: *const gemco_device,
    handles: *mut u64,
    mappings: *mut u64,
) -> c_int {
    query("gemco_device_open_counts", || {
        // SAFETY: a device: the caller's obligation.
        let counts = unsafe { open_device(device) }?.device.open_counts();
        // SAFETY: room for a number, or null: the caller's obligation.
        let outs = unsafe { (Out::optional(handles, "handles")?, Out::optional(mappings, "mappings")?) };
        outs.0.into_iter().for_each(|out| out.set(counts.handles));
        outs.1.into_iter().for_each(|out| out.set(counts.mappings));
        Ok(0)
    })
}

/// Keeps up to `bytes` bytes of BOs for reuse, from now on; 0, as in the beginning, keeps nothing.
///
/// Then gemco_bo_unref of the last reference leaves the object to the device, and gemco_bo_create takes it from there. A BO that
/// is reused holds bytes of its earlier life: its contents are undefined until they are written.
///
/// Returns 0. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_set_reuse_limit(device: *const gemco_device, bytes: u64) -> c_int {
    run("gemco_device_set_reuse_limit", || {
        // SAFETY: a device: the caller's obligation.
        unsafe { open_device(device) }?.device.set_reuse_limit(bytes);
        Ok(0)
    })
}

/// Closes BOs that are kept for reuse once `allocations` more were made without a use for them; 1024 unless said
/// otherwise.
///
/// Returns 0. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_set_reuse_age(device: *const gemco_device, allocations: u64) -> c_int {
    run("gemco_device_set_reuse_age", || {
        // SAFETY: a device: the caller's obligation.
        unsafe { open_device(device) }?.device.set_reuse_age(allocations);
        Ok(0)
    })
}

/// Closes every BO that is kept for reuse.
///
/// Returns 0. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_trim(device: *const gemco_device) -> c_int {
    run("gemco_device_trim", || {
        // SAFETY: a device: the caller's obligation.
        unsafe { open_device(device) }?.device.trim();
        Ok(0)
    })
}

/// What became of BOs and of wishes for them.
///
/// Returns 0. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_reuse_stats(
    device: *const gemco_device,
    stats: *mut gemco_reuse_stats,
) -> c_int {
    query("gemco_device_reuse_stats", || {
        // SAFETY: a device, and room for the numbers: the caller's obligations.
        let (device, out) = unsafe { (open_device(device)?, Out::new(stats, "stats")?) };
        out.set(device.device.reuse_stats().into());
        Ok(0)
    })
}
