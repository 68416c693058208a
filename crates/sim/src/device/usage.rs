//! What an open file uses of its device, as its fdinfo in /proc tells (`drm_show_fdinfo`).

use std::time::Duration;

use gem_coherency::backend::Advice;
use gem_coherency::platform::EngineClass;
use gem_coherency::policy::kernel::Backing;
use gem_coherency::vocabulary::Access;

use crate::SimDevice;
use crate::kernel::objects::object::XeObject;

/// Bytes of the objects to which a file has handles, in one kind of memory (`struct drm_memory_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// All objects.
    pub total: u64,
    /// Those that have other handles, or a dma-buf, too.
    pub shared: u64,
    /// Those that the GPU uses.
    pub active: u64,
    /// Those that have pages.
    pub resident: u64,
    /// Those that the kernel may purge.
    pub purgeable: u64,
}

/// What a file uses of the engines of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineUse {
    /// The class.
    pub class: EngineClass,
    /// The number of engines.
    pub count: u64,
    /// The time that the file's batches took to be simulated.
    pub busy: Duration,
}

impl SimDevice {
    /// Returns the number of the file among all of the device, in order of opening, from 0.
    pub fn file_number(&self) -> u64 {
        self.own.number
    }

    /// Returns what the file uses of local memory, or of system memory.
    pub fn memory_use(&self, local: bool) -> MemoryUse {
        let objects = self.handles().objects();
        // Under xe a batch uses what is bound.
        let works = self.gpu.works_for(&self.hangs);
        let mut sum = MemoryUse::default();
        for object in objects {
            let is_bound = object.xe.as_ref().is_some_and(XeObject::is_bound);
            let (size, is_idle) = (object.size(), object.is_idle(Access::Write) && !(works && is_bound));
            let state = object.state();
            if (state.snapshot.backing == Backing::Local) != local {
                continue;
            }
            let has_pages = state.snapshot.pages;
            let add = |to: &mut u64, does: bool| *to += if does { size } else { 0 };
            add(&mut sum.total, true);
            add(&mut sum.shared, object.links.is_shared());
            add(&mut sum.active, !is_idle);
            add(&mut sum.resident, has_pages);
            add(&mut sum.purgeable, has_pages && is_idle && state.advice == Advice::DontNeed);
        }
        sum
    }

    /// Returns what the file uses of the engines, by class.
    pub fn engine_use(&self) -> Vec<EngineUse> {
        let engines = self.engines();
        let of_class = |&class: &EngineClass| EngineUse {
            class,
            count: engines.iter().filter(|engine| engine.class == class).count() as u64,
            busy: self.hangs.busy(class),
        };
        EngineClass::ALL.iter().map(of_class).filter(|used| used.count > 0).collect()
    }

    /// Returns the timestamp of the GPU.
    pub fn timestamp(&self) -> u64 {
        self.system.hardware.timestamp()
    }
}
