//! Decisions: what an access requires.

use core::ffi::{c_int, c_uint, c_void};

use gem_coherency_cacheops as cacheops;
use gem_coherency_policy::platform::Caps;
use gem_coherency_policy::policy::driver::{Drain, cpu_memory};
use gem_coherency_policy::policy::{self, Decision, Path};
use gem_coherency_policy::vocabulary::{Access, CacheLevel};

use super::failure::{Failure, answer};
use super::platform::caps;
use super::pointers::{Out, borrow};
use super::types::{self, gemco_decision, gemco_platform, gemco_question};

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
        let &gemco_question { level, writer, next, access, reserved } = question;
        types::reserved(reserved, "question->reserved")?;
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
fn decided(decision: Decision, out: Option<Out<gemco_decision>>) -> c_int {
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
    answer("gemco_needs_flush", || {
        // SAFETY: the caller's obligations, passed on.
        let (asked, out) =
            unsafe { (Question::new(platform, question)?, Out::optional(decision, "decision")?) };
        let Question { caps, level, writer, next, access } = asked;
        Ok(decided(policy::needs_flush(caps, level, writer, next, access), out))
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
    answer("gemco_needs_flush_any", || {
        // SAFETY: the caller's obligations.
        let (caps, asked, out) =
            unsafe { (caps(platform)?, borrow(question, "question")?, Out::optional(decision, "decision")?) };
        types::reserved(asked.reserved, "question->reserved")?;
        let level = types::level(asked.level, "question->level")?;
        let writer = types::path(asked.writer, "question->writer")?;
        let access = types::access(asked.access, "question->access")?;
        let unknown = || Failure::Number { name: "readers", value: readers };
        if readers >> Path::ALL.len() != 0 {
            return Err(unknown());
        }
        let possible = Path::ALL.iter().copied().filter(|path| readers & (1 << path.index()) != 0);
        let strongest = policy::needs_flush_any(caps, level, writer, possible, access);
        Ok(decided(strongest.ok_or_else(unknown)?, out))
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
    answer("gemco_needs_invalidate", || {
        // SAFETY: the caller's obligations, passed on.
        let (asked, out) =
            unsafe { (Question::new(platform, question)?, Out::optional(decision, "decision")?) };
        let Question { caps, level, writer, next, access } = asked;
        Ok(decided(policy::needs_invalidate(caps, level, writer, next, access), out))
    })
}

/// Returns how stores through a mapping are drained, for a driver with its own fences and reads.
///
/// level: of the BO, a gemco_level. writer: the mapping's path, a gemco_path.
///
/// Returns a gemco_drain_kind; -EINVAL for NULL, a path that is not the CPU's, and a bad number. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_drain_of(
    platform: *const gemco_platform,
    level: c_uint,
    writer: c_uint,
) -> c_int {
    answer("gemco_drain_of", || {
        // SAFETY: a platform: the caller's obligation.
        Ok(unsafe { drain_of(platform, level, writer) }? as c_int)
    })
}

/// Returns how stores are drained.
///
/// # Safety
/// As the module says.
unsafe fn drain_of(platform: *const gemco_platform, level: c_uint, writer: c_uint) -> Result<Drain, Failure> {
    // SAFETY: a platform: the caller's obligation.
    let caps = unsafe { caps(platform) }?;
    let level = types::level(level, "level")?;
    let Path::Cpu(mode) = types::path(writer, "writer")? else {
        return Err(Failure::Number { name: "writer", value: writer });
    };
    Ok(Drain::of(caps, cpu_memory(level, mode)))
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
    answer("gemco_drain", || {
        // SAFETY: a platform: the caller's obligation.
        let drain = unsafe { drain_of(platform, level, writer) }?;
        if mapped.is_null() {
            return Err(Failure::argument("mapped", "is NULL"));
        }
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
