//! The device's master, and authentication by it (`drm_auth.c`).
//!
//! A file that becomes master for the first time creates a master; files opened later belong to it. After
//! another becomes current, a master continues to exist while files belong to it.

use std::collections::BTreeMap;

use crate::{Minor, SimDevice};
use gem_coherency::Errno;

/// The master state of a file (`struct drm_file`).
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// The file enabled atomic commits.
    pub(crate) atomic: bool,
    /// The file sees primary and cursor planes.
    pub(crate) all_planes: bool,
    /// The file knows modes with an aspect ratio.
    pub(crate) aspect_ratios: bool,
    /// The master that the file belongs to; `None` for render-node files.
    master: Option<u64>,
    /// The file created that master.
    is_master: bool,
    /// Its authentication number; 0 if it never requested one.
    magic: u32,
}

/// A master (`struct drm_master`).
#[derive(Debug, Default)]
struct Master {
    /// The issued numbers, and whether each is still valid.
    magics: BTreeMap<u32, bool>,
    /// The device's bus ID was set for this master.
    has_bus_id: bool,
    /// Number of files that belong to it.
    files: u64,
}

/// The masters of a device.
#[derive(Debug, Default)]
pub(crate) struct Masters {
    made: u64,
    current: Option<u64>,
    all: BTreeMap<u64, Master>,
}

impl Masters {
    /// Opens a file of the primary node (`drm_master_open`).
    pub(crate) fn open(&mut self) -> Client {
        let mut client = Client::default();
        match self.current {
            None => self.make(&mut client),
            Some(current) => self.join(&mut client, current),
        }
        client
    }

    /// Opens the file that was created with the device, unless it is open already.
    pub(crate) fn open_late(&mut self, client: &mut Client) {
        if client.master.is_none() {
            *client = self.open();
        }
    }

    /// Closes a file (`drm_master_release`).
    pub(crate) fn release(&mut self, client: &mut Client) {
        if let Some(master) = self.of(client) {
            master.magics.remove(&client.magic);
        }
        if self.is_current(client) {
            self.current = None;
        }
        self.leave(client);
    }

    /// Returns whether the file is the current master (`drm_is_current_master`).
    pub(crate) fn is_current(&self, client: &Client) -> bool {
        client.is_master && client.master.is_some() && client.master == self.current
    }

    /// SET_MASTER (`drm_setmaster_ioctl`).
    pub(crate) fn set(&mut self, client: &mut Client) -> Result<(), Errno> {
        if self.is_current(client) {
            return Ok(());
        }
        if self.current.is_some() {
            return Err(Errno::EBUSY);
        }
        match client.master {
            None => return Err(Errno::EINVAL),
            Some(_) if !client.is_master => self.make(client),
            Some(own) => self.current = Some(own),
        }
        Ok(())
    }

    /// DROP_MASTER (`drm_dropmaster_ioctl`).
    pub(crate) fn drop(&mut self, client: &Client) -> Result<(), Errno> {
        if !self.is_current(client) {
            return Err(Errno::EINVAL);
        }
        self.current = None;
        Ok(())
    }

    /// GET_MAGIC (`drm_getmagic`).
    pub(crate) fn magic(&mut self, client: &mut Client) -> Result<u32, Errno> {
        if client.magic == 0 {
            let master = self.of(client).ok_or(Errno::EINVAL)?;
            let free = (1..=u32::MAX).find(|magic| !master.magics.contains_key(magic));
            let magic = free.ok_or(Errno::ENOSPC)?;
            master.magics.insert(magic, true);
            client.magic = magic;
        }
        Ok(client.magic)
    }

    /// AUTH_MAGIC (`drm_authmagic`); each number is valid once.
    pub(crate) fn authenticate(&mut self, client: &Client, magic: u32) -> Result<(), Errno> {
        let good = self.of(client).and_then(|master| master.magics.get_mut(&magic));
        good.and_then(|good| std::mem::take(good).then_some(())).ok_or(Errno::EINVAL)
    }

    /// Sets the bus id for the file's master (`drm_set_busid`).
    pub(crate) fn set_bus_id(&mut self, client: &Client) {
        if let Some(master) = self.of(client) {
            master.has_bus_id = true;
        }
    }

    /// Returns whether the bus id was set for the file's master.
    pub(crate) fn has_bus_id(&mut self, client: &Client) -> bool {
        self.of(client).is_some_and(|master| master.has_bus_id)
    }

    fn of(&mut self, client: &Client) -> Option<&mut Master> {
        self.all.get_mut(&client.master?)
    }

    /// Creates a master for the file (`drm_new_set_master`).
    fn make(&mut self, client: &mut Client) {
        self.leave(client);
        self.made += 1;
        self.join(client, self.made);
        client.is_master = true;
        self.current = Some(self.made);
    }

    fn join(&mut self, client: &mut Client, master: u64) {
        self.all.entry(master).or_default().files += 1;
        client.master = Some(master);
    }

    /// Detaches the file from its master; a master without files is freed unless it is current.
    fn leave(&mut self, client: &mut Client) {
        let Some(id) = client.master.take() else { return };
        if let Some(master) = self.all.get_mut(&id) {
            master.files -= 1;
            if master.files == 0 && self.current != Some(id) {
                self.all.remove(&id);
            }
        }
    }
}

/// The files that may make a request (`DRM_RENDER_ALLOW`, `DRM_MASTER`). A primary file of root's always
/// satisfies `DRM_AUTH` and `DRM_ROOT_ONLY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// All files.
    Everyone,
    /// Files of the primary node.
    Primary,
    /// The master of the primary node.
    Master,
}

/// Checks that the file may make such a request (`drm_ioctl_permit`); the process runs as root.
pub(crate) fn permit(device: &SimDevice, allowed: Allowed) -> Result<(), Errno> {
    let fine = match (allowed, device.minor) {
        (Allowed::Everyone, _) => true,
        (Allowed::Primary, Minor::Primary) => true,
        (Allowed::Master, Minor::Primary) => device.is_master(),
        (Allowed::Primary | Allowed::Master, Minor::Render) => false,
    };
    if fine { Ok(()) } else { Err(Errno::EACCES) }
}
