//! Devices.

use std::ffi::{c_char, c_int, c_uint};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;

use gem_coherency::Errno;

use super::error::{Failure, query, run};
use super::events::Owner;
use super::events::sink::Receiver;
use super::objects::{Owned, Pass as _, add_reference, object, take_reference};
use super::software::{self, Software};
use gem_coherency::backend::node::{self, Node};
use gem_coherency::backend::{Drm, Param};
use gem_coherency::device::{Device, DeviceSpec};
use gem_coherency::fork::Confined;
use gem_coherency_capi_pure::gemco_platform;
use gem_coherency_capi_pure::platform::described;
use gem_coherency_capi_pure::pointers::{Out, string};

/// An open device.
///
/// The gemco_device_open functions create it with one reference. gemco_device_ref adds a reference; gemco_device_unref
/// drops one. A BO keeps its device open even without a reference. Threads may use it concurrently.
pub struct gemco_device {
    pub(super) device: Device,
    /// The software device behind it, if there is one.
    pub(super) soft: Option<Arc<Software>>,
    pub(super) owner: Arc<Owner>,
}

impl Owned for gemco_device {
    fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

impl From<Device> for gemco_device {
    /// Wraps the device of a Rust program that passes it to C.
    fn from(device: Device) -> Self {
        let owner = Owner { is_soft: false, log: Confined::new(Receiver::default()) };
        Self { device, soft: None, owner: Arc::new(owner) }
    }
}

impl Drop for gemco_device {
    /// Ends the device's log callback, because no pointer to it is left that could end it.
    fn drop(&mut self) {
        if let Ok(log) = self.owner.log.get() {
            log.replace(None);
        }
    }
}

static_assertions::assert_impl_all!(gemco_device: Send, Sync);

/// Opens devices with an unknown PCI ID, too; nothing is treated as coherent then.
pub const GEMCO_OPEN_CONSERVATIVE: c_uint = 1;

/// Returns the device at `pointer`; fails if another process opened it.
///
/// # Safety
/// It is null, misaligned, or points to a device that lives during `'a`.
pub(super) unsafe fn open_device<'a>(pointer: *const gemco_device) -> Result<&'a gemco_device, Failure> {
    // SAFETY: the caller's obligation, passed on.
    let device = unsafe { object(pointer, "device") }?;
    device.device.check_process()?;
    Ok(device)
}

/// Identifies an open device, and wraps it.
fn wrap(drm: Arc<dyn Drm>, soft: Option<Arc<Software>>, flags: c_uint) -> Result<gemco_device, Failure> {
    let device = match flags {
        0 => Device::from_drm(drm)?,
        GEMCO_OPEN_CONSERVATIVE => Device::with_conservative_platform(drm)?,
        _ => return Err(Failure::number("flags", flags)),
    };
    let owner = Owner { is_soft: soft.is_some(), log: Confined::new(Receiver::default()) };
    Ok(gemco_device { device, soft, owner: Arc::new(owner) })
}

/// Opens the device of a specification.
fn open_spec(spec: &DeviceSpec, flags: c_uint) -> Result<gemco_device, Failure> {
    match spec {
        DeviceSpec::Path(path) => wrap(node::open(path)?, None, flags),
        DeviceSpec::SimDevice(name) => {
            let (drm, soft) = software::open(name)?;
            wrap(drm, Some(soft), flags)
        }
    }
}

/// Opens the device `name`: a path ("/dev/dri/renderD128"), or a software device ("sim:jsl", "sim:glk,kernel=6.1,display=on").
/// docs/gemtool.md ("Devices") lists the options of software devices; the text of the error about a bad one does, too.
///
/// flags: 0, or GEMCO_OPEN_CONSERVATIVE.
/// device: the new device, with one reference, which the caller drops with gemco_device_unref.
///
/// Returns 0; -ENOENT, -EACCES and other errnos of open(2); -ENODEV for a file that is not a node of i915 or xe, and for an
/// unknown PCI ID; -EINVAL for a bad name, unknown flags, and a kernel that is too old; -EILSEQ for a name that is not
/// UTF-8; the errno of GETPARAM. Any thread.
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
        out.pass_reference(open_spec(&name.parse()?, flags)?);
        Ok(0)
    })
}

/// Opens the device behind `device` again: another file, with its own handles for the same objects. Each file can
/// import and map the other's exports, as another process would.
///
/// A path is opened again. A software device stays the same one, while each gemco_device_open creates a new one.
///
/// flags, again: as for gemco_device_open.
///
/// Returns as gemco_device_open. Any thread.
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
        out.pass_reference(match &device.soft {
            Some(soft) => {
                let (drm, soft) = software::open_again(soft);
                wrap(drm, Some(soft), flags)?
            }
            None => wrap(node::open(device.device.drm().name())?, None, flags)?,
        });
        Ok(0)
    })
}

/// Opens the first node of i915 or xe in /dev/dri; never a software device.
///
/// Returns 0; -ENODEV if there is none; otherwise as gemco_device_open. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_open_first(flags: c_uint, device: *mut *mut gemco_device) -> c_int {
    run("gemco_device_open_first", || {
        // SAFETY: room for a pointer: the caller's obligation.
        let out = unsafe { Out::new(device, "device") }?;
        out.pass_reference(wrap(node::open(node::find().first()?)?, None, flags)?);
        Ok(0)
    })
}

/// Opens a device by the caller's open file. It is duplicated, so GEM handles are valid for both; the caller still owns
/// and closes its own descriptor.
///
/// fd: an open node of i915 or xe.
///
/// Returns 0; -EBADF if `fd` is not open, -EMFILE if it cannot be duplicated; otherwise as gemco_device_open. Any thread.
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
        // SAFETY: it is not negative, which is checked; it is not closed during the call, which is the
        // caller's obligation.
        let node = node::open_fd(unsafe { descriptor(fd, "fd") }?)?;
        out.pass_reference(wrap(node, None, flags)?);
        Ok(0)
    })
}

/// Looks up the platform of the caller's open file: its PCI ID, the running kernel's version, and what the device reports
/// about itself (HAS_LLC, HAS_WT, MMAP_GTT_COHERENT), which overrides the table.
///
/// fd: an open i915 node; the caller keeps it.
///
/// Returns as gemco_device_open_fd. Any thread.
///
/// # Safety
/// As the module says; `fd` is not closed during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_platform_by_fd(fd: c_int, platform: *mut gemco_platform) -> c_int {
    run("gemco_platform_by_fd", || {
        // SAFETY: room for a platform: the caller's obligation.
        let out = unsafe { Out::new(platform, "platform") }?;
        // SAFETY: as in gemco_device_open_fd.
        let node = Node::from_fd(unsafe { descriptor(fd, "fd") }?)?;
        out.set(platform_of(&wrap(Arc::new(node), None, 0)?)?);
        Ok(0)
    })
}

/// Returns the device's file, which belongs to the device: do not close it. GEM handles of the device's BOs are valid
/// in it.
///
/// Returns a file descriptor; -EOPNOTSUPP for a software device. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_fd(device: *const gemco_device) -> c_int {
    query("gemco_device_fd", || {
        // SAFETY: a device: the caller's obligation.
        let device = unsafe { open_device(device) }?;
        match device.device.drm().file() {
            Some(file) => Ok(file.as_raw_fd()),
            None => {
                Err(Failure::refused(Errno::EOPNOTSUPP, "device", "is a software device, which has no file"))
            }
        }
    })
}

/// Borrows an open file of the caller; fails for a negative number.
///
/// # Safety
/// It is not closed during `'a`.
pub(super) unsafe fn descriptor<'a>(fd: c_int, name: &'static str) -> Result<BorrowedFd<'a>, Failure> {
    if fd < 0 {
        return Err(Failure::refused(Errno::EBADF, name, "is negative"));
    }
    // SAFETY: it is not negative. If it is not open, the first call that uses it fails.
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

/// Drops a reference; the last one closes the device, once its BOs are freed. NULL is a no-op.
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

/// Gets the device's platform and capabilities; the device's own values override the table's.
///
/// Returns 0; -ENODEV if the device is unplugged, and other errnos of GETPARAM. Any thread.
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
        out.set(platform_of(device)?);
        Ok(0)
    })
}

/// Describes the device's platform for C.
fn platform_of(device: &gemco_device) -> Result<gemco_platform, Failure> {
    let id = device.device.drm().param(Param::ChipsetId)?;
    Ok(described(device.device.machine(), u16::try_from(id).unwrap_or(0)))
}

/// Returns what MOCS entry `index`, or on graphics 8 the MOCS field of a command, means for coherency on this device.
///
/// Returns a gemco_mocs; -EINVAL for an index above 255. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_mocs(device: *const gemco_device, index: c_uint) -> c_int {
    query("gemco_device_mocs", || {
        // SAFETY: a device: the caller's obligation.
        let device = unsafe { open_device(device) }?;
        let index = u8::try_from(index).map_err(|_| Failure::number("index", index))?;
        Ok(device.device.mocs_class(index) as c_int)
    })
}

/// Counts the GEM handles and CPU mappings that the library has open on the device; for finding leaks.
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
