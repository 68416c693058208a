//! The files of debugfs that change while programs run: `i915_gem_objects`.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use gem_coherency::platform::Driver;
use gem_coherency_sim::SimDevice;

use super::node::Node;
use crate::error::ServeError;

/// The files of all devices.
#[derive(Debug)]
pub(crate) struct DebugFiles(Vec<Objects>);

/// A device's files of its objects with pages, one for each node; none for a device of xe.
#[derive(Debug)]
struct Objects {
    files: Vec<File>,
    /// The number of objects, and of bytes, that the files have.
    shown: (u64, u64),
}

/// Returns the folder of a node, below the folder that stands for the root.
pub(crate) fn folder(node: Node) -> String {
    format!("sys/kernel/debug/dri/{}", node.number())
}

impl DebugFiles {
    /// Creates the files of devices, whose folders exist, below `root`.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub(crate) fn new(root: &Path, devices: &[SimDevice]) -> Result<Self, ServeError> {
        let create = |node: Node| {
            let path: PathBuf = root.join(folder(node)).join("i915_gem_objects");
            File::create(&path).map_err(|error| ServeError::File { path, error })
        };
        let of_device = |(number, device): (usize, &SimDevice)| {
            // xe has no such file.
            let has_file = device.machine().driver == Driver::I915;
            let nodes = Node::all(devices.len()).filter(|node| has_file && node.device == number);
            let mut objects = Objects { files: nodes.map(create).collect::<Result<_, _>>()?, shown: (0, 0) };
            objects.show(device.shrinkable());
            Ok(objects)
        };
        devices.iter().enumerate().map(of_device).collect::<Result<_, _>>().map(Self)
    }

    /// Writes what has changed since the last time.
    pub(crate) fn update(&mut self, devices: &[SimDevice]) {
        for (objects, device) in self.0.iter_mut().zip(devices) {
            let now = device.shrinkable();
            if objects.shown != now {
                objects.show(now);
            }
        }
    }
}

impl Objects {
    /// Writes the numbers of objects and of bytes (`i915_gem_object_info`).
    fn show(&mut self, (objects, bytes): (u64, u64)) {
        self.shown = (objects, bytes);
        let text = format!("{objects} shrinkable [0 free] objects, {bytes} bytes\n");
        for file in &self.files {
            let done = file.write_all_at(text.as_bytes(), 0).and_then(|()| file.set_len(text.len() as u64));
            if let Err(error) = done {
                tracing::warn!(%error, "i915_gem_objects");
            }
        }
    }
}
