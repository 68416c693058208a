//! Device files: the script's first one, and those that it opens.

use gem_coherency::backend::Drm;
use gem_coherency_sim::SimDevice;

use super::{DeviceFile, Done, Refused, Slot, State};
use crate::script::Target;
use crate::script::report::KernelFlushed;
use crate::script::statement::Name;
use gem_coherency::vocabulary::Handle;

/// The number of objects of one software device, so that those of several have different numbers.
const OBJECTS: u64 = 1 << 32;

impl<'a> State<'a> {
    /// Opens another file of the script's device, or a file of another device.
    pub(super) fn open(&self, device: Option<&str>) -> Result<(Slot, Done), Refused> {
        let opened = match device {
            None => self.target.open_again()?,
            Some(device) => {
                let opened = Target::open(device)?;
                if let Some(soft) = opened.soft() {
                    soft.number_objects_from(1 + OBJECTS * (1 + self.files.len() as u64));
                }
                opened
            }
        };
        let note = opened.device().machine().platform.name.to_owned();
        Ok((Slot::File(opened), Done { note: Some(note), ..Done::default() }))
    }

    /// Returns the device file of a BO.
    pub(in crate::script) fn file(&self, name: Name) -> DeviceFile {
        match self.slots.get(&name) {
            Some(Slot::Bo(_, file)) => *file,
            Some(Slot::DmaBuf(_) | Slot::File(_)) | None => None,
        }
    }

    /// Returns a device file with its device.
    pub(super) fn target_of_file(&self, file: DeviceFile) -> &Target {
        file.and_then(|name| self.files.get(&name)).unwrap_or(self.target)
    }

    /// Returns the device file of a BO, with its device.
    pub(in crate::script) fn target_of(&self, name: Name) -> &Target {
        self.target_of_file(self.file(name))
    }

    /// Returns the requests on the device file of a BO.
    pub(super) fn drm(&self, name: Name) -> &dyn Drm {
        self.target_of(name).device().drm()
    }

    /// Returns the software device of a BO.
    pub(in crate::script) fn soft(&self, name: Name) -> Result<&SimDevice, Refused> {
        self.target_of(name).soft().ok_or_else(needs_software)
    }

    /// Returns a BO's number on its software device.
    pub(in crate::script) fn object(&self, name: Name) -> Option<u64> {
        self.objects.get(&name).copied()
    }

    /// Returns one file of each software device.
    pub(super) fn software_devices(&self) -> Result<Vec<&SimDevice>, Refused> {
        let mut found: Vec<&SimDevice> = Vec::new();
        for soft in std::iter::once(self.target).chain(self.files.values()).filter_map(Target::soft) {
            if !found.iter().any(|known| known.is_same_device(soft)) {
                found.push(soft);
            }
        }
        if found.is_empty() { Err(needs_software()) } else { Ok(found) }
    }

    /// Returns the kernel's flushes since the last call, if a device reports them.
    pub(in crate::script) fn kernel_flushes(&self) -> Option<Vec<KernelFlushed>> {
        let devices = self.software_devices().ok()?;
        let flushes = devices.into_iter().flat_map(SimDevice::take_kernel_flushes);
        let named = flushes.map(|flush| {
            let name = self.first_names.get(&flush.object);
            KernelFlushed {
                bo: name.map(|&name| self.script.name(name).to_owned()),
                handle: flush.handle.map(Handle::get),
                object: flush.object,
                call: flush.call,
                action: flush.action,
                rule: flush.rule,
                bytes: flush.bytes,
                lines_written: flush.lines_written,
            }
        });
        Some(named.collect())
    }
}

fn needs_software() -> Refused {
    Refused::Usage("this needs a software device (sim:...)".to_owned())
}
