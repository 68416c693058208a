//! The text of the trace, as events.

use super::call::{Call, CallEvent};
use super::probes::PREFIX;
use super::seen::{Seen, What};
use crate::vocabulary::Access;

/// `EXEC_OBJECT_WRITE`.
const EXEC_OBJECT_WRITE: u32 = 1 << 2;
/// `enum dma_data_direction`: the CPU may write.
const DMA_BIDIRECTIONAL: u32 = 0;
/// As [`DMA_BIDIRECTIONAL`].
const DMA_TO_DEVICE: u32 = 1;

/// Puts bytes of the trace together to lines.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// A line whose end has not been read.
    rest: Vec<u8>,
}

impl Parser {
    /// Adds the events of `bytes` to `seen`.
    pub(super) fn feed(&mut self, bytes: &[u8], seen: &mut Vec<Seen>) {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') else { return };
        let rest = self.rest.split_off(end + 1);
        let lines = String::from_utf8_lossy(&self.rest);
        seen.extend(lines.lines().filter_map(parse));
        self.rest = rest;
    }
}

/// What a line of the trace says; `None` if it is none of the events that are known.
pub fn parse(line: &str) -> Option<Seen> {
    if let Some(lost) = lost(line) {
        return Some(Seen { tid: 0, comm: String::new(), time_ns: 0, what: What::Lost(lost) });
    }
    // A thread's name may hold anything: the first place is taken that reads as a head of a line.
    let head = line.match_indices(" [").find_map(|(at, _)| head(line, at))?;
    let (event, arguments) = head.rest.split_once(':')?;
    let what = what(event, arguments.strip_prefix(' ').unwrap_or(arguments))?;
    Some(Seen { tid: head.tid, comm: head.comm.to_owned(), time_ns: head.time_ns, what })
}

/// How many events are missing: `CPU:0 [LOST 123 EVENTS]`.
fn lost(line: &str) -> Option<u64> {
    let (cpu, rest) = line.strip_prefix("CPU:")?.split_once(" [LOST ")?;
    cpu.parse::<u32>().ok()?;
    let count = rest.strip_suffix(" EVENTS]")?;
    // The kernel does not always know how many.
    Some(count.trim().parse().unwrap_or(1))
}

/// What a line starts with: `COMM-TID [CPU] FLAGS SECONDS.MICROSECONDS: `.
struct Head<'a> {
    comm: &'a str,
    tid: u32,
    time_ns: u64,
    rest: &'a str,
}

/// The head of `line` if the CPU's brackets are at `at`.
fn head(line: &str, at: usize) -> Option<Head<'_>> {
    let (thread, rest) = line.split_at_checked(at)?;
    let (comm, tid) = thread.trim_end().rsplit_once('-')?;
    let (cpu, rest) = rest.strip_prefix(" [")?.split_once("] ")?;
    cpu.parse::<u32>().ok()?;
    let (context, rest) = rest.trim_start().split_once(": ")?;
    // The flags may be switched off.
    let words: Vec<_> = context.split_whitespace().collect();
    let &([time] | [_, time]) = &words[..] else { return None };
    let (seconds, micros) = time.split_once('.')?;
    let time_ns = seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000)?
        .checked_add(micros.parse().ok()?)?
        .checked_mul(1000)?;
    Some(Head { comm: comm.trim_start(), tid: tid.parse().ok()?, time_ns, rest })
}

/// What the event of this name with these arguments is.
fn what(event: &str, arguments: &str) -> Option<What> {
    if event == "tracing_mark_write" {
        return Some(What::Mark(arguments.to_owned()));
    }
    let object = || hex(arguments, "obj");
    if let Some(tracepoint) = event.strip_prefix("i915_gem_object_") {
        let transfer = |access| {
            let (offset, bytes) = (hex(arguments, "offset")?, hex(arguments, "len")?);
            Some(What::Transfer { object: object()?, offset, bytes, access })
        };
        return match tracepoint {
            "clflush" => Some(What::Clflush { object: object()? }),
            "destroy" => Some(What::Destroyed { object: object()? }),
            "pread" => transfer(Access::Read),
            "pwrite" => transfer(Access::Write),
            _ => None,
        };
    }
    Some(match event.strip_prefix(PREFIX)? {
        "created" => What::Created {
            device: hex(arguments, "dev")?,
            object: object()?,
            size_bytes: number(arguments, "size")?,
        },
        "made" => What::Made { object: object()?, operations: symbol(arguments, "ops")? },
        "named" => What::Named { object: object()?, file: hex(arguments, "file")? },
        "pages" => What::Pages { object: object()?, pages: hex(arguments, "pages")? },
        "sg" => What::FlushPages { pages: hex(arguments, "pages")?, caller: symbol(arguments, "caller")? },
        "range" => {
            What::FlushRange { bytes: number(arguments, "len")?, caller: symbol(arguments, "caller")? }
        }
        "wbinvd" => What::Wbinvd { caller: symbol(arguments, "caller")? },
        "level" => What::Level { object: object()?, level: number(arguments, "level")?.try_into().ok()? },
        name => What::Call(call_event(name, arguments)?),
    })
}

/// What the event of a call is.
fn call_event(name: &str, arguments: &str) -> Option<CallEvent> {
    let object = || hex(arguments, "obj");
    let small = |key| u32::try_from(number(arguments, key)?).ok();
    if let Some(call) = name.strip_prefix("end_") {
        let result = argument(arguments, "ret")?.parse().ok()?;
        return Some(CallEvent::End { call: call.replace('_', "-"), result });
    }
    Some(match name {
        "waited" => CallEvent::Waited { object: object()? },
        "unpaged" => CallEvent::Unpaged { object: object()? },
        "binding" => CallEvent::Binding { object: object()? },
        "bound" => CallEvent::Bound { binding: hex(arguments, "vma")? },
        "used" => {
            let writes = small("flags")? & EXEC_OBJECT_WRITE != 0;
            let access = if writes { Access::Write } else { Access::Read };
            CallEvent::Used { binding: hex(arguments, "vma")?, access }
        }
        "prepared" | "prepared_write" => CallEvent::Prepared { object: object()? },
        "if_display" => CallEvent::IfDisplay { object: object()? },
        "shown" => CallEvent::Shown { object: object()? },
        "framebuffer" => CallEvent::Framebuffer { framebuffer: hex(arguments, "fb")?, object: object()? },
        "framebuffer_gone" => CallEvent::FramebufferGone { framebuffer: hex(arguments, "fb")? },
        "pat" => CallEvent::Pat { object: object()?, index: small("index")? },
        "closed" => CallEvent::Closed { object: object()?, handle: small("handle")? },
        "suspended" | "frozen" => CallEvent::Suspended,
        _ => CallEvent::Begin(call(name, arguments)?),
    })
}

/// A call that begins.
fn call(name: &str, arguments: &str) -> Option<Call> {
    let small = |key| u32::try_from(number(arguments, key)?).ok();
    let bytes = |key| number(arguments, key);
    Some(match name {
        "create" => Call::Create,
        "create_ext" => Call::CreateExt,
        "userptr" => Call::Userptr,
        "create_dumb" => Call::CreateDumb,
        "set_caching" => Call::SetCaching { handle: small("handle")?, mode: small("mode")? },
        "set_domain" => {
            Call::SetDomain { handle: small("handle")?, read: small("read")?, write: small("write")? }
        }
        "pread" => Call::Pread { handle: small("handle")?, offset: bytes("offset")?, bytes: bytes("bytes")? },
        "pwrite" => {
            Call::Pwrite { handle: small("handle")?, offset: bytes("offset")?, bytes: bytes("bytes")? }
        }
        "execbuffer" => Call::Execbuffer { objects: small("objects")? },
        "sw_finish" => Call::SwFinish { handle: small("handle")? },
        "madvise" => Call::Madvise { handle: small("handle")?, advice: small("advice")? },
        "dma_buf_begin" => {
            let writes = matches!(small("direction")?, DMA_BIDIRECTIONAL | DMA_TO_DEVICE);
            Call::DmaBufBegin { access: if writes { Access::Write } else { Access::Read } }
        }
        "dma_buf_end" => Call::DmaBufEnd,
        "fault" => Call::Fault,
        "fault_gtt" => Call::FaultGtt,
        _ => return None,
    })
}

/// The text of the argument `key`, to the next space or comma.
fn argument<'a>(arguments: &'a str, key: &str) -> Option<&'a str> {
    let found = arguments.split([' ', ',']).filter_map(|word| word.split_once('='));
    found.filter(|&(name, _)| name == key).map(|(_, value)| value).next()
}

/// An address, with or without `0x`.
fn hex(arguments: &str, key: &str) -> Option<u64> {
    let text = argument(arguments, key)?;
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// A decimal number.
fn number(arguments: &str, key: &str) -> Option<u64> {
    argument(arguments, key)?.parse().ok()
}

/// A function's name: without the offset, the module, and what the compiler added (`.isra.0`). An
/// address that has no name stays as it is.
fn symbol(arguments: &str, key: &str) -> Option<String> {
    let text = argument(arguments, key)?;
    let name = text.split(['+', '.']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(line: &str, tid: u32, comm: &str, time_ns: u64, what: What) {
        assert_eq!(parse(line), Some(Seen { tid, comm: comm.to_owned(), time_ns, what }), "{line}");
    }

    #[test]
    fn lines_of_6_1() {
        case(
            "         gemtool-121     [000] .....     4.869957: gemco_created: (drm_gem_private_object_init+0x0/0xb0 [drm]) dev=0xff361aa703400000 obj=0xff361aa70271f740 size=4096",
            121,
            "gemtool",
            4_869_957_000,
            What::Created { device: 0xff36_1aa7_0340_0000, object: 0xff36_1aa7_0271_f740, size_bytes: 4096 },
        );
        case(
            "         gemtool-121     [000] .N...     5.040264: gemco_sg: (drm_clflush_sg+0x0/0xb0 [drm]) pages=0xff361aa712545d30 caller=__i915_gem_object_set_pages+0x21f/0x230 [i915]",
            121,
            "gemtool",
            5_040_264_000,
            What::FlushPages { pages: 0xff36_1aa7_1254_5d30, caller: "__i915_gem_object_set_pages".into() },
        );
        case(
            "         gemtool-121     [000] .....     4.955341: gemco_made: (i915_gem_object_init+0x0/0xf0 [i915]) obj=0xff361aa70271fb80 ops=i915_gem_shmem_ops+0x0/0xfffffffffffedc60 [i915]",
            121,
            "gemtool",
            4_955_341_000,
            What::Made { object: 0xff36_1aa7_0271_fb80, operations: "i915_gem_shmem_ops".into() },
        );
    }

    #[test]
    fn lines_of_6_12() {
        case(
            "         gemtool-161     [000] .....     6.156747: gemco_named: (drm_gem_handle_create_tail+0x4/0x170 [drm]) file=0xff2beed5c3632000 obj=0xff2beed5c1e56d00",
            161,
            "gemtool",
            6_156_747_000,
            What::Named { object: 0xff2b_eed5_c1e5_6d00, file: 0xff2b_eed5_c363_2000 },
        );
        case(
            "     ksoftirqd/0-17      [000] ..s..     6.236657: gemco_range: (drm_clflush_virt_range+0x4/0x60 [drm]) len=48 caller=process_csb+0x1eb/0x360 [i915]",
            17,
            "ksoftirqd/0",
            6_236_657_000,
            What::FlushRange { bytes: 48, caller: "process_csb".into() },
        );
        case(
            "              sh-159     [000] .....     5.851237: tracing_mark_write: hello [000] world: obj=1",
            159,
            "sh",
            5_851_237_000,
            What::Mark("hello [000] world: obj=1".into()),
        );
        case(
            "         gemtool-161     [000] .....     6.204300: i915_gem_object_pwrite: obj=ff2beed5c1e56d00, offset=0x40, len=0x64",
            161,
            "gemtool",
            6_204_300_000,
            What::Transfer { object: 0xff2b_eed5_c1e5_6d00, offset: 64, bytes: 100, access: Access::Write },
        );
    }

    #[test]
    fn a_threads_name_may_look_like_a_line() {
        case(
            "  a-1 [0] x:-7 [003] d..1. 1.000002: tracing_mark_write: m",
            7,
            "a-1 [0] x:",
            1_000_002_000,
            What::Mark("m".into()),
        );
        case(
            "           <...>-7 [003] d..1. 1.000002: tracing_mark_write: ",
            7,
            "<...>",
            1_000_002_000,
            What::Mark(String::new()),
        );
    }

    #[test]
    fn lost_events_are_counted() {
        case("CPU:3 [LOST 123 EVENTS]", 0, "", 0, What::Lost(123));
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        for line in [
            "",
            "# tracer: nop",
            " [",
            "a-1 [000",
            "a-1 [000] ..... 1.5: ",
            "a-x [000] ..... 1.5: tracing_mark_write: m",
            "a-1 [000] ..... 99999999999999999999.5: tracing_mark_write: m",
            "a-1 [000] ..... 18446744073709551615.5: tracing_mark_write: m",
            "a-1 [000] ..... 1.5: gemco_sg: (f) pages= caller=f+0x1/0x2",
            "a-1 [000] ..... 1.5: gemco_sg: (f) pages=0xg caller=f+0x1/0x2",
            "a-1 [000] ..... 1.5: gemco_sg: (f) pages=0x1 caller=+0x1/0x2",
            "a-1 [000] ..... 1.5: gemco_level: (f) obj=0x1 level=4294967296",
            "a-1 [000] ..... 1.5: gemco_nothing: (f) obj=0x1",
            "a-1 [000] ..... 1.5: i915_gem_object_fault: obj=1, CPU index=0 ",
            "CPU:x [LOST 1 EVENTS]",
            "CPU:0 [LOST 1",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn no_part_of_a_line_panics() {
        let line = "  gemtool-121  [000] .N...  5.040264: gemco_sg: (f+0x0/0xb0 [drm]) pages=0xff caller=g\u{e9}+0x21f/0x230 [i915]";
        for start in (0..line.len()).filter(|&at| line.is_char_boundary(at)) {
            for end in (start..line.len()).filter(|&at| line.is_char_boundary(at)) {
                let _ = parse(&line[start..end]);
            }
        }
    }

    #[test]
    fn lines_are_put_together_from_parts() {
        let text = b"a-1 [000] ..... 1.000005: tracing_mark_write: one\na-1 [000] ..... 1.000006: tracing_mark_write: two\n";
        for cut in 0..text.len() {
            let (mut parser, mut seen) = (Parser::default(), Vec::new());
            parser.feed(&text[..cut], &mut seen);
            parser.feed(&text[cut..], &mut seen);
            let marks: Vec<_> = seen.into_iter().map(|seen| seen.what).collect();
            assert_eq!(marks, [What::Mark("one".into()), What::Mark("two".into())], "cut at {cut}");
        }
    }
}
