//! A real device beside a software one: the real GPU runs the batches, the kernel answers, the software device judges.
//!
//! The software device is one of the real one's platform, PCI ID and kernel. The kernel alone answers requests for facts ([`facts`]).
//! The software device carries out all others; then the mirror makes those on the real device that have an effect on the GPU
//! ([`forward`]).
//!
//! Each object has a real one, which holds what the GPU sees of it. Before a batch the mirror copies to the real objects
//! what the simulated GPU would see of each; then the real GPU runs the batch, at the addresses of the software device, and
//! the mirror copies back what it wrote ([`object`]). All programs share one open file of the real device. A context has real
//! ones, and an address space a real one ([`context`]).
//!
//! The mirror is a driver written with this library: the library flushes and invalidates what the copies require.

mod context;
mod disagreements;
mod facts;
mod forward;
mod kernel;
mod object;
mod request;

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::backend::Param;
use gem_coherency::backend::node::Node;
use gem_coherency::device::{Device, Submission};
use gem_coherency::platform::{Caps, Machine};
use gem_coherency::vocabulary::{Access, MocsClass};
use gem_coherency_sim::{Ended, Operand, RealGpu, SimDevice, Work, Written};
use gem_coherency_uapi::i915_exec::*;

use crate::error::ServeError;
use context::RealContext;
pub use disagreements::Disagreement;
use disagreements::Disagreements;
use object::RealObject;
pub(crate) use request::Forwarded;

/// The first graphics version where each context has its own address space on every platform, so that the addresses of
/// the software device are free on the real one.
const FIRST_GRAPHICS: u8 = 8;

/// The flags of EXECBUFFER2 and of its objects that the real GPU's kernel gets. The software device has waited for fences,
/// and has signalled them when the request returns.
const PASSED: u64 = I915_EXEC_SECURE | I915_EXEC_IS_PINNED | I915_EXEC_BATCH_FIRST;
const PASSED_OF_OBJECT: u64 = EXEC_OBJECT_WRITE | EXEC_OBJECT_PAD_TO_SIZE | EXEC_OBJECT_CAPTURE;

/// A real device.
#[derive(Debug)]
pub(crate) struct Mirror {
    device: Device,
    disagreements: Disagreements,
}

impl Mirror {
    /// Opens the real device at `path`, and a software device of its platform, PCI ID and kernel, whose batches it runs.
    ///
    /// # Errors
    /// For a path that is not an i915 device, an unknown PCI ID, a kernel without rules; a discrete device; a device
    /// whose contexts share an address space.
    pub(crate) fn open(path: &str) -> Result<(SimDevice, Arc<Self>), ServeError> {
        let failed = |error| ServeError::Device { spec: path.to_owned(), error };
        let node = Node::open(path).map_err(failed)?;
        let device = Device::from_drm(Arc::new(node)).map_err(failed)?;
        let machine = device.machine();
        if let Some(why) = unfit(machine) {
            return Err(ServeError::Unfit { path: path.to_owned(), platform: machine.platform.name, why });
        }
        let id = device.drm().param(Param::ChipsetId).map_err(failed)?;
        let edram =
            if machine.platform.edram_probed && machine.caps.contains(Caps::WT) { ",edram=1" } else { "" };
        // The software device shows nothing.
        let display = if machine.platform.has_display_fuse() { ",display=off" } else { "" };
        let spec =
            format!("sim:{},kernel={},id={id:04x}{edram}{display}", machine.platform.name, machine.kernel);
        let soft = SimDevice::open_for_programs(&spec).map_err(failed)?;
        let mirror = Arc::new(Self { device, disagreements: Disagreements::default() });
        soft.set_real_gpu(Arc::<Self>::clone(&mirror));
        Ok((soft, mirror))
    }

    /// Returns the answers of the kernel that differ from the software device's.
    pub(crate) fn disagreements(&self) -> Vec<Disagreement> {
        self.disagreements.all()
    }

    /// Returns the real object of an object, creating it if there is none.
    ///
    /// # Errors
    /// Those of [`RealObject::new`].
    fn object(&self, operand: &Operand) -> Result<Arc<RealObject>, Errno> {
        let make = || RealObject::new(&self.device, operand).map_err(|error| error.errno());
        operand.counterpart().get_or_make(make)
    }

    /// Submits a batch, and waits until it has ended.
    fn submit(&self, work: &Work<'_>) -> Result<Ended, Errno> {
        let context = RealContext::of(&self.device, work)?;
        let objects: Vec<_> =
            work.operands.iter().map(|operand| self.object(operand)).collect::<Result<_, _>>()?;
        let pairs = || work.operands.iter().zip(&objects);
        for (operand, object) in pairs() {
            object.load(operand).map_err(|error| error.errno())?;
        }
        // The GPU may write any of them, whatever the program says, by any of its entries.
        let bypasses = self.device.machine().caps.contains(Caps::LLC_BYPASS_MOCS);
        let classes = [MocsClass::PageTable, MocsClass::BypassLlc];
        let classes = if bypasses { &classes[..] } else { &classes[..1] };
        let mut submissions = Vec::new();
        for object in &objects {
            let bo = object.bo()?;
            submissions.extend(classes.iter().map(|&mocs| Submission { bo, access: Access::Write, mocs }));
        }
        let mut list: Vec<_> = pairs()
            .map(|(operand, object)| drm_i915_gem_exec_object2 {
                handle: object.handle().get(),
                offset: operand.address,
                flags: operand.flags & PASSED_OF_OBJECT
                    | EXEC_OBJECT_PINNED
                    | EXEC_OBJECT_SUPPORTS_48B_ADDRESS,
                rsvd1: operand.pad_to,
                ..Default::default()
            })
            .collect();
        let args = drm_i915_gem_execbuffer2 {
            batch_start_offset: work.start,
            batch_len: work.len,
            flags: work.flags & PASSED | I915_EXEC_NO_RELOC,
            rsvd1: context.id.into(),
            ..Default::default()
        };
        let fd = file(&self.device)?;
        let submitted = self.device.submit_with(&submissions, |_| {
            let refused =
                |errno| gem_coherency::Error::Ioctl { request: DRM_IOCTL_I915_GEM_EXECBUFFER2.name, errno };
            kernel::submit(fd, &mut list, args).map_err(refused)
        });
        submitted.map_err(|error| error.errno())?;
        let batch = if work.flags & I915_EXEC_BATCH_FIRST == 0 { objects.last() } else { objects.first() };
        if let Some(batch) = batch {
            self.device.drm().wait(batch.handle(), -1).map_err(|error| error.errno())?;
        }
        Ok(if context.hung()? { Ended::Hung } else { Ended::Done })
    }
}

impl RealGpu for Mirror {
    fn run(&self, work: &Work<'_>) -> Result<Ended, Errno> {
        self.submit(work).inspect_err(|&errno| {
            self.disagreements.count(DRM_IOCTL_I915_GEM_EXECBUFFER2.code, Ok(()), Err(errno));
        })
    }

    fn write_results(&self, work: &Work<'_>, simulated: &[Written]) -> Result<(), Errno> {
        for operand in work.operands {
            let object = self.object(operand)?;
            object.write_results(operand, simulated).map_err(|error| error.errno())?;
        }
        Ok(())
    }
}

/// Returns why programs cannot be judged on a machine.
fn unfit(machine: &Machine) -> Option<&'static str> {
    if machine.caps.contains(Caps::DISCRETE) {
        Some("it is a discrete device, whose local memory the real GPU would need")
    } else if machine.platform.graphics.major < FIRST_GRAPHICS {
        Some("it is older than graphics 8, so that contexts share their addresses with the kernel")
    } else {
        None
    }
}

/// Returns the real device's file.
fn file(device: &Device) -> Result<BorrowedFd<'_>, Errno> {
    device.drm().file().ok_or(Errno::ENODEV)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::platform;
    use gem_coherency::vocabulary::KernelVersion;

    #[test]
    fn older_and_discrete_devices_are_refused() {
        let fit =
            |name: &str| unfit(&platform::by_name(name).unwrap().machine(KernelVersion::new(6, 12), false));
        for name in ["bdw", "chv", "skl", "glk", "icl", "jsl", "tgl", "mtl"] {
            assert_eq!(fit(name), None, "{name}");
        }
        for (name, why) in [("i830", "older"), ("hsw", "older"), ("dg1", "discrete"), ("dg2", "discrete")] {
            assert!(fit(name).is_some_and(|text| text.contains(why)), "{name}");
        }
    }

    #[test]
    fn what_is_no_device_is_refused_with_its_path_once() {
        for path in ["/dev/null", "/nowhere/renderD128", "jsl"] {
            let text = Mirror::open(path).unwrap_err().to_string();
            assert_eq!(text.matches(path).count(), 1, "{text}");
        }
    }
}
