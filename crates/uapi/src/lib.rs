//! The kernel's interface as data: structs, request codes and constants, named as in C.
//!
//! Structs stand in the order of their headers and carry the headers' names. Every layout is
//! asserted when this crate is compiled, and listed in [`HEADERS`] and [`XE_HEADERS`], so that a
//! test can compare it with the headers through a C compiler. Addresses are `u64`, also
//! where C has a pointer; the crate is for 64-bit CPUs.
//!
//! A field whose name starts with two underscores is not in C: it is the C compiler's padding, or
//! the unnamed rest of a union, made explicit so that no uninitialised byte reaches the kernel.
//! Nothing here is unsafe; a backend of the library makes the requests.
//!
//! ```text
//! L2  drm_display   i915_query
//! L1  drm_modeset   i915_context   i915_exec
//! L0  dma_buf   drm   drm_syncobj   i915   i915_facts   sync_file   xe
//! ```
//!
//! * `drm`: requests of every DRM driver. Not those of the display.
//! * `drm_display`: requests of the display. Not their structs of planes, properties and events.
//! * `drm_modeset`: structs of planes, properties, events and leases. Not requests.
//! * `drm_syncobj`: synchronization objects. Not files.
//! * `i915`: objects and their mappings. Not submission.
//! * `i915_exec`: submission, memory regions, the query. Not its items.
//! * `i915_context`: contexts, their parameters and engines. Not submission.
//! * `i915_facts`: what the driver says about the device. Not its items of queries.
//! * `i915_query`: the items of the query. Not the request itself.
//! * `dma_buf`: requests of a dma-buf's file. Not PRIME.
//! * `sync_file`: requests of a fence's file. Not fences of objects.
//! * `xe`: requests of xe, with their structs. Not those of every driver.

#![deny(unsafe_code)]

pub mod dma_buf;
pub mod drm;
pub mod drm_display;
pub mod drm_modeset;
pub mod drm_syncobj;
pub mod i915;
pub mod i915_context;
pub mod i915_exec;
pub mod i915_facts;
pub mod i915_query;
pub mod sync_file;
pub mod xe;

use std::marker::PhantomData;

pub use gem_coherency_policy::drm_fourcc;

/// The place of a field in a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in C.
    pub name: &'static str,
    /// Bytes from the struct's start.
    pub offset: usize,
    /// Bytes of the field; 0 for a flexible array.
    pub size: usize,
}

/// The memory layout of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its name in C, without `struct`.
    pub name: &'static str,
    /// Bytes of the struct.
    pub size: usize,
    /// Its fields in order, those that C does not name included.
    pub fields: &'static [Field],
}

/// A request: its name, its code, and the struct it takes.
#[derive(Debug)]
pub struct Ioctl<T> {
    /// The header's name: `DRM_IOCTL_I915_GEM_CREATE`.
    pub name: &'static str,
    /// The code that ioctl(2) takes.
    pub code: u32,
    args: PhantomData<fn(&mut T)>,
}

impl<T> Clone for Ioctl<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ioctl<T> {}

/// `_IOC_NONE`: there is no struct.
const IO: u32 = 0;
/// `_IOC_WRITE`: the struct is copied to the kernel only.
const IOW: u32 = 1;
/// `_IOC_READ`: the struct is copied from the kernel only.
const IOR: u32 = 2;
/// `_IOC_READ | _IOC_WRITE`: the struct is copied to the kernel and back.
const IOWR: u32 = 3;

impl<T> Ioctl<T> {
    /// The request `nr` of the ioctl type `kind` (`_IOC` of `<asm-generic/ioctl.h>`).
    const fn new(name: &'static str, direction: u32, kind: u8, nr: u32) -> Self {
        let code = direction << 30 | (size_of::<T>() as u32) << 16 | (kind as u32) << 8 | nr;
        Self { name, code, args: PhantomData }
    }
}

/// A field's name in C, of which Rust may need a raw identifier.
const fn c_name(name: &str) -> &str {
    match name.as_bytes() {
        [b'r', b'#', rest @ ..] => match std::str::from_utf8(rest) {
            Ok(rest) => rest,
            Err(_) => name,
        },
        _ => name,
    }
}

/// Declares structs with their layouts: `field @ offset: type`, and the size after the name.
///
/// Compiling fails if an offset or the size is another, or if there is padding without a name.
macro_rules! structs {
    ($($(#[$meta:meta])* $name:ident: $size:literal {
        $($(#[$fmeta:meta])* $field:ident @ $offset:literal: $type:ty,)+
    })+) => {
        $(
            $(#[$meta])*
            #[allow(non_camel_case_types, non_snake_case)]
            #[derive(Clone, Copy, Debug, Default)]
            #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
            #[repr(C)]
            pub struct $name { $($(#[$fmeta])* pub $field: $type,)+ }

            static_assertions::const_assert_eq!(size_of::<$name>(), $size);
            static_assertions::const_assert_eq!(0 $(+ size_of::<$type>())+, $size);
            $(static_assertions::const_assert_eq!(std::mem::offset_of!($name, $field), $offset);)+
        )+

        /// The layouts of this header's structs, in order.
        pub const LAYOUTS: &[super::Layout] = &[$(super::Layout {
            name: stringify!($name),
            size: $size,
            fields: &[$(super::Field {
                name: super::c_name(stringify!($field)),
                offset: $offset,
                size: size_of::<$type>(),
            },)+],
        },)+];
    };
}
use structs;

/// Declares requests: `NAME = direction(type, nr, struct) == code`.
macro_rules! requests {
    ($($(#[$meta:meta])* $name:ident = $direction:ident($kind:literal, $nr:literal, $args:ty) == $code:literal;)+) => {
        $(
            $(#[$meta])*
            pub const $name: super::Ioctl<$args> =
                super::Ioctl::new(stringify!($name), super::$direction, $kind, $nr);
            static_assertions::const_assert_eq!($name.code, $code);
        )+

        /// The names and codes of this header's requests, in order.
        pub const IOCTLS: &[(&str, u32)] = &[$((stringify!($name), $code),)+];
    };
}
use requests;

use gem_coherency_policy::values;

/// A header and what is declared here of it.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Its name as `#include` takes it.
    pub name: &'static str,
    /// Its structs.
    pub layouts: &'static [Layout],
    /// Its requests.
    pub ioctls: &'static [(&'static str, u32)],
    /// Its constants.
    pub constants: &'static [(&'static str, u64)],
}

/// The header of i915.
const I915_HEADER: &str = "drm/i915_drm.h";

/// The headers of requests that a file of i915 takes, and those of fences and dma-bufs.
pub const HEADERS: &[Header] = &[
    Header { name: "drm/drm.h", layouts: drm::LAYOUTS, ioctls: drm::IOCTLS, constants: drm::CONSTANTS },
    Header {
        name: "drm/drm.h",
        layouts: drm_display::LAYOUTS,
        ioctls: drm_display::IOCTLS,
        constants: drm_display::CONSTANTS,
    },
    Header {
        name: "drm/drm.h",
        layouts: drm_modeset::LAYOUTS,
        ioctls: &[],
        constants: drm_modeset::CONSTANTS,
    },
    Header {
        name: "drm/drm.h",
        layouts: drm_syncobj::LAYOUTS,
        ioctls: drm_syncobj::IOCTLS,
        constants: drm_syncobj::CONSTANTS,
    },
    Header { name: "drm/drm_fourcc.h", layouts: &[], ioctls: &[], constants: drm_fourcc::CONSTANTS },
    Header { name: I915_HEADER, layouts: i915::LAYOUTS, ioctls: i915::IOCTLS, constants: i915::CONSTANTS },
    Header {
        name: I915_HEADER,
        layouts: i915_exec::LAYOUTS,
        ioctls: i915_exec::IOCTLS,
        constants: i915_exec::CONSTANTS,
    },
    Header {
        name: I915_HEADER,
        layouts: i915_context::LAYOUTS,
        ioctls: i915_context::IOCTLS,
        constants: i915_context::CONSTANTS,
    },
    Header {
        name: I915_HEADER,
        layouts: i915_facts::LAYOUTS,
        ioctls: i915_facts::IOCTLS,
        constants: i915_facts::CONSTANTS,
    },
    Header {
        name: I915_HEADER,
        layouts: i915_query::LAYOUTS,
        ioctls: i915_query::IOCTLS,
        constants: i915_query::CONSTANTS,
    },
    Header {
        name: "linux/dma-buf.h",
        layouts: dma_buf::LAYOUTS,
        ioctls: dma_buf::IOCTLS,
        constants: dma_buf::CONSTANTS,
    },
    Header {
        name: "linux/sync_file.h",
        layouts: sync_file::LAYOUTS,
        ioctls: sync_file::IOCTLS,
        constants: &[],
    },
];

/// The header of xe: not in [`HEADERS`], because its requests have the numbers of i915's.
pub const XE_HEADERS: &[Header] =
    &[Header { name: "drm/xe_drm.h", layouts: xe::LAYOUTS, ioctls: xe::IOCTLS, constants: xe::CONSTANTS }];

/// Every struct of [`HEADERS`].
pub fn layouts() -> impl Iterator<Item = &'static Layout> {
    HEADERS.iter().flat_map(|header| header.layouts)
}

/// Every request of [`HEADERS`]: name and code.
pub fn ioctls() -> impl Iterator<Item = (&'static str, u32)> {
    HEADERS.iter().flat_map(|header| header.ioctls).copied()
}

/// Every request that a file of xe takes, and those of fences and dma-bufs: name and code.
pub fn ioctls_of_xe() -> impl Iterator<Item = (&'static str, u32)> {
    let shared = HEADERS.iter().filter(|header| header.name != I915_HEADER);
    XE_HEADERS.iter().chain(shared).flat_map(|header| header.ioctls).copied()
}

/// Every constant of [`HEADERS`]: name and value.
pub fn constants() -> impl Iterator<Item = (&'static str, u64)> {
    HEADERS.iter().flat_map(|header| header.constants).copied()
}
