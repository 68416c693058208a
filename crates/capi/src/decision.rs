//! The rules without a device: capabilities, and the decisions that follow from them. Nothing here allocates.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::error::{Failure, query};
use super::objects::{Out, borrow, string};
use super::types::{self, gemco_caching, gemco_decision, gemco_platform, gemco_question};
use gem_coherency::Errno;
use gem_coherency::cacheops;
use gem_coherency::platform::{self, CONSERVATIVE, Caps, Machine, mocs_class, mode_level};
use gem_coherency::policy::driver::{Drain, cpu_memory, default_mode};
use gem_coherency::policy::kernel::{Creation, KernelRules, Snapshot};
use gem_coherency::policy::{self, Decision, Path};
use gem_coherency::vocabulary::{Access, CacheLevel, KernelVersion};

/// Converts a text for C: cut off where it does not fit, with a 0 at the end.
fn name<const N: usize>(text: &str) -> [c_char; N] {
    let mut out = [0; N];
    let (room, _end) = out.split_at_mut(N - 1);
    for (to, byte) in room.iter_mut().zip(text.bytes()) {
        *to = byte as c_char;
    }
    out
}

/// Describes a machine for C.
pub(super) fn described(machine: &Machine, pci_id: u16) -> gemco_platform {
    let platform = machine.platform;
    gemco_platform {
        name: name(platform.name),
        title: name(platform.title),
        caps: machine.caps.bits(),
        pci_id,
        graphics_major: platform.graphics.major,
        graphics_minor: platform.graphics.minor,
    }
}

/// Returns the kernel version that C passes; 0.0 is newer than every known change.
fn kernel(major: u16, minor: u16) -> KernelVersion {
    if (major, minor) == (0, 0) { KernelVersion::new(u16::MAX, 0) } else { KernelVersion::new(major, minor) }
}

/// Looks up the platform and capabilities of a PCI ID, without opening a device.
///
/// kernel_major, kernel_minor: the kernel version, or 0, 0 for the newest one with known rules; it matters on Meteor
/// Lake.
/// edram: whether eDRAM is fused on (I915_PARAM_HAS_WT of an open device); ignored on platforms where i915 does not
/// look for it.
///
/// Returns 0; -ENODEV for an unknown ID. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_platform_by_id(
    pci_id: u16,
    kernel_major: u16,
    kernel_minor: u16,
    edram: c_int,
    platform: *mut gemco_platform,
) -> c_int {
    query("gemco_platform_by_id", || {
        // SAFETY: room for a platform: the caller's obligation.
        let out = unsafe { Out::new(platform, "platform") }?;
        let machine = platform::by_id(pci_id)?.machine(kernel(kernel_major, kernel_minor), edram != 0);
        out.set(described(&machine, pci_id));
        Ok(0)
    })
}

/// As gemco_platform_by_id, by name ("jsl"), title ("Jasper Lake") or ID ("8086:4e61"); -ENODEV for others.
///
/// Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_platform_by_name(
    name: *const c_char,
    kernel_major: u16,
    kernel_minor: u16,
    edram: c_int,
    platform: *mut gemco_platform,
) -> c_int {
    query("gemco_platform_by_name", || {
        // SAFETY: a string, and room for a platform: the caller's obligations.
        let (name, out) = unsafe { (string(name, "name")?, Out::new(platform, "platform")?) };
        let platform = platform::by_name(name)?;
        let machine = platform.machine(kernel(kernel_major, kernel_minor), edram != 0);
        out.set(described(&machine, platform.example_id));
        Ok(0)
    })
}

/// Returns the capabilities of a platform.
///
/// # Safety
/// As the module says.
unsafe fn caps(platform: *const gemco_platform) -> Result<Caps, Failure> {
    // SAFETY: a platform: the caller's obligation.
    types::caps(unsafe { borrow(platform, "platform") }?.caps, "platform->caps")
}

/// A question with its numbers checked.
struct Question {
    caps: Caps,
    level: CacheLevel,
    writer: Path,
    next: Path,
    access: Access,
}

impl Question {
    /// Checks a question from C.
    ///
    /// # Safety
    /// As the module says.
    unsafe fn new(platform: *const gemco_platform, question: *const gemco_question) -> Result<Self, Failure> {
        // SAFETY: a platform and a question: the caller's obligations.
        let (caps, question) = unsafe { (caps(platform)?, borrow(question, "question")?) };
        let &gemco_question { level, writer, next, access } = question;
        Ok(Self {
            caps,
            level: types::level(level, "question->level")?,
            writer: types::path(writer, "question->writer")?,
            next: types::path(next, "question->next")?,
            access: types::access(access, "question->access")?,
        })
    }
}

/// Returns a decision to C: its verdict, and all of it in `out`.
fn answer(decision: Decision, out: Option<Out<gemco_decision>>) -> c_int {
    if let Some(out) = out {
        out.set(decision.into());
    }
    decision.verdict as c_int
}

/// Decides what must leave the writer's caches before the next access to the same memory.
///
/// A batch that writes may read, too: ask for GEMCO_READ as well, as gemco_submission does for GEMCO_WRITE.
///
/// decision: the verdict with its rule; may be NULL.
///
/// Returns the verdict, which is not negative: GEMCO_FLUSH means gemco_flush_range over what was written, GEMCO_DRAIN
/// gemco_drain, GEMCO_REFUSED that the platform has no such access. -EINVAL for NULL, and for a number that is not in its
/// enum. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_needs_flush(
    platform: *const gemco_platform,
    question: *const gemco_question,
    decision: *mut gemco_decision,
) -> c_int {
    query("gemco_needs_flush", || {
        // SAFETY: the caller's obligations, passed on.
        let (asked, out) =
            unsafe { (Question::new(platform, question)?, Out::optional(decision, "decision")?) };
        let Question { caps, level, writer, next, access } = asked;
        Ok(answer(policy::needs_flush(caps, level, writer, next, access), out))
    })
}

/// Decides as gemco_needs_flush for a driver that does not know the next reader, or that leaves out readers that it does
/// not have.
///
/// readers: a bit (1u << path) for each possible gemco_path; question->next is ignored.
/// decision: the strongest one: a flush, else a drain, else the first that needs nothing. May be NULL.
///
/// Returns the verdict; GEMCO_REFUSED only if none of the readers exists on the platform. -EINVAL for 0 and for unknown
/// bits; otherwise as gemco_needs_flush.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_needs_flush_any(
    platform: *const gemco_platform,
    question: *const gemco_question,
    readers: c_uint,
    decision: *mut gemco_decision,
) -> c_int {
    query("gemco_needs_flush_any", || {
        // SAFETY: the caller's obligations.
        let (caps, asked, out) =
            unsafe { (caps(platform)?, borrow(question, "question")?, Out::optional(decision, "decision")?) };
        let level = types::level(asked.level, "question->level")?;
        let writer = types::path(asked.writer, "question->writer")?;
        let access = types::access(asked.access, "question->access")?;
        let unknown = || Failure::Number { name: "readers", value: readers };
        if readers >> Path::ALL.len() != 0 {
            return Err(unknown());
        }
        let possible = Path::ALL.iter().copied().filter(|path| readers & (1 << path.index()) != 0);
        let strongest = policy::needs_flush_any(caps, level, writer, possible, access);
        Ok(answer(strongest.ok_or_else(unknown)?, out))
    })
}

/// Decides what the CPU must drop from its cache before the next access to memory that was written.
///
/// As gemco_needs_flush; GEMCO_INVALIDATE means gemco_flush_inval_range over the bytes to read, or over the first and
/// the last line of the bytes to overwrite, where these cover lines in part.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_needs_invalidate(
    platform: *const gemco_platform,
    question: *const gemco_question,
    decision: *mut gemco_decision,
) -> c_int {
    query("gemco_needs_invalidate", || {
        // SAFETY: the caller's obligations, passed on.
        let (asked, out) =
            unsafe { (Question::new(platform, question)?, Out::optional(decision, "decision")?) };
        let Question { caps, level, writer, next, access } = asked;
        Ok(answer(policy::needs_invalidate(caps, level, writer, next, access), out))
    })
}

/// Drains the stores that this thread made through a mapping, where gemco_needs_flush returns GEMCO_DRAIN: a fence, and
/// for the aperture of a platform without GEMCO_CAP_COHERENT_GGTT a read through it.
///
/// level: of the BO, a gemco_level. writer: the mapping's path, a gemco_path. mapped: a byte of the mapping.
///
/// Returns 0, also if there is nothing to drain; -EINVAL for NULL, a path that is not the CPU's, and a bad number. The
/// thread that stored; no allocation.
///
/// # Safety
/// As the module says; `mapped` is mapped for reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_drain(
    platform: *const gemco_platform,
    level: c_uint,
    writer: c_uint,
    mapped: *const c_void,
) -> c_int {
    query("gemco_drain", || {
        // SAFETY: a platform: the caller's obligation.
        let caps = unsafe { caps(platform) }?;
        let level = types::level(level, "level")?;
        let Path::Cpu(mode) = types::path(writer, "writer")? else {
            return Err(Failure::Number { name: "writer", value: writer });
        };
        if mapped.is_null() {
            return Err(Failure::argument("mapped", "is NULL"));
        }
        let drain = Drain::of(caps, cpu_memory(level, mode));
        if drain != Drain::Nothing {
            cacheops::fence();
        }
        if drain == Drain::ReadBack {
            // SAFETY: mapped for reading: the caller's obligation; a byte is aligned.
            unsafe { mapped.cast::<u8>().read_volatile() };
        }
        Ok(0)
    })
}

/// Returns the level of a BO of a caching mode: DISPLAY is WT where that exists, and NONE elsewhere; DEFAULT is the level
/// of a BO whose mode and PAT index nobody set. Showing a BO gives it the level of DISPLAY.
///
/// Returns a gemco_level; -EINVAL. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_caching_level(platform: *const gemco_platform, caching: c_uint) -> c_int {
    query("gemco_caching_level", || {
        // SAFETY: a platform: the caller's obligation.
        let caps = unsafe { caps(platform) }?;
        if caching == gemco_caching::GEMCO_CACHING_DEFAULT as c_uint {
            return created(caps, Creation::User);
        }
        Ok(mode_level(caps, types::caching(caching, "caching")?) as c_int)
    })
}

/// Returns the level of a BO that was created with a PAT index (CREATE_EXT with SET_PAT).
///
/// Returns a gemco_level; -ENODEV where the kernel has no such choice: before graphics version 12.70, and before Linux
/// 6.5; -EINVAL for an index that the kernel refuses. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_pat_level(platform: *const gemco_platform, index: c_uint) -> c_int {
    query("gemco_pat_level", || {
        // SAFETY: a platform: the caller's obligation.
        let caps = unsafe { caps(platform) }?;
        let known = u8::try_from(index).map_err(|_| Failure::Number { name: "index", value: index })?;
        created(caps, Creation::UserWithPat(known))
    })
}

/// Returns the level of a new object. Of what depends on the kernel, `caps` has all that this needs.
fn created(caps: Caps, creation: Creation) -> Result<c_int, Failure> {
    let rules = KernelRules::of(kernel(0, 0))?;
    match Snapshot::created(caps, &rules, creation) {
        Ok(new) => Ok(new.level as c_int),
        Err(refusal) => {
            let errno = refusal.errno.unwrap_or(Errno::EINVAL);
            Err(Failure::Argument { errno, name: "index", why: refusal.rule.reason() })
        }
    }
}

/// Returns how a MOCS entry treats the LLC, as i915 programs it.
///
/// Returns a gemco_mocs; -EINVAL for an index above 255. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_mocs_class(platform: *const gemco_platform, index: c_uint) -> c_int {
    query("gemco_mocs_class", || {
        // SAFETY: a platform: the caller's obligation.
        let (caps, asked) = unsafe { (caps(platform)?, borrow(platform, "platform")?) };
        let index = u8::try_from(index).map_err(|_| Failure::Number { name: "index", value: index })?;
        // A device that was opened with GEMCO_OPEN_CONSERVATIVE may have an unknown ID.
        let platform = platform::by_id(asked.pci_id).unwrap_or(&CONSERVATIVE);
        let machine = Machine { platform, kernel: kernel(0, 0), caps, reported: Caps::empty() };
        Ok(mocs_class(&machine, index) as c_int)
    })
}

/// Returns the CPU's path through a mapping.
///
/// mode: a gemco_map_mode, but not GEMCO_MAP_DEFAULT. Returns a gemco_path; -EINVAL. Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_map_path(mode: c_uint) -> c_int {
    query("gemco_map_path", || Ok(index(Path::Cpu(types::map_mode(mode, "mode")?))))
}

/// Returns the GPU's path with a MOCS entry of a class.
///
/// mocs: a gemco_mocs. Returns a gemco_path; -EINVAL. Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_mocs_path(mocs: c_uint) -> c_int {
    query("gemco_mocs_path", || Ok(index(Path::Gpu(types::mocs(mocs, "mocs")?))))
}

/// Returns the number of a path in C.
fn index(path: Path) -> c_int {
    path.index() as c_int
}

/// Returns the best map mode for a BO of a level: write-back where the GPU sees the CPU's caches, write-combining
/// elsewhere, fixed on discrete devices.
///
/// Returns a gemco_map_mode; -EINVAL. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_default_map_mode(platform: *const gemco_platform, level: c_uint) -> c_int {
    query("gemco_default_map_mode", || {
        // SAFETY: a platform: the caller's obligation.
        let caps = unsafe { caps(platform) }?;
        Ok(default_mode(caps, types::level(level, "level")?) as c_int)
    })
}

/// Returns which CPU accesses through the cache are coherent with the GPU: bit 0 for reads, bit 1 for writes
/// (I915_BO_CACHE_COHERENT_FOR_*).
///
/// Returns the bits; -EINVAL. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_coherency(platform: *const gemco_platform, level: c_uint) -> c_int {
    query("gemco_coherency", || {
        // SAFETY: a platform: the caller's obligation.
        let caps = unsafe { caps(platform) }?;
        Ok(policy::coherency(caps, types::level(level, "level")?).bits().into())
    })
}
