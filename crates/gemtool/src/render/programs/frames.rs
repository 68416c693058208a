//! The frames of a call stack that a reader wants: those of the program's sources.

use gem_coherency_report::PlaceRow;

/// Returns the first frame in a source, of neither libc nor an installed header; without one, the first frame with any source
/// line, or the first frame.
pub fn first_in_source(frames: &[PlaceRow]) -> Option<&PlaceRow> {
    let mut with_line = frames.iter().filter(|frame| frame.line.is_some());
    frames.iter().find(|frame| is_in_source(frame)).or_else(|| with_line.next()).or(frames.first())
}

/// Returns the first `most` frames, and a later one if none of these is in a source: the first one that is. The flag says that
/// frames before the last one are left out.
pub fn shown<'a>(frames: impl Iterator<Item = &'a PlaceRow>, most: usize) -> (Vec<&'a PlaceRow>, bool) {
    let mut rest = frames.filter(|frame| !is_start(frame)).enumerate();
    let mut shown: Vec<_> = rest.by_ref().take(most).map(|(_, frame)| frame).collect();
    let mut is_cut = false;
    if !shown.iter().any(|frame| is_in_source(frame))
        && let Some((number, frame)) = rest.find(|(_, frame)| is_in_source(frame))
    {
        is_cut = number > most;
        shown.push(frame);
    }
    (shown, is_cut)
}

/// Returns whether a frame has a line of a source that is neither libc's, as that of memset(3) with debug information, nor an
/// installed header's, as that of `_mm_clflush`.
fn is_in_source(frame: &PlaceRow) -> bool {
    let module = frame.module.rsplit('/').next().unwrap_or_default();
    let is_libc = ["libc.so", "libc-2.", "ld-linux"].iter().any(|start| module.starts_with(start));
    !is_libc && frame.line.is_some() && frame.file.as_deref().is_some_and(|file| !is_header(file))
}

/// Returns whether a file is an installed header.
pub(super) fn is_header(file: &str) -> bool {
    file.starts_with("/usr/") && file.ends_with(".h")
}

/// Returns whether a frame is libc's start of a program, which is below every main().
pub(super) fn is_start(frame: &PlaceRow) -> bool {
    let name = frame.function.as_deref().unwrap_or_default();
    name == "_start" || name.starts_with("__libc_start_")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a call stack: a name of a function, with the file of its line or without.
    fn stack(frames: &[(&str, Option<&str>)]) -> Vec<PlaceRow> {
        let row = |(function, file): &(&str, Option<&str>)| PlaceRow {
            function: Some((*function).to_owned()),
            file: file.map(str::to_owned),
            line: file.map(|_| 7),
            module: "/bin/app".to_owned(),
            address: 1,
        };
        frames.iter().map(row).collect()
    }

    fn names(frames: &[PlaceRow], most: usize) -> (Vec<&str>, bool) {
        let (shown, is_cut) = shown(frames.iter(), most);
        (shown.into_iter().filter_map(|frame| frame.function.as_deref()).collect(), is_cut)
    }

    #[test]
    fn the_first_frame_in_a_source_is_shown_however_deep() {
        let deep = stack(&[
            ("memset", None),
            ("a", None),
            ("b", None),
            ("draw", Some("app.c")),
            ("main", Some("app.c")),
        ]);
        assert_eq!(names(&deep, 2), (vec!["memset", "a", "draw"], true));
        assert_eq!(names(&deep, 3), (vec!["memset", "a", "b", "draw"], false), "nothing is left out");
        assert_eq!(names(&deep, 4), (vec!["memset", "a", "b", "draw"], false));
        let none = stack(&[("memset", None), ("a", None), ("b", None), ("_start", Some("start.S"))]);
        assert_eq!(names(&none, 2), (vec!["memset", "a"], false));
    }

    #[test]
    fn the_place_is_in_a_source_if_a_frame_is() {
        let header = Some("/usr/include/bits/string_fortified.h");
        let place = |frames: &[(&str, Option<&str>)]| {
            first_in_source(&stack(frames)).and_then(|frame| frame.function.clone())
        };
        assert_eq!(
            place(&[("memset", None), ("copy", header), ("draw", Some("app.c"))]).as_deref(),
            Some("draw")
        );
        assert_eq!(place(&[("memset", None), ("copy", header)]).as_deref(), Some("copy"));
        assert_eq!(place(&[("memset", None), ("a", None)]).as_deref(), Some("memset"));
        assert_eq!(place(&[]), None);
    }

    #[test]
    fn libc_is_no_source_also_with_debug_information() {
        let mut frames = stack(&[("memset", Some("memset.S")), ("draw", Some("app.c"))]);
        frames[0].module = "/lib/x86_64-linux-gnu/libc.so.6".to_owned();
        assert_eq!(first_in_source(&frames), frames.get(1));
        assert_eq!(names(&frames, 1), (vec!["memset", "draw"], false));
        assert_eq!(first_in_source(&frames[..1]), frames.first());
    }
}
