//! Parses the events of xe.

use super::event::{XeCall, XeEvent};
use crate::kernel_trace::arguments::{argument, hex, number};

/// Parses an event from its name, without the prefixes, and its arguments; `None` if it is not a known event.
pub(in crate::kernel_trace) fn parse(name: &str, arguments: &str) -> Option<XeEvent> {
    let small = |key| u32::try_from(number(arguments, key)?).ok();
    let result = || argument(arguments, "ret")?.parse().ok();
    let object = || hex(arguments, "obj");
    let file = || hex(arguments, "file");
    let list = || hex(arguments, "tt");
    if let Some(call) = name.strip_prefix("end_") {
        return Some(XeEvent::End { call: call_of(call)?, result: result()?, words: words(arguments) });
    }
    Some(match name {
        "fence" => XeEvent::Fence,
        // A refused handle is none.
        "named" if result()? != 0 => return None,
        "named" => XeEvent::Named { file: file()?, object: object()?, handle: small("handle")? },
        "closed" => XeEvent::Closed { file: file()?, handle: small("handle")? },
        "file_closed" => XeEvent::FileClosed { file: file()? },
        "imported" => XeEvent::Imported { object: object()? },
        "freed" => XeEvent::Freed { object: object()? },
        "listed" => XeEvent::Listed { object: object()?, list: list()? },
        "populate" => XeEvent::Populate { list: list()?, pages: small("pages")? },
        "populated" => XeEvent::Populated { result: result()? },
        "combining" => XeEvent::Combining { pages: small("pages")? },
        // Without it only translations are flushed.
        "flushed" if argument(arguments, "cache")? == "0" => return None,
        "flushed" => XeEvent::Flushed,
        "pooled" => XeEvent::Pooled { list: list()?, pages: small("pages")? },
        name => XeEvent::Begin {
            call: call_of(name)?,
            device: hex(arguments, "dev").unwrap_or(0),
            file: file().unwrap_or(0),
            words: words(arguments),
        },
    })
}

/// Returns the call of an event's name.
fn call_of(name: &str) -> Option<XeCall> {
    name.replace('_', "-").parse().ok()
}

/// Parses the words of a structure, `data={0x1,0x2}`, and those after it, `arg4=0x3 arg5=0x4`.
fn words(arguments: &str) -> Vec<u64> {
    let word = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let Some((_, rest)) = arguments.split_once("data={") else { return Vec::new() };
    let Some((array, rest)) = rest.split_once('}') else { return Vec::new() };
    let after = rest.split(' ').filter_map(|argument| argument.strip_prefix("arg")?.split_once('='));
    let texts = array.split(',').chain(after.map(|(_, value)| value));
    // What cannot be parsed ends the words: those after it would be at a wrong place.
    texts.map_while(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_and_the_words_after_it() {
        let line = "(xe_vm_bind_ioctl+0x4/0x1d30 [xe]) dev=0xff01 file=0xff02 data={0x0,0x1,0x200000000} arg4=0x7 arg5=0x8";
        let all = vec![0, 1, 0x2_0000_0000, 7, 8];
        let begin = XeEvent::Begin { call: XeCall::VmBind, device: 0xff01, file: 0xff02, words: all };
        assert_eq!(parse("vm_bind", line), Some(begin));
        // A word that cannot be parsed would move the others.
        for (text, count) in [("data={0x0,x,0x2}", 1), ("data={0x0,0x1", 0), ("data={}", 0), ("", 0)] {
            assert_eq!(words(text).len(), count, "{text}");
        }
    }

    #[test]
    fn a_flush_of_translations_alone_is_none() {
        assert_eq!(parse("flushed", "(cpa_flush+0x0/0x430) cache=1"), Some(XeEvent::Flushed));
        assert_eq!(parse("flushed", "(cpa_flush+0x0/0x430) cache=0"), None);
        assert_eq!(parse("flushed", "(cpa_flush+0x0/0x430)"), None);
    }

    #[test]
    fn a_refused_handle_is_none() {
        let line = |result| format!("(x+0x1/0x2 [xe] <- y) file=0x1 obj=0x2 handle=3 ret={result}");
        let named = XeEvent::Named { file: 1, object: 2, handle: 3 };
        assert_eq!((parse("named", &line(0)), parse("named", &line(-12))), (Some(named), None));
    }

    #[test]
    fn calls_have_the_names_of_their_events() {
        for &call in XeCall::ALL {
            assert_eq!(call_of(&call.name().replace('-', "_")), Some(call));
        }
        assert_eq!(
            parse("end_exec", "ret=-2"),
            Some(XeEvent::End { call: XeCall::Exec, result: -2, words: Vec::new() })
        );
        assert_eq!((parse("end_exec", "ret=x"), parse("nothing", "")), (None, None));
    }
}
