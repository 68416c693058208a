//! Parses the text of the trace into events.

use super::arguments::{argument, hex, number, symbol};
use super::call::{Call, CallEvent};
use super::probes::PREFIX;
use super::trace_event::{EventKind, TraceEvent};
use super::xe;
use gem_coherency::vocabulary::Access;

/// `EXEC_OBJECT_WRITE`.
const EXEC_OBJECT_WRITE: u32 = 1 << 2;
/// `enum dma_data_direction`: the CPU may write.
const DMA_BIDIRECTIONAL: u32 = 0;
/// `enum dma_data_direction`: the CPU may write.
const DMA_TO_DEVICE: u32 = 1;

/// Columns of a thread's name at a line's start, where it is right-aligned (`%16s-%-7d ` in
/// `trace_print_context`).
///
/// A name is at most 15 bytes long and may contain any bytes, also line feeds, and text that looks like a
/// line of the trace. So the parser finds the name by its columns and never by its contents.
const NAME_COLUMNS: usize = 16;

/// Splits bytes of the trace into lines.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// A line whose end has not been read yet.
    rest: Vec<u8>,
}

impl Parser {
    /// Adds the events of `bytes` to `seen`.
    pub(super) fn feed(&mut self, bytes: &[u8], seen: &mut Vec<TraceEvent>) {
        self.rest.extend_from_slice(bytes);
        let mut taken = 0;
        while let Some(line) = self.rest.get(taken..).and_then(first_line) {
            seen.extend(parse(line));
            taken += line.len() + 1;
        }
        self.rest.drain(..taken);
    }
}

/// Returns the first line of `text`, without its line feed; `None` if the line is incomplete.
fn first_line(text: &[u8]) -> Option<&[u8]> {
    // Lines without a name begin with a letter, or belong to a mark of several lines.
    let begins_with_name = text.first() == Some(&b' ') && *text.get(NAME_COLUMNS)? == b'-';
    let name = if begins_with_name { NAME_COLUMNS } else { 0 };
    let end = text.get(name..)?.iter().position(|&byte| byte == b'\n')?;
    text.get(..name + end)
}

/// Parses a line of the trace; `None` if it is not a known event.
///
/// The line must have all of its columns as the kernel writes them: a thread's name takes the first sixteen.
pub fn parse(line: impl AsRef<[u8]>) -> Option<TraceEvent> {
    let line = line.as_ref();
    if let Some(lost) = std::str::from_utf8(line).ok().and_then(lost) {
        return Some(TraceEvent { tid: 0, comm: String::new(), time_ns: 0, what: EventKind::Lost(lost) });
    }
    let (name, rest) = line.split_at_checked(NAME_COLUMNS)?;
    let rest = String::from_utf8_lossy(rest);
    let head = head(&rest)?;
    let (event, arguments) = head.rest.split_once(':')?;
    let what = what(event, arguments.strip_prefix(' ').unwrap_or(arguments))?;
    let comm = String::from_utf8_lossy(name).trim_start_matches(' ').to_owned();
    Some(TraceEvent { tid: head.tid, comm, time_ns: head.time_ns, what })
}

/// Parses the number of missing events: `CPU:0 [LOST 123 EVENTS]`.
fn lost(line: &str) -> Option<u64> {
    let (cpu, rest) = line.strip_prefix("CPU:")?.split_once(" [LOST ")?;
    cpu.parse::<u32>().ok()?;
    let count = rest.strip_suffix(" EVENTS]")?;
    // The kernel does not always know the number.
    Some(count.trim().parse().unwrap_or(1))
}

/// The fields after a thread's name: `-TID [CPU] FLAGS SECONDS.MICROSECONDS: `.
struct Head<'a> {
    tid: u32,
    time_ns: u64,
    rest: &'a str,
}

/// Parses the fields after a thread's name.
fn head(text: &str) -> Option<Head<'_>> {
    let (tid, rest) = text.strip_prefix('-')?.split_once(' ')?;
    let rest = rest.trim_start();
    // The process's id, with the option record-tgid.
    let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(rest, |(_, rest)| rest);
    let (cpu, rest) = rest.strip_prefix('[')?.split_once("] ")?;
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
    Some(Head { tid: tid.parse().ok()?, time_ns, rest })
}

/// Parses an event from its name and arguments.
fn what(event: &str, arguments: &str) -> Option<EventKind> {
    if event == "tracing_mark_write" {
        return Some(EventKind::Mark(arguments.to_owned()));
    }
    let object = || hex(arguments, "obj");
    if let Some(tracepoint) = event.strip_prefix("i915_gem_object_") {
        let transfer = |access| {
            let (offset, bytes) = (hex(arguments, "offset")?, hex(arguments, "len")?);
            Some(EventKind::Transfer { object: object()?, offset, bytes, access })
        };
        return match tracepoint {
            "clflush" => Some(EventKind::Clflush { object: object()? }),
            "destroy" => Some(EventKind::Destroyed { object: object()? }),
            "pread" => transfer(Access::Read),
            "pwrite" => transfer(Access::Write),
            _ => None,
        };
    }
    let name = event.strip_prefix(PREFIX)?;
    if let Some(name) = name.strip_prefix(xe::PREFIX) {
        return xe::parse(name, arguments).map(EventKind::Xe);
    }
    Some(match name {
        "created" => EventKind::Created {
            device: hex(arguments, "dev")?,
            object: object()?,
            size_bytes: number(arguments, "size")?,
        },
        "made" => EventKind::Made { object: object()?, operations: symbol(arguments, "ops")? },
        "named" => EventKind::HandleCreated { object: object()?, file: hex(arguments, "file")? },
        "pages" => EventKind::Pages { object: object()?, pages: hex(arguments, "pages")? },
        "sg" => {
            EventKind::FlushPages { pages: hex(arguments, "pages")?, caller: symbol(arguments, "caller")? }
        }
        "range" => {
            EventKind::FlushRange { bytes: number(arguments, "len")?, caller: symbol(arguments, "caller")? }
        }
        "wbinvd" => EventKind::Wbinvd { caller: symbol(arguments, "caller")? },
        "level" => {
            EventKind::Level { object: object()?, level: number(arguments, "level")?.try_into().ok()? }
        }
        name => EventKind::Call(call_event(name, arguments)?),
    })
}

/// Parses an event inside a call.
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

/// Parses a call that begins.
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

#[cfg(test)]
mod tests;
