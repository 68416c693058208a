//! GPU address spaces: those of i915's contexts, and the VMs of xe.

pub(crate) mod space;
pub(crate) mod vm;

use std::sync::Arc;

use crate::kernel::counterpart::Counterpart;
use crate::kernel::objects::object::Object;
use crate::memory::backing_store::MappingCaching;
use space::Bound;
use vm::Vm;

/// Memory at an address of the GPU.
#[derive(Debug)]
pub(crate) enum Mapped {
    /// Bytes of an object.
    Object {
        object: Arc<Object>,
        /// The offset in the object.
        offset: u64,
        /// Bytes up to the end of the object, or of the mapping.
        left: u64,
        /// The caching of the mapping; `None` for the object's own.
        caching: Option<MappingCaching>,
        /// The GPU may write.
        is_writable: bool,
    },
    /// Reads return zero, and writes are dropped (`DRM_XE_VM_BIND_FLAG_NULL`).
    Null {
        /// Bytes up to the end of the mapping.
        left: u64,
    },
}

/// An address space as a batch sees it: it shows what is bound at the time of an access.
#[derive(Clone, Debug)]
pub(crate) enum AddressSpace {
    /// One of i915.
    Bound(Arc<Bound>),
    /// One of xe.
    Vm(Arc<Vm>),
}

impl AddressSpace {
    /// Returns what is at `address`.
    pub(crate) fn at(&self, address: u64) -> Option<Mapped> {
        match self {
            Self::Bound(bound) => {
                let (start, object) = bound.at(address)?;
                let (object, offset) = (object.upgrade()?, address - start);
                // The padding of an object has no pages.
                let left = object.size().checked_sub(offset).filter(|&left| left > 0)?;
                Some(Mapped::Object { object, offset, left, caching: None, is_writable: true })
            }
            Self::Vm(vm) => vm.at(address),
        }
    }

    /// Returns the start of the next binding after `address`.
    pub(crate) fn next(&self, address: u64) -> Option<u64> {
        match self {
            Self::Bound(bound) => bound.next(address),
            Self::Vm(vm) => vm.next(address),
        }
    }

    /// Returns the objects that every submission can access, apart from those that it names.
    pub(crate) fn objects(&self) -> Vec<Arc<Object>> {
        match self {
            Self::Bound(_) => Vec::new(),
            Self::Vm(vm) => vm.objects(),
        }
    }

    /// The address space of a real GPU.
    pub(crate) fn counterpart(&self) -> &Counterpart {
        match self {
            Self::Bound(bound) => &bound.counterpart,
            Self::Vm(vm) => &vm.counterpart,
        }
    }
}
