//! The devices that programs share, and the programs that use them.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, Weak};

use gem_coherency::Errno;
use gem_coherency::backend::Drm as _;
use gem_coherency::platform::Driver;
use gem_coherency::sync::Mutex;
use gem_coherency_sim::{Coverage, SimDevice};

use super::client::Client;
use super::epochs::Epochs;
use crate::clock::Clock;
use crate::connections::Connections;
use crate::files::Files;
use crate::folder::Folder;
use crate::folder::node::Node;
use crate::judge::Judge;
use crate::mirror::{Disagreement, Mirror};
use crate::requests::{RequestCount, Requests};

/// Objects of a device that have numbers of their own.
const OBJECTS: u64 = 1 << 32;

/// Devices that programs share, and what the programs do: those of all programs of a server, or of a test's.
#[derive(Debug)]
pub struct Session {
    pub(crate) devices: Vec<SimDevice>,
    /// The files that programs look at, if they show these devices.
    pub(crate) folder: Option<Folder>,
    /// The real devices, by the number of the software device beside it.
    pub(crate) mirrors: BTreeMap<usize, Arc<Mirror>>,
    pub(crate) files: Files,
    pub(crate) connections: Arc<Connections>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) requests: Requests,
    pub(crate) judge: Option<Arc<dyn Judge>>,
    /// What programs store to write-combining mappings between two fences, if it is judged.
    pub(crate) epochs: Option<Arc<Epochs>>,
    /// Held from before a request until it is judged, and not while it waits: what the devices log meanwhile is its own.
    pub(crate) turn: Mutex<()>,
    clients: Mutex<BTreeMap<u64, Weak<Client>>>,
}

/// What a device simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceCoverage {
    /// The device's name; a real device has that of the software device beside it.
    pub device: String,
    /// Number of requests on the device's files.
    pub requests: u64,
    /// What it simulated of the batches.
    pub simulated: Coverage,
}

impl Session {
    /// Creates the session of these devices; the judge, if there is one, begins with them.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM.
    pub(crate) fn new(
        devices: Vec<SimDevice>,
        mirrors: BTreeMap<usize, Arc<Mirror>>,
        judge: Option<Arc<dyn Judge>>,
        (connections, clock): (Arc<Connections>, Arc<Clock>),
    ) -> Result<Self, Errno> {
        if let Some(judge) = &judge {
            judge.begin(&devices);
        }
        // Batches of xe wait for stores of programs that make no request. Those of a run that many platforms judge are not judged.
        let is_judged = judge.as_ref().is_some_and(|judge| !judge.wants_loads());
        let of_xe = devices.iter().filter(|device| is_judged && device.machine().driver == Driver::Xe);
        let mut epochs = None;
        for device in of_xe {
            device.set_store_epochs(epochs.get_or_insert_with(Arc::<Epochs>::default).clone());
        }
        for (number, device) in (0..).zip(&devices) {
            // Programs and findings name an object by its number alone.
            device.number_objects_from(number * OBJECTS + 1);
        }
        Ok(Self {
            devices,
            folder: None,
            mirrors,
            files: Files::new()?,
            connections,
            clock,
            requests: Requests::default(),
            judge,
            epochs,
            turn: Mutex::default(),
            clients: Mutex::default(),
        })
    }

    /// Returns the requests of the programs so far, by code.
    pub fn requests(&self) -> Vec<RequestCount> {
        self.requests.all()
    }

    /// Returns what each device simulated so far, of all programs.
    pub fn coverage(&self) -> Vec<DeviceCoverage> {
        let of_device = |(number, device): (usize, &SimDevice)| DeviceCoverage {
            device: device.name().to_owned(),
            requests: self.requests.on_device(number),
            simulated: device.coverage(),
        };
        self.devices.iter().enumerate().map(of_device).collect()
    }

    /// Returns the devices; in place of a real device, the software device beside it.
    pub fn devices(&self) -> &[SimDevice] {
        &self.devices
    }

    /// Returns the requests so far that the kernel of a real device answered otherwise than the software device.
    pub fn disagreements(&self) -> Vec<Disagreement> {
        self.mirrors.values().flat_map(|mirror| mirror.disagreements()).collect()
    }

    /// Ends the shaders that run, and those that are started from now on, because no program waits for them.
    pub fn stop_shaders(&self) {
        self.devices.iter().for_each(SimDevice::stop_shaders);
    }

    /// Returns the number of programs that are connected.
    pub fn programs(&self) -> usize {
        self.clients().len()
    }

    /// Closes the files that programs have closed.
    pub fn reap(&self) {
        self.files.reap();
    }

    /// Returns the number of files that programs have open.
    pub fn open_files(&self) -> usize {
        self.reap();
        self.files.count()
    }

    /// Lets the files that programs look at show the devices' state.
    pub(crate) fn update_folder(&self) {
        if let Some(folder) = &self.folder {
            folder.update(&self.devices);
        }
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

    /// Adds a client, which lives as long as one of its connections.
    pub(crate) fn add(&self, client: &Arc<Client>) {
        self.clients().insert(client.number(), Arc::downgrade(client));
    }

    /// Returns the client with a number.
    pub(crate) fn client(&self, number: u64) -> Option<Arc<Client>> {
        self.clients().get(&number).and_then(Weak::upgrade)
    }

    /// Returns whether there is a client with a number.
    pub(crate) fn has_client(&self, number: u64) -> bool {
        self.clients().contains_key(&number)
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

    fn clients(&self) -> MutexGuard<'_, BTreeMap<u64, Weak<Client>>> {
        self.clients.lock()
    }
}
