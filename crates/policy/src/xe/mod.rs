//! xe: the driver of Lunar Lake and later, where caching belongs to a mapping.
//!
//! An object is mapped by the CPU as [`CpuCaching`] says, from its creation on; each mapping of the GPU has a PAT index, whose [`PatEntry`]
//! says how the GPU caches the pages, and whether its accesses snoop the CPU's caches. No request tells a program the table. The kernel
//! refuses what would need a flush between CPU and engines: [`Device`] says which check fails, in the kernel's order, what is left to do
//! ([`Device::needs_flush`]), and what to choose ([`Device::choose`]).
//!
//! ```
//! use gem_coherency_policy::vocabulary::KernelVersion;
//! use gem_coherency_policy::xe::{self, Bind, CpuCaching, Create};
//!
//! let device = xe::by_name("Panther Lake")?.device(KernelVersion::new(7, 2))?;
//! let cached = device.create(&Create::new(65536, CpuCaching::Wb)).expect("there are such objects");
//! // Index 3 does not snoop; 1 does.
//! let (_, refusal) = device.bind(&[Bind::map(&cached, 0, 3)], false).unwrap_err();
//! assert_eq!((refusal.errno.name(), refusal.rule.name()), (Some("EINVAL"), "cached-not-snooped"));
//! assert!(device.bind(&[Bind::map(&cached, 0, 1)], false).is_ok());
//! # Ok::<(), gem_coherency_policy::Unknown>(())
//! ```

mod bind;
mod choose;
mod create;
mod driver;
mod machine;
mod pat;
mod platforms;
mod rules;

pub use bind::{Bind, BindFlags, BindOp, Bound};
pub use choose::{Choice, Use};
pub use create::{CpuCaching, Create, CreateFlags, LOCAL, MapFlags, Object, Refusal, SYSTEM};
pub use driver::{Decision, Memory, Verdict, When};
pub use machine::most_cached;
pub use pat::{CachePolicy, OwnIndices, PatCoherency, PatEntry, PatTable};
pub use platforms::{Device, Platform, all, by_id, by_name, device};
pub use rules::Rule;
