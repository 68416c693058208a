//! The searches that both engines run.

use gem_coherency::platform;
use gem_coherency::policy::kernel::Creation;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_check::{Caller, Scope, Search};

use crate::Result;

/// One search, by what names it.
pub struct Row {
    platform: &'static str,
    edram: bool,
    kernel: KernelVersion,
    caller: Caller,
    /// Set if it ends at a violation instead of at a fixed point.
    pub violated: bool,
}

/// A search to a fixed point, under 6.12.
const fn clean(platform: &'static str, edram: bool, caller: Caller) -> Row {
    Row { platform, edram, kernel: KernelVersion::new(6, 12), caller, violated: false }
}

/// A search of a kernel that leaks.
const fn leak(platform: &'static str, kernel: KernelVersion) -> Row {
    Row { platform, edram: false, kernel, caller: Caller::Hostile, violated: true }
}

/// Every kind of caller; with an LLC, without, and with one that is beside eDRAM; and two kernels that leak.
pub static ROWS: [Row; 7] = [
    clean("jsl", false, Caller::Library),
    clean("glk", false, Caller::Library),
    clean("hsw", true, Caller::Library),
    clean("tgl", false, Caller::Hostile),
    clean("jsl", false, Caller::Protocol),
    leak("jsl", KernelVersion::first_of(6, 1)),
    leak("glk", KernelVersion::new(5, 15)),
];

impl Row {
    /// The name in the table.
    pub fn name(&self) -> String {
        let edram = if self.edram { "+edram" } else { "" };
        let Self { platform, kernel, caller, .. } = self;
        format!("{platform}{edram} {kernel} {caller}")
    }

    /// The search of an object that userspace created.
    ///
    /// # Errors
    /// A platform or a kernel that the library does not know.
    pub fn search(&self) -> Result<Search> {
        let machine = platform::by_name(self.platform)?.machine(self.kernel, self.edram);
        let scope = Scope::new(vec![machine], vec![self.caller]);
        let of_user = |search: &Search| search.setting.creation == Creation::User;
        scope
            .searches()?
            .into_iter()
            .find(of_user)
            .ok_or_else(|| format!("{}: no such search", self.name()).into())
    }
}

/// The search of that name.
///
/// # Errors
/// There is none.
pub fn by_name(name: &str) -> Result<&'static Row> {
    ROWS.iter().find(|row| row.name() == name).ok_or_else(|| format!("no search '{name}'").into())
}
