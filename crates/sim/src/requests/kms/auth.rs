//! DRM master and authentication: GET_UNIQUE, GET_MAGIC, GET_CLIENT, SET_VERSION, AUTH_MAGIC, SET_MASTER and
//! DROP_MASTER.
//!
//! The process runs as root: it may become master, and its files are authenticated from the start.

use gem_coherency::Errno;

use crate::SimDevice;
use crate::display::masters::{Client, Masters};
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::error::Result;
use gem_coherency_uapi::drm::*;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_GET_UNIQUE, Primary => get_unique;
    DRM_IOCTL_GET_MAGIC, Primary => get_magic;
    DRM_IOCTL_GET_CLIENT, Primary => get_client;
    DRM_IOCTL_SET_VERSION, Master => set_version;
    DRM_IOCTL_AUTH_MAGIC, Master => auth_magic;
    DRM_IOCTL_SET_MASTER, Primary => set_master;
    DRM_IOCTL_DROP_MASTER, Primary => drop_master;
};

/// Requests that older kernels lack (seen on 7.2, not on 6.12).
pub(in crate::requests) static SINCE_7_2: &[Entry] = entries! {
    DRM_IOCTL_SET_CLIENT_NAME, Everyone => set_client_name;
};

/// The device's bus id (`drm_pci_set_busid`).
const BUS_ID: &str = "pci:0000:00:02.0";
/// The newest interface version (`DRM_IF_MAJOR`, `DRM_IF_MINOR`).
const INTERFACE: (i32, i32) = (1, 4);
/// The driver's version (`DRIVER_MAJOR`, `DRIVER_MINOR`).
const DRIVER: (i32, i32) = (1, 6);
/// The uid reported for one that cannot be mapped (`overflowuid`).
const NOBODY: u64 = 65534;

/// `drm_getunique`.
fn get_unique(caller: &mut Caller<'_>, args: &mut drm_unique) -> Result<()> {
    let request = DRM_IOCTL_GET_UNIQUE.name;
    let known = caller.device.with_masters(request, |masters, client| Ok(masters.has_bus_id(client)))?;
    let name = if known { BUS_ID } else { "" };
    if args.unique_len >= name.len() as u64 {
        caller.put(request, args.unique, name.as_bytes())?;
    }
    args.unique_len = name.len() as u64;
    Ok(())
}

/// `drm_set_client_name`: the name is checked, and not shown anywhere.
fn set_client_name(caller: &mut Caller<'_>, args: &mut drm_set_client_name) -> Result<()> {
    let request = DRM_IOCTL_SET_CLIENT_NAME.name;
    caller.device.system.enter(request, Needs::Nothing)?;
    if args.name_len > DRM_CLIENT_NAME_MAX_LEN {
        return refuse(request, Errno::EINVAL);
    }
    let mut name = vec![0; args.name_len as usize];
    if caller.memory.read(args.name, &mut name) < name.len() {
        return refuse(request, Errno::EFAULT);
    }
    if name.iter().all(u8::is_ascii_graphic) { Ok(()) } else { refuse(request, Errno::EINVAL) }
}

/// `drm_getmagic`.
fn get_magic(caller: &mut Caller<'_>, args: &mut drm_auth) -> Result<()> {
    args.magic = caller.device.with_masters(DRM_IOCTL_GET_MAGIC.name, Masters::magic)?;
    Ok(())
}

/// `drm_getclient`, which lists only the caller; its process has a pid namespace of its own, so its pid is 1.
fn get_client(caller: &mut Caller<'_>, args: &mut drm_client) -> Result<()> {
    let request = DRM_IOCTL_GET_CLIENT.name;
    caller.device.system.enter(request, Needs::Nothing)?;
    if args.idx != 0 {
        return refuse(request, Errno::EINVAL);
    }
    *args = drm_client { auth: 1, pid: 1, uid: NOBODY, ..drm_client::default() };
    Ok(())
}

/// `drm_setversion`.
fn set_version(caller: &mut Caller<'_>, args: &mut drm_set_version) -> Result<()> {
    let asked = *args;
    (args.drm_di_major, args.drm_di_minor) = INTERFACE;
    (args.drm_dd_major, args.drm_dd_minor) = DRIVER;
    caller.device.with_masters(DRM_IOCTL_SET_VERSION.name, |masters, client| {
        if asked.drm_di_major != -1 {
            known(INTERFACE, asked.drm_di_major, asked.drm_di_minor)?;
            if asked.drm_di_minor >= 1 {
                masters.set_bus_id(client);
            }
        }
        if asked.drm_dd_major == -1 { Ok(()) } else { known(DRIVER, asked.drm_dd_major, asked.drm_dd_minor) }
    })
}

/// Checks that a version has the major number of `newest` and is not newer.
fn known(newest: (i32, i32), major: i32, minor: i32) -> Result<(), Errno> {
    if major == newest.0 && (0..=newest.1).contains(&minor) { Ok(()) } else { Err(Errno::EINVAL) }
}

/// `drm_authmagic`.
fn auth_magic(caller: &mut Caller<'_>, args: &mut drm_auth) -> Result<()> {
    caller
        .device
        .with_masters(DRM_IOCTL_AUTH_MAGIC.name, |masters, client| masters.authenticate(client, args.magic))
}

/// `drm_setmaster_ioctl`.
fn set_master(caller: &mut Caller<'_>, _: &mut ()) -> Result<()> {
    caller.device.with_masters(DRM_IOCTL_SET_MASTER.name, Masters::set)
}

/// `drm_dropmaster_ioctl`.
fn drop_master(caller: &mut Caller<'_>, _: &mut ()) -> Result<()> {
    caller.device.with_masters(DRM_IOCTL_DROP_MASTER.name, |masters, client| masters.drop(client))
}

impl SimDevice {
    /// Makes a request that uses the masters and the file's master state.
    fn with_masters<T>(
        &self,
        request: &'static str,
        run: impl FnOnce(&mut Masters, &mut Client) -> Result<T, Errno>,
    ) -> Result<T> {
        self.system.enter(request, Needs::Nothing)?;
        run(&mut self.display.masters(), &mut self.client()).or_else(|errno| refuse(request, errno))
    }
}
