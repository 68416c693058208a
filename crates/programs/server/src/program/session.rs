//! The state that all connections of a server share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, Weak};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;
use gem_coherency_sim::SimDevice;

use super::client::Client;
use crate::clock::Clock;
use crate::connections::Connections;
use crate::files::Files;
use crate::folder::Folder;
use crate::folder::node::Node;
use crate::judge::Judge;
use crate::mirror::Mirror;
use crate::requests::Requests;

/// The state of a server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) devices: Vec<SimDevice>,
    /// The files that programs look at.
    pub(crate) folder: Folder,
    /// The real devices, by the number of the software device beside it.
    pub(crate) mirrors: BTreeMap<usize, Arc<Mirror>>,
    pub(crate) files: Files,
    pub(crate) connections: Arc<Connections>,
    pub(crate) clock: Clock,
    pub(crate) requests: Requests,
    pub(crate) judge: Option<Arc<dyn Judge>>,
    clients: Mutex<BTreeMap<u64, Weak<Client>>>,
    /// Number of clients so far.
    named: AtomicU64,
}

impl Shared {
    /// Creates the state of a server with these devices.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM.
    pub(crate) fn new(
        devices: Vec<SimDevice>,
        folder: Folder,
        mirrors: BTreeMap<usize, Arc<Mirror>>,
        judge: Option<Arc<dyn Judge>>,
    ) -> Result<Self, Errno> {
        Ok(Self {
            devices,
            folder,
            mirrors,
            files: Files::new()?,
            connections: Arc::new(Connections::new()?),
            clock: Clock::default(),
            requests: Requests::default(),
            judge,
            clients: Mutex::default(),
            named: AtomicU64::new(0),
        })
    }

    /// Lets the files that programs look at show the devices' state.
    pub(crate) fn update_folder(&self) {
        self.folder.update(&self.devices);
    }

    /// Returns the number of a file's device.
    pub(crate) fn number_of(&self, file: &SimDevice) -> Option<usize> {
        self.devices.iter().position(|device| device.is_same_device(file))
    }

    /// Returns the real device beside a software device.
    pub(crate) fn mirror(&self, device: &SimDevice) -> Option<&Mirror> {
        let mut mirrors = self.mirrors.iter();
        let is_beside =
            |number: usize| self.devices.get(number).is_some_and(|other| other.is_same_device(device));
        mirrors.find(|&(&number, _)| is_beside(number)).map(|(_, mirror)| mirror.as_ref())
    }

    /// Returns the node with a minor number.
    pub(crate) fn node(&self, number: u64) -> Option<Node> {
        Node::all(self.devices.len()).find(|node| u64::from(node.number()) == number)
    }

    /// Gives a client its number.
    pub(crate) fn name(&self) -> u64 {
        // Relaxed: a unique number; it publishes no other data.
        self.named.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds a client, which lives as long as one of its connections.
    pub(crate) fn add(&self, client: &Arc<Client>) {
        self.clients().insert(client.number(), Arc::downgrade(client));
    }

    /// Returns the client with a number.
    pub(crate) fn client(&self, number: u64) -> Option<Arc<Client>> {
        self.clients().get(&number).and_then(Weak::upgrade)
    }

    /// Calls `see` with each client.
    pub(crate) fn each_client(&self, see: impl Fn(&Client)) {
        // Outside of the lock: the last one of a client forgets it.
        let clients: Vec<_> = self.clients().values().filter_map(Weak::upgrade).collect();
        clients.iter().for_each(|client| see(client));
    }

    /// Forgets a client.
    pub(crate) fn forget(&self, number: u64) {
        self.clients().remove(&number);
    }

    /// Returns the number of clients.
    pub(crate) fn clients_count(&self) -> usize {
        self.clients().len()
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<u64, Weak<Client>>> {
        self.clients.lock()
    }
}
