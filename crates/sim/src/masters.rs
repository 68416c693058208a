//! Who is the device's master, and who proved itself to it (`drm_auth.c`).
//!
//! A file that becomes master for the first time makes a master of its own; files that are opened
//! later belong to it. A master outlives its time as the current one with those who belong to it.

use std::collections::BTreeMap;

use nix::errno::Errno;

/// What a file is to masters (`struct drm_file`).
#[derive(Debug, Default)]
pub(super) struct Client {
    /// Whether it makes atomic commits.
    pub(super) atomic: bool,
    /// The master that it belongs to; `None` for files of the render node.
    master: Option<u64>,
    /// Whether that master is its own.
    is_master: bool,
    /// Its number to prove itself with; 0 if it never asked.
    magic: u32,
}

/// A master (`struct drm_master`).
#[derive(Debug, Default)]
struct Master {
    /// Numbers that were given out, and whether they are still good.
    magics: BTreeMap<u32, bool>,
    /// Whether it knows the device's place on the bus.
    has_bus_id: bool,
    /// Files that belong to it.
    files: u64,
}

/// The masters of a device.
#[derive(Debug, Default)]
pub(super) struct Masters {
    made: u64,
    current: Option<u64>,
    all: BTreeMap<u64, Master>,
}

impl Masters {
    /// A file of the primary node is opened (`drm_master_open`).
    pub(super) fn open(&mut self) -> Client {
        let mut client = Client::default();
        match self.current {
            None => self.make(&mut client),
            Some(current) => self.join(&mut client, current),
        }
        client
    }

    /// The file is opened now if it was not opened yet, but made with the device.
    pub(super) fn open_late(&mut self, client: &mut Client) {
        if client.master.is_none() {
            *client = self.open();
        }
    }

    /// A file is closed (`drm_master_release`).
    pub(super) fn release(&mut self, client: &mut Client) {
        if let Some(master) = self.of(client) {
            master.magics.remove(&client.magic);
        }
        if self.is_current(client) {
            self.current = None;
        }
        self.leave(client);
    }

    /// Whether the file is the current master (`drm_is_current_master`).
    pub(super) fn is_current(&self, client: &Client) -> bool {
        client.is_master && client.master.is_some() && client.master == self.current
    }

    /// SET_MASTER (`drm_setmaster_ioctl`).
    pub(super) fn set(&mut self, client: &mut Client) -> Result<(), Errno> {
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
    pub(super) fn drop(&mut self, client: &Client) -> Result<(), Errno> {
        if !self.is_current(client) {
            return Err(Errno::EINVAL);
        }
        self.current = None;
        Ok(())
    }

    /// GET_MAGIC (`drm_getmagic`).
    pub(super) fn magic(&mut self, client: &mut Client) -> Result<u32, Errno> {
        if client.magic == 0 {
            let master = self.of(client).ok_or(Errno::EINVAL)?;
            let free = (1..=u32::MAX).find(|magic| !master.magics.contains_key(magic));
            let magic = free.ok_or(Errno::ENOSPC)?;
            master.magics.insert(magic, true);
            client.magic = magic;
        }
        Ok(client.magic)
    }

    /// AUTH_MAGIC (`drm_authmagic`); a number is good once.
    pub(super) fn authenticate(&mut self, client: &Client, magic: u32) -> Result<(), Errno> {
        let good = self.of(client).and_then(|master| master.magics.get_mut(&magic));
        good.and_then(|good| std::mem::take(good).then_some(())).ok_or(Errno::EINVAL)
    }

    /// The master learns the device's place on the bus (`drm_set_busid`).
    pub(super) fn set_bus_id(&mut self, client: &Client) {
        if let Some(master) = self.of(client) {
            master.has_bus_id = true;
        }
    }

    /// Whether the file's master knows the device's place on the bus.
    pub(super) fn has_bus_id(&mut self, client: &Client) -> bool {
        self.of(client).is_some_and(|master| master.has_bus_id)
    }

    fn of(&mut self, client: &Client) -> Option<&mut Master> {
        self.all.get_mut(&client.master?)
    }

    /// Makes the file master of its own (`drm_new_set_master`).
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

    /// The file belongs to no master any more; one without files is gone, unless it is current.
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
