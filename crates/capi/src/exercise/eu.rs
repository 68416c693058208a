//! Validates instructions of the GPU's execution units.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::LazyLock;

use gem_coherency_capi_pure::gemco_platform;
use gem_coherency_capi_pure::platform::chars;
use gem_coherency_capi_pure::pointers::{Out, borrow, check, elements};
use intel_eu::{Instruction, Platform, Rule, Violation, encodings};

use crate::error::{COMPACTED_BYTES, Refusal, query};

/// A rule that an instruction of the execution units breaks.
#[repr(C)]
#[derive(Debug)]
pub struct gemco_eu_violation {
    /// The instruction's first byte in the code.
    pub offset: u64,
    /// The rule's name: "DestinationStride".
    pub rule: *const c_char,
    /// The rule as a sentence: "the destination's stride must not be 0".
    pub text: *const c_char,
    /// The source of the rule: a section of the manuals, and a function of Mesa's validator.
    pub source: *const c_char,
    /// The operand and the values that break the rule: "destination: stride 0".
    pub found: [c_char; 120],
}

/// A rule's texts for C: name, text, source.
type Texts = (Rule, [CString; 3]);

/// The texts of every rule.
static TEXTS: LazyLock<Vec<Texts>> = LazyLock::new(|| {
    // A text of the rules' table has no 0.
    let texts = |rule: Rule| {
        [rule.name(), rule.text(), rule.source()].map(|text| CString::new(text).unwrap_or_default())
    };
    Rule::all().map(|rule| (rule, texts(rule))).collect()
});

impl gemco_eu_violation {
    fn new(offset: usize, violation: &Violation) -> Self {
        let texts = TEXTS.iter().find(|row| row.0 == violation.rule);
        let [rule, text, source] =
            texts.map_or([c"".as_ptr(); 3], |row| row.1.each_ref().map(|text| text.as_ptr()));
        let found = chars(&format!("{}: {}", violation.operand, violation.found));
        Self { offset: offset as u64, rule, text, source, found }
    }
}

/// Returns the platform whose instructions are those of a platform of C.
fn eu_platform(platform: &gemco_platform) -> Result<Platform, Refusal> {
    let name: Vec<u8> = platform.name.iter().map(|&char| char as u8).take_while(|&byte| byte != 0).collect();
    let name = String::from_utf8_lossy(&name).into_owned();
    Platform::from_name(&name).ok_or(Refusal::Platform(name))
}

/// Decodes each instruction, with its offset.
fn instructions(
    platform: Platform,
    code: &[u8],
) -> impl Iterator<Item = Result<(usize, Instruction), Refusal>> {
    encodings(code).map(move |(offset, encoding)| {
        let instruction = encoding.and_then(|encoding| encoding.decode(platform));
        Ok((offset, instruction.map_err(|error| Refusal::Instruction { offset, error })?))
    })
}

/// Validates the code of a shader before it is uploaded: finds the rules of the hardware that its instructions break.
///
/// platform: as gemco_device_platform or gemco_platform_by_id returns it; only its name is used.
/// code, size: the instructions, of 16 bytes, or 8 if they are compacted.
/// violations: room for `room` of them, in the order of the code; may be NULL if that is 0. Their texts are valid while
/// the library is loaded.
///
/// Returns the number of violations; the first `room` of them were written. -ENOEXEC for an instruction that cannot be
/// decoded, even after one that breaks a rule; -ENODEV for a platform whose instructions are not known: those before
/// graphics version 7; -EINVAL for a size that is not a multiple of 8. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_eu_validate(
    platform: *const gemco_platform,
    code: *const c_void,
    size: usize,
    violations: *mut gemco_eu_violation,
    room: usize,
) -> c_int {
    query("gemco_eu_validate", || {
        // SAFETY: a platform, and `size` bytes: the caller's obligations.
        let (platform, code) =
            unsafe { (borrow(platform, "platform")?, elements(code.cast(), size, "code")?) };
        if room > 0 {
            check(violations, "violations")?;
        }
        let platform = eu_platform(platform)?;
        if size % COMPACTED_BYTES != 0 {
            return Err(Refusal::Size(size).into());
        }
        // A call that fails writes no result. A second pass takes no memory that grows with the code.
        instructions(platform, code).try_for_each(|one| one.map(drop))?;
        let mut count = 0;
        for one in instructions(platform, code) {
            let (offset, instruction) = one?;
            for violation in intel_eu::validate(platform, &instruction) {
                if count < room {
                    // SAFETY: within the array: the caller's obligation.
                    let out = unsafe { Out::new(violations.add(count), "violations") }?;
                    out.set(gemco_eu_violation::new(offset, &violation));
                }
                count += 1;
            }
        }
        Ok(c_int::try_from(count).unwrap_or(c_int::MAX))
    })
}
