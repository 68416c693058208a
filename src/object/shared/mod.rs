//! The state that clones of devices and BOs share, and what every access does with it.
//!
//! A BO keeps its device alive, and the device knows its BOs, so both are in one module. Guards
//! ([`crate::object::access`]), BOs ([`crate::object::bo`]) and devices ([`crate::device`]) are the public handles of this state.

mod bo;
mod caching;
mod device;
mod extensions;
mod flush;
mod in_use;
mod lifetime;
mod mapping;
mod pending;
mod readers;
mod reuse;
mod unmap;

pub use bo::WaitedBy;
pub(crate) use bo::{New, Object, Origin, SharedBo};
pub(crate) use caching::{
    PlainStores, XE_DEFAULT, caching_call, created_level, level_of, level_when_bound, pat_index, reuse_key,
};
pub(crate) use device::SharedDevice;
pub(crate) use extensions::Extensions;
pub(crate) use flush::{Preparation, Reports, UpcomingAccess, prepare};
pub(crate) use in_use::{HasObject, InUse, Use};
pub use lifetime::Released;
pub(crate) use readers::Readers;
pub(crate) use reuse::Reuse;
pub use reuse::ReuseStats;
