//! Contexts and address spaces of a file (`i915_drm_file_private`).
//!
//! A new context is a proposal until it is first looked up. Only then are its engines and its address space
//! finalized, and errors in them reported (`i915_gem_proto_context`).

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use crate::SimDevice;
use crate::gpu::Standing;
use crate::kernel::spaces::space::{Space, address_space};
use gem_coherency::platform::{Engine, EngineClass, Topology};

/// The state of a context that a submission uses.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// The engines chosen by userspace (`I915_CONTEXT_PARAM_ENGINES`); `None` for the default engines.
    pub(crate) engines: Option<Vec<Option<Engine>>>,
    /// Hangs can ban the context (`I915_CONTEXT_PARAM_BANNABLE`).
    pub(crate) bannable: bool,
    /// The context continues after a hang (`I915_CONTEXT_PARAM_RECOVERABLE`).
    pub(crate) recoverable: bool,
    /// The context's queues are one timeline.
    pub(crate) single_timeline: bool,
    /// The context's hangs and bans.
    pub(crate) standing: Arc<Standing>,
    /// The address space where its objects are bound.
    pub(crate) space: Arc<Mutex<Space>>,
}

/// One slot of the engines chosen by userspace (`struct i915_gem_proto_engine`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// No engine.
    Empty,
    /// A single engine.
    One(Engine),
    /// A load-balanced set of engines.
    Balanced {
        first: Engine,
        /// All engines are distinct and of one class.
        valid: bool,
    },
    /// Engines that run in parallel.
    Parallel { first: Engine },
}

impl Slot {
    /// Returns the engine, or the first of several.
    pub(crate) fn engine(self) -> Option<Engine> {
        match self {
            Self::Empty => None,
            Self::One(engine) | Self::Balanced { first: engine, .. } | Self::Parallel { first: engine } => {
                Some(engine)
            }
        }
    }
}

/// The share of the GPU that a context uses (`struct intel_sseu`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sseu {
    pub(crate) slices: u8,
    pub(crate) subslices: u8,
    pub(crate) min_eus: u8,
    pub(crate) max_eus: u8,
}

impl Sseu {
    /// Returns the whole GPU (`intel_sseu_from_device_info`).
    pub(crate) fn whole(topology: Option<Topology>) -> Self {
        topology.map_or_else(Self::default, |topology| Self {
            slices: topology.slices,
            subslices: topology.subslices as u8,
            min_eus: topology.max_eus,
            max_eus: topology.max_eus,
        })
    }
}

/// A context or a context proposal.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// The context is still a proposal.
    pub(crate) proposal: bool,
    pub(crate) engines: Option<Vec<Slot>>,
    /// The shares that were set, by engine or by slot.
    pub(crate) sseu: BTreeMap<usize, Sseu>,
    /// The context's own address space, if it has one.
    pub(crate) space: Option<Arc<Mutex<Space>>>,
    pub(crate) no_error_capture: bool,
    pub(crate) bannable: bool,
    pub(crate) recoverable: bool,
    pub(crate) persistent: bool,
    pub(crate) protected: bool,
    pub(crate) priority: i64,
    /// The context's queues are one timeline (`I915_CONTEXT_CREATE_FLAGS_SINGLE_TIMELINE`).
    pub(crate) single_timeline: bool,
    /// The context's hangs and bans.
    pub(crate) standing: Arc<Standing>,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            proposal: true,
            engines: None,
            sseu: BTreeMap::new(),
            space: None,
            no_error_capture: false,
            bannable: true,
            recoverable: true,
            persistent: true,
            protected: false,
            priority: 0,
            single_timeline: false,
            standing: Arc::default(),
        }
    }
}

impl Kept {
    /// Cancels the batches of a context that is closed, unless they may outlive it (`context_close`).
    pub(crate) fn close(&self) {
        if !self.persistent {
            self.standing.revoke();
        }
    }

    /// Checks the engines (`user_engines`, `execlists_create_virtual`).
    fn check(&self) -> Result<(), Errno> {
        let invalid = |slot: &Slot| matches!(slot, Slot::Balanced { valid: false, .. });
        let slots = self.engines.as_deref().unwrap_or_default();
        if slots.iter().any(invalid) { Err(Errno::EINVAL) } else { Ok(()) }
    }

    /// Applies the first slot's share to every slot of a render engine and drops the others (`user_engines`
    /// passes the first slot's to all).
    fn settle_sseu(&mut self) {
        let Some(slots) = &self.engines else { return };
        let first = self.sseu.get(&0).copied();
        let render = |slot: &Slot| slot.engine().is_some_and(|engine| engine.class == EngineClass::Render);
        self.sseu = match first {
            None => BTreeMap::new(),
            Some(sseu) => {
                let which = slots.iter().enumerate().filter(|(_, slot)| render(slot));
                which.map(|(index, _)| (index, sseu)).collect()
            }
        };
    }
}

/// The contexts and address spaces of a file.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    contexts: BTreeMap<u32, Kept>,
    spaces: BTreeMap<u32, Arc<Mutex<Space>>>,
    /// The ID 0 is available for an address space.
    zero_is_free: bool,
}

impl Contexts {
    /// Creates the table with the default context, number 0.
    pub(crate) fn new(space: Option<Arc<Mutex<Space>>>) -> Self {
        let first = Kept { proposal: false, space, ..Kept::default() };
        Self { contexts: BTreeMap::from([(0, first)]), ..Self::default() }
    }

    /// Adds a context; returns the lowest free id.
    pub(crate) fn add(&mut self, context: Kept) -> u32 {
        let id = lowest(&self.contexts);
        self.contexts.insert(id, context);
        id
    }

    /// Returns a context without finalizing it.
    pub(crate) fn get(&mut self, id: u32) -> Option<&mut Kept> {
        self.contexts.get_mut(&id)
    }

    /// Removes a context; the default context stays.
    pub(crate) fn remove(&mut self, id: u32) -> Option<Kept> {
        if id == 0 { None } else { self.contexts.remove(&id) }
    }

    /// Closes every context.
    fn close(&mut self) {
        std::mem::take(&mut self.contexts).values().for_each(Kept::close);
    }

    /// Adds an address space; returns the lowest free id.
    pub(crate) fn add_space(&mut self, space: Arc<Mutex<Space>>) -> u32 {
        let zero = self.zero_is_free && !self.spaces.contains_key(&0);
        let id = if zero { 0 } else { lowest(&self.spaces) };
        self.spaces.insert(id, space);
        id
    }

    /// Returns the address space with this id.
    pub(crate) fn space(&self, id: u32) -> Option<Arc<Mutex<Space>>> {
        self.spaces.get(&id).cloned()
    }

    /// Removes the address space with this id.
    ///
    /// Id 0 becomes available once VM_DESTROY of 0 is called while other ids exist: the kernel reserves 0 by
    /// an entry in the xarray's first node (`XA_ZERO_ENTRY`), which VM_DESTROY erases before it finds no
    /// space there.
    pub(crate) fn remove_space(&mut self, id: u32) -> Option<Arc<Mutex<Space>>> {
        self.zero_is_free |= id == 0 && !self.spaces.is_empty();
        self.spaces.remove(&id)
    }
}

/// Returns the lowest free number from 1 on.
fn lowest<T>(taken: &BTreeMap<u32, T>) -> u32 {
    let mut free = 1;
    for (&id, _) in taken.range(1..) {
        if id != free {
            break;
        }
        free += 1;
    }
    free
}

impl SimDevice {
    /// Locks the file's contexts.
    pub(crate) fn contexts(&self) -> MutexGuard<'_, Contexts> {
        self.own.contexts.lock()
    }

    /// Closes the file's contexts.
    pub(crate) fn close_contexts(&self) {
        self.contexts().close();
        self.gpu.look();
    }

    /// Returns the context with this id, finalizing it if it was a proposal (`i915_gem_context_lookup`).
    ///
    /// # Errors
    /// ENOENT; EINVAL for invalid engines.
    pub(crate) fn settled<'a>(&self, contexts: &'a mut Contexts, id: u32) -> Result<&'a mut Kept, Errno> {
        let context = contexts.get(id).ok_or(Errno::ENOENT)?;
        if context.proposal {
            context.check()?;
            context.settle_sseu();
            if context.space.is_none() && self.system.machine.has_full_ppgtt() {
                context.space = Some(address_space(self.system.machine));
            }
            context.proposal = false;
        }
        Ok(context)
    }

    /// Returns the state of a context that a submission uses.
    ///
    /// # Errors
    /// As [`Self::settled`].
    pub(crate) fn context(&self, id: u32) -> Result<Context, Errno> {
        let mut contexts = self.contexts();
        let context = self.settled(&mut contexts, id)?;
        let slots = context.engines.as_ref();
        Ok(Context {
            engines: slots.map(|slots| slots.iter().map(|slot| slot.engine()).collect()),
            bannable: context.bannable,
            recoverable: context.recoverable,
            single_timeline: context.single_timeline,
            standing: Arc::clone(&context.standing),
            space: self.space_of(context),
        })
    }

    /// Returns the address space where a context's objects are bound: its own, or else the device's.
    pub(crate) fn space_of(&self, context: &Kept) -> Arc<Mutex<Space>> {
        Arc::clone(context.space.as_ref().unwrap_or(&self.gpu.global_space))
    }

    /// Returns the device's engines.
    pub(crate) fn engines(&self) -> Vec<Engine> {
        self.system.machine.engines(self.system.hardware.gt).collect()
    }

    /// Returns the engine with these uAPI numbers, of which only the low eight bits count
    /// (`intel_engine_lookup_user`).
    pub(crate) fn engine(&self, class: u16, instance: u16) -> Option<Engine> {
        let named =
            |engine: &Engine| engine.class.number() == class & 0xff && engine.instance == instance & 0xff;
        self.engines().into_iter().find(named)
    }
}
